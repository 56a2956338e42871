/*
 * file_totals.c - adds totals by file to the report. A thread's chunk may be read several times
 * while it counts on; the part already added is remembered, until the record that ends that count.
 * Calls that open are added one by one: each has a file of its own.
 */
#include "collector/decode/file_totals.h"

#include "collector/base/figure.h"
#include "collector/base/grow.h"

static struct sl_file_total *added(struct thread *t, const struct sl_file_total *total)
{
	for (size_t i = 0; i < t->files.cnt; i++)
		if (t->files.list[i].key == total->key)
			return &t->files.list[i];
	return NULL;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The flight recorder has no moment from which on it could count them. */
static bool are_counted(const struct arenas *as)
{
	return !as->model->wants.no_osrt && !as->flight.follows_files;
}

/* @before: in the report already, NULL nothing. */
static void add(struct arenas *as, struct thread *t, const struct sl_file_total *total,
		const struct sl_file_total *before)
{
	static const struct sl_file_total nothing;
	int64_t now = clock_map_ns(as->clock, as->clock->newest);
	struct file *f;

	uint32_t serial = sl_file_key(total->key);

	if (!are_counted(as))
		return;
	f = file_get(as->model, t->image, serial & ~SL_FILE_STREAM, DB_NULL, now);
	if (!before)
		before = &nothing;
	for (unsigned way = 0; f && way < 2; way++) {
		struct db_row_SL_FILE_TOTALS row = {
			.globalTid = t->id.global_tid,
			.fileAccessId = f->id,
			.eventType = way == SL_FILE_READ ? SL_IO_READ : SL_IO_WRITE,
			.isStdio = serial & SL_FILE_STREAM ? 1 : 0,
			.count = figure(since(total->way[way].count, before->way[way].count)),
			.bytes = figure(since(total->way[way].bytes, before->way[way].bytes)),
			.totalNs = clock_map_span(
				as->clock, since(total->way[way].total, before->way[way].total)),
		};

		if (row.count)
			db_put_SL_FILE_TOTALS(as->db, &row);
	}
}

void file_totals_opened(struct arenas *as, struct thread *t, const struct file *f,
			uint64_t opened_by)
{
	unsigned hook = (opened_by & 0xffff) - 1;
	struct db_row_SL_FILE_TOTALS row = {
		.globalTid = t->id.global_tid,
		.eventType = SL_IO_OPEN,
		.count = 1,
		.totalNs = clock_map_span(as->clock, opened_by >> 16),
	};

	if (!f || !are_counted(as) || hook >= SL_HOOK_CNT || sl_hook_info[hook].io != SL_IO_OPEN)
		return;
	row.fileAccessId = f->id;
	row.isStdio = sl_hook_is_stdio(hook);
	db_put_SL_FILE_TOTALS(as->db, &row);
}

void file_totals_moved(struct arenas *as, struct thread *t, const struct sl_file_total *total)
{
	struct sl_file_total *before = added(t, total);

	add(as, t, total, before);
	if (before)
		*before = t->files.list[--t->files.cnt];
}

void file_totals_left(struct arenas *as, struct thread *t, const struct sl_file_total *total)
{
	struct sl_file_total *before = added(t, total);

	if (!before && !grow(&t->files.list, t->files.cnt, &t->files.cap, sizeof(*t->files.list)))
		return;
	add(as, t, total, before);
	if (!before)
		before = &t->files.list[t->files.cnt++];
	*before = *total;
}
