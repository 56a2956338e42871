/* copies_sweep.c - the passes over the copies and the fills of GPUs: each with the call that asked for it, of those of sl_cuda_calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"
#include "exporters/sql/sweeps.h"

enum { /* columns of sl_copies; those from the call on are not in the table that is read */
	GLOBAL_PID,
	DEVICE,
	CONTEXT,
	GREEN_CONTEXT,
	STREAM,
	START,
	END,
	BYTES,
	KIND,
	SRC_KIND,
	DST_KIND,
	SRC_DEVICE,
	DST_DEVICE,
	CALL_START,
	CALL_END,
	CALL_TID,
	CALL_NAME,
	BLOCKING,
	COLUMNS,
	CORRELATION = CALL_START, /* while it is read */
};

/* A copy that has a call, by its number. */
struct found {
	int64_t nr, start, end, tid, name;
};

/* A table of operations, and the calls that ask for them. */
struct source {
	const char *columns;
	enum gpu_work_kind kind;
	int64_t calls; /* number in sl_cuda_calls */
	enum swept_table to;
};

struct pass {
	const struct source *source;
	struct rows *copies;
	struct launches *launches;
	struct sorter *found;
	int64_t *async; /* names of calls that may return before the copy is done, in order */
	size_t asyncs;
};

static int name_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	int64_t *more = reallocarray(p->async, p->asyncs + 1, sizeof(*more));

	if (!more)
		return SQLITE_NOMEM;
	p->async = more;
	more[p->asyncs++] = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

static int copy_row(void *ctx, sqlite3_value **v)
{
	struct pass *p = ctx;
	int64_t record[COLUMNS];
	int64_t nr = (int64_t)rows_cnt(p->copies);
	int rc;

	for (int i = 0; i <= CORRELATION; i++)
		record[i] = sweep_word(sweep_value(v[i]));
	rc = launches_add_work(p->launches, record[GLOBAL_PID], record[CORRELATION], &nr);
	if (rc != SQLITE_OK)
		return rc;
	return rows_add(p->copies, record);
}

static int read_calls(struct pass *p, const struct rows_shown *shown)
{
	struct rows_reader at = {0};
	const int64_t *r = NULL;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < shown->cnt; i++) {
		const struct rows_stretch *s = &shown->list[i];

		for (size_t k = s->first;
		     s->number == p->source->calls && k < s->last && rc == SQLITE_OK; k++) {
			struct launch_call c;

			r = rows_at(s->rows, &at, k);
			if (!r) {
				rc = SQLITE_IOERR;
				break;
			}
			c.name = r[SWEPT_NAME];
			c.start = r[SWEPT_START];
			c.end = r[SWEPT_END];
			c.tid = r[SWEPT_TID];
			if (c.tid != ROWS_NULL)
				rc = launches_add_call(p->launches, r[SWEPT_ID], &c);
		}
	}
	rows_close(&at);
	return rc;
}

static int found_row(void *ctx, const struct launch_call *call, const int64_t *nr)
{
	const struct found f = {*nr, call->start, call->end, call->tid, call->name};

	return sorter_add(ctx, (const int64_t *)&f);
}

static bool may_return(const struct pass *p, int64_t name)
{
	for (size_t i = 0; i < p->asyncs; i++)
		if (p->async[i] == name)
			return true;
	return false;
}

/* The copies in the order of their table, with their calls. */
static int put_together(struct pass *p, struct rows *to)
{
	struct rows_reader at = {0};
	const int64_t *found = NULL;
	int rc = sweep_next(p->found, &found);

	for (size_t i = 0; i < rows_cnt(p->copies) && rc == SQLITE_OK; i++) {
		const int64_t *copy = rows_at(p->copies, &at, i);
		const struct found *f = (const void *)found;
		int64_t record[COLUMNS];

		if (!copy) {
			rc = SQLITE_IOERR;
			break;
		}
		memcpy(record, copy, CALL_START * sizeof(*record));
		for (int k = CALL_START; k < COLUMNS; k++)
			record[k] = ROWS_NULL;
		if (f && f->nr == (int64_t)i) {
			record[CALL_START] = f->start;
			record[CALL_END] = f->end;
			record[CALL_TID] = f->tid;
			record[CALL_NAME] = f->name;
			record[BLOCKING] = !may_return(p, f->name);
			rc = sweep_next(p->found, &found);
		}
		if (rc == SQLITE_OK)
			rc = rows_add(to, record);
	}
	rows_close(&at);
	return rc;
}

static int run(struct pass *p, const struct sweeps *s, struct rows *to)
{
	static const struct launch_reader reader = {found_row, NULL};
	char from[64];
	int rc = sql_rows(s->db,
			  "SELECT id FROM StringIds WHERE (value GLOB 'cudaMemcpy*' OR value GLOB "
			  "'cuMemcpy*') AND value GLOB '*Async*'",
			  name_row, p);

	snprintf(from, sizeof(from), "%s WHERE end >= start",
		 gpu_work_tables[p->source->kind].name);
	if (rc == SQLITE_OK)
		rc = read_calls(p, &s->shown[SWEPT_CUDA_CALLS]);
	if (rc == SQLITE_OK)
		rc = sql_values(s->db, p->source->columns, from, copy_row, p);
	if (rc == SQLITE_OK)
		rc = rows_end(p->copies);
	if (rc == SQLITE_OK)
		rc = launches_join(p->launches, &reader, p->found);
	if (rc == SQLITE_OK)
		rc = sorter_rewind(p->found);
	return rc == SQLITE_OK ? put_together(p, to) : rc;
}

static int sweep_of(struct sweeps *s, const struct source *source)
{
	struct pass p = {
		.source = source,
		.copies = rows_new(CORRELATION + 1),
		.launches = launches_new(1),
		.found = sorter_new(sizeof(struct found) / 8, 1),
	};
	struct rows *to = rows_new(COLUMNS);
	int rc = p.copies && p.launches && p.found && to ? run(&p, s, to) : SQLITE_NOMEM;

	rc = sweep_show(s, source->to, 0, to, rc);
	rows_free(p.copies);
	launches_free(p.launches);
	sorter_free(p.found);
	free(p.async);
	return rc;
}

int copies_sweep(struct sweeps *s)
{
	static const struct source copies = {
		"globalPid, deviceId, contextId, greenContextId, streamId, start, end, bytes, "
		"copyKind, "
		"srcKind, dstKind, srcDeviceId, dstDeviceId, correlationId",
		GPU_WORK_MEMCPY, SWEPT_COPY, SWEPT_COPIES};

	return sweep_of(s, &copies);
}

int fills_sweep(struct sweeps *s)
{
	static const struct source fills = {"globalPid, deviceId, contextId, greenContextId, "
					    "streamId, start, end, bytes, memKind, "
					    "NULL, NULL, NULL, NULL, correlationId",
					    GPU_WORK_MEMSET, SWEPT_SET, SWEPT_FILLS};

	return sweep_of(s, &fills);
}

/* The columns of sl_fills are those of sl_copies without the two ends of a copy. */
void sweep_fill_column(sqlite3_context *out, const struct sweeps *sweeps,
		       const struct rows_stretch *s, const int64_t *record, int column)
{
	rows_give_words(out, sweeps, s, record,
			column < SRC_KIND ? column : column + CALL_START - SRC_KIND);
}
