/*
 * drain_totals.c - a thread's data besides its records: its name, exact totals of its calls,
 * losses.
 *
 * Pairings: count and epoch are read with acquire (the thread writes a total before its count, and zeroes totals
 * before it sets the epoch of the report they belong to).
 */
#include "collector/collect/drain_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/base/figure.h"
#include "collector/decode/file_totals.h"
#include "collector/decode/osrt_rows.h"

#define PAGE 4096u

void drain_name_thread(struct arenas *as, struct thread *t, const struct sl_slot *slot)
{
	char comm[SL_COMM_BYTES];

	memcpy(comm, slot->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = 0;
	if (strcmp(comm, t->comm) == 0)
		return;
	memcpy(t->comm, comm, sizeof(comm));
	db_thread_name(as->db, t->id.global_tid, comm, model_priority(t->id.tid));
}

/* Totals of a thread that has made no call yet since the report began are those of an earlier one. */
static bool epoch_counts(const struct arenas *as, uint32_t epoch)
{
	return !(epoch & SL_EPOCH_CHANGES) && (!as->report.windows || as->report.windows->cnt) &&
	       (!as->report.epoch || !epoch || epoch == as->report.epoch);
}

static void write_totals(struct arenas *as, struct thread *t, const struct sl_slot *slot,
			 const struct sl_agg *agg)
{
	uint32_t epoch = __atomic_load_n(&slot->epoch, __ATOMIC_ACQUIRE);

	if (!epoch_counts(as, epoch))
		return;
	for (unsigned hook = 0; hook < SL_HOOK_CNT; hook++) {
		uint64_t count = __atomic_load_n(&agg[hook].count, __ATOMIC_ACQUIRE);
		struct sl_agg copy, *g = &copy;
		struct db_row_SL_OSRT_TOTALS total;
		bool is_untimed;

		if ((!count && !agg[hook].lost_count) || as->model->wants.no_osrt)
			continue;
		copy = agg[hook];
		copy.count = count;
		is_untimed = copy.err_count & SL_AGG_UNTIMED;
		copy.err_count &= ~SL_AGG_UNTIMED;
		/* The thread may have begun the next report's totals meanwhile: totals read before that are right. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&slot->epoch, __ATOMIC_RELAXED) != epoch)
			return;
		if (as->flight.since)
			as->flight.since(as->flight.ctx, t, hook, g);
		count = g->count;
		if (!count && !g->lost_count)
			continue;
		total = (struct db_row_SL_OSRT_TOTALS){
			.globalTid = t->id.global_tid,
			.instance = t->id.use,
			.nameId = db_string(as->db, sl_hook_name(hook), strlen(sl_hook_name(hook))),
			.count = figure(count),
			.totalNs = clock_map_span(as->clock, g->total),
			.minNs = clock_map_span(as->clock, g->min),
			.maxNs = clock_map_span(as->clock, g->max),
			.bytes = figure(g->bytes),
			.errorCount = figure(g->err_count),
			.lostCount = figure(g->lost_count),
			.lostTotalNs = clock_map_span(as->clock, g->lost_total),
			.isUntimed = is_untimed,
		};
		db_put_SL_OSRT_TOTALS(as->db, &total);
		live_short(as, t,
			   &(struct live_short){
				   hook, (uint64_t)total.count + (uint64_t)total.lostCount,
				   (uint64_t)total.totalNs + (uint64_t)total.lostTotalNs,
				   (uint64_t)total.bytes, (uint64_t)total.errorCount},
			   total.nameId);
	}
}

/*
 * Sum of all counts: has any changed? Only pages that exist are read: reading a hole of the memfd would allocate it.
 */
static uint64_t agg_sum(const struct sl_agg *agg)
{
	unsigned char there[SL_CHUNK_BYTES / PAGE];
	uint64_t sum = 0;

	if (mincore((void *)(uintptr_t)agg, SL_CHUNK_BYTES, there) < 0)
		memset(there, 1, sizeof(there));
	for (unsigned hook = 0; hook < SL_HOOK_CNT; hook++)
		if (there[hook * sizeof(*agg) / PAGE] & 1)
			sum += agg[hook].count + agg[hook].lost_count;
	return sum;
}

static void thread_aggregates(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t)
{
	sl_ref ref = a->map->slot[idx].agg_chunk;
	const struct sl_slot *slot = &a->map->slot[idx];
	const struct sl_agg *agg;
	uint64_t sum;

	if (!arena_has_chunk(a, ref) ||
	    !epoch_counts(as, __atomic_load_n(&slot->epoch, __ATOMIC_ACQUIRE)))
		return;
	agg = (const struct sl_agg *)sl_chunk_at(a->map, ref);
	sum = agg_sum(agg);
	if (sum == t->written.agg_sum)
		return;
	t->written.agg_sum = sum;
	write_totals(as, t, slot, agg);
}

static void write_files(struct arenas *as, struct thread *t, const struct sl_slot *slot,
			uint32_t epoch, const struct sl_file_total *all, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		struct sl_file_total copy = all[i];

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Another descriptor took the place meanwhile: then the ring has the record of this one. */
		if (copy.key && __atomic_load_n(&all[i].key, __ATOMIC_RELAXED) == copy.key &&
		    __atomic_load_n(&slot->epoch, __ATOMIC_RELAXED) == epoch)
			file_totals_left(as, t, &copy);
	}
}

/* Totals by file of a chunk, from @first on; pages that do not exist are not read, as in agg_sum(). */
static void chunk_files(struct arenas *as, struct thread *t, const struct sl_slot *slot,
			uint32_t epoch, const struct sl_file_total *all, unsigned first,
			unsigned end)
{
	unsigned char there[SL_CHUNK_BYTES / PAGE];
	const unsigned per_page = PAGE / sizeof(*all);

	if (mincore((void *)(uintptr_t)all, SL_CHUNK_BYTES, there) < 0)
		memset(there, 1, sizeof(there));
	while (first < end) {
		unsigned cnt = per_page - first % per_page;

		if (cnt > end - first)
			cnt = end - first;
		if (there[first / per_page] & 1)
			write_files(as, t, slot, epoch, all + first, cnt);
		first += cnt;
	}
}

/* Totals by file are read once: a total counted for one descriptor may go on for another. */
static void thread_files(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t)
{
	const struct sl_slot *slot = &a->map->slot[idx];
	sl_ref agg = slot->agg_chunk, more;
	uint32_t epoch = __atomic_load_n(&slot->epoch, __ATOMIC_ACQUIRE);
	const unsigned few = SL_FILE_FEW_AT * sizeof(struct sl_agg) / sizeof(struct sl_file_total);

	if (!epoch_counts(as, epoch))
		return;
	if (arena_has_chunk(a, agg))
		chunk_files(as, t, slot, epoch, (const void *)sl_chunk_at(a->map, agg), few,
			    few + SL_FILE_FEW);
	/* After the few, which the thread clears when it has moved them to a chunk. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	more = __atomic_load_n(&slot->file_chunk, __ATOMIC_ACQUIRE);
	if (arena_has_chunk(a, more))
		chunk_files(as, t, slot, epoch, (const void *)sl_chunk_at(a->map, more), 0,
			    SL_FILE_TOTALS);
}

void drain_thread_totals(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t,
			 enum drain_totals_when when)
{
	drain_name_thread(as, t, &a->map->slot[idx]);
	thread_aggregates(as, a, idx, t);
	if (when != DRAIN_NOW)
		thread_files(as, a, idx, t);
	live_thread(as, t, when == DRAIN_THREAD_ENDS);
}

/* Losses of records that are no calls. */
static void other_losses(struct arenas *as, struct thread *t, const struct sl_slot *slot)
{
	for (unsigned kind = 0; kind < SL_LOST_KINDS; kind++) {
		uint64_t cnt = __atomic_load_n(&slot->lost_of[kind], __ATOMIC_ACQUIRE),
			 *written = &t->written.lost_of[kind];

		if (cnt <= *written)
			continue;
		db_lost(as->db, clock_map_ns(as->clock, slot->born),
			clock_map_ns(as->clock, as->clock->newest), t->id.global_tid,
			rows_loss_of[kind], figure(cnt - *written));
		figure_count(&as->lost.of[kind], cnt - *written);
		*written = cnt;
	}
}

/* Losses without a record in the ring. */
void drain_thread_losses(struct arenas *as, struct arena *a, uint32_t idx, struct thread *t)
{
	struct sl_slot *slot = &a->map->slot[idx];
	uint64_t cnt = __atomic_load_n(&slot->lost_cnt, __ATOMIC_ACQUIRE);
	uint64_t nested = __atomic_load_n(&slot->nested_cnt, __ATOMIC_RELAXED);
	int64_t now = clock_map_ns(as->clock, as->clock->newest);

	if (cnt > t->written.lost) {
		db_lost(as->db, clock_map_ns(as->clock, slot->lost_first),
			clock_map_ns(as->clock, slot->lost_last), t->id.global_tid, rows_loss_full,
			figure(cnt - t->written.lost));
		figure_count(&as->lost.full, cnt - t->written.lost);
		t->written.lost = cnt;
	}
	other_losses(as, t, slot);
	if (nested > t->written.nested) {
		db_lost(as->db, clock_map_ns(as->clock, slot->born), now, t->id.global_tid,
			rows_loss_nested, figure(nested - t->written.nested));
		figure_count(&as->lost.other, nested - t->written.nested);
		t->written.nested = nested;
	}
	if (t->txn.dead_rows) {
		char what[64];

		snprintf(what, sizeof(what), "calls: %s", as->lost.why);
		db_lost(as->db, t->txn.dead_first_ns, t->txn.dead_last_ns, t->id.global_tid, what,
			(int64_t)t->txn.dead_rows);
		as->lost.disk += t->txn.dead_rows;
		t->txn.dead_rows = 0;
	}
}

/* Records that were dropped, and names of files. */
static void memory_losses(struct arenas *as, struct arena *a)
{
	int64_t from = clock_map_ns(as->clock, a->mem.born),
		to = clock_map_ns(as->clock, as->clock->newest);
	uint64_t cnt = a->counts.greedy - a->counts.greedy_written;

	if (cnt)
		db_lost(as->db, from, to, GLOBAL_PID(a->peer.pid), rows_loss_memory, (int64_t)cnt);
	as->lost.greedy += cnt;
	a->counts.greedy_written = a->counts.greedy;
	if (a->names.lost)
		db_lost(as->db, from, to, GLOBAL_PID(a->peer.pid), "names of files: no room",
			(int64_t)a->names.lost);
	a->names.lost = 0;
}

void drain_unslotted(struct arenas *as, struct arena *a)
{
	uint64_t cnt = __atomic_load_n(&a->map->unslotted_cnt, __ATOMIC_RELAXED);

	memory_losses(as, a);
	if (cnt <= a->counts.unslotted_written)
		return;
	db_lost(as->db, clock_map_ns(as->clock, a->map->unslotted_first),
		clock_map_ns(as->clock, a->map->unslotted_last), GLOBAL_PID(a->peer.pid),
		rows_loss_no_slot, figure(cnt - a->counts.unslotted_written));
	figure_count(&as->lost.other, cnt - a->counts.unslotted_written);
	a->counts.unslotted_written = cnt;
}

void drain_totals(struct arenas *as, bool final)
{
	for (struct arena *a = as->first; a; a = a->next) {
		for (uint32_t i = 0; i < a->threads.cnt; i++) {
			struct thread *t = a->threads.at[i];

			if (!t || t->flags.is_over)
				continue;
			drain_thread_totals(as, a, i, t, final ? DRAIN_REPORT_ENDS : DRAIN_NOW);
			if (final || t->txn.dead_rows)
				drain_thread_losses(as, a, i, t);
		}
		if (final)
			drain_unslotted(as, a);
	}
}
