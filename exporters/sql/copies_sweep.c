/*
 * copies_sweep.c - sl_copies_sweep(): the copies of GPUs, each with the call that asked for it.
 *
 * Fills copies (described in analyze/rules/shared/copies.sql), after cuda_calls.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/events/launches.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"
#include "exporters/sql/sweeps.h"

enum { /* columns of copies; those from the call on are not in the table that is read */
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

struct pass {
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

		for (size_t k = s->first; s->number == SWEPT_COPY && k < s->last && rc == SQLITE_OK;
		     k++) {
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
	return rc == SQLITE_OK ? rows_end(to) : rc;
}

static int run(sqlite3 *db, struct pass *p, const struct sweeps *s, struct rows *to)
{
	static const struct launch_reader reader = {found_row, NULL};
	int rc = sql_rows(db,
			  "SELECT id FROM StringIds WHERE (value GLOB 'cudaMemcpy*' OR value GLOB "
			  "'cuMemcpy*') AND value GLOB '*Async*'",
			  name_row, p);

	if (rc == SQLITE_OK)
		rc = read_calls(p, &s->cuda_calls);
	if (rc == SQLITE_OK)
		rc = sql_values(db,
				"globalPid, deviceId, contextId, greenContextId, streamId, "
				"start, end, bytes, copyKind, srcKind, dstKind, srcDeviceId, "
				"dstDeviceId, correlationId",
				"CUPTI_ACTIVITY_KIND_MEMCPY WHERE end >= start", copy_row, p);
	if (rc == SQLITE_OK)
		rc = rows_end(p->copies);
	if (rc == SQLITE_OK)
		rc = launches_join(p->launches, &reader, p->found);
	if (rc == SQLITE_OK)
		rc = sorter_rewind(p->found);
	return rc == SQLITE_OK ? put_together(p, to) : rc;
}

int copies_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows)
{
	struct pass p = {
		.copies = rows_new(CORRELATION + 1),
		.launches = launches_new(1),
		.found = sorter_new(sizeof(struct found) / 8, 1),
	};
	struct rows *to = rows_new(COLUMNS);
	int rc = p.copies && p.launches && p.found && to ? rows_shown_clear(&s->copies)
							 : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = run(db, &p, s, to);
	*rows = to ? (int64_t)rows_cnt(to) : 0;
	if (rc == SQLITE_OK)
		rc = rows_shown_add(&s->copies, &(struct rows_stretch){0, to, 0, rows_cnt(to)});
	if (rc != SQLITE_OK)
		rows_free(to);
	rows_free(p.copies);
	launches_free(p.launches);
	sorter_free(p.found);
	free(p.async);
	return rc;
}

static void give_copy(sqlite3_context *out, const struct sweeps *sweeps,
		      const struct rows_stretch *s, const int64_t *record, int column)
{
	(void)sweeps, (void)s;
	rows_give(out, record[column]);
}

struct rows_table copies_table(struct sweeps *s)
{
	return (struct rows_table){
		.name = "sl_copies",
		.columns = "CREATE TABLE x(globalPid INTEGER, deviceId INTEGER, contextId INTEGER, "
			   "greenContextId INTEGER, streamId INTEGER, start INTEGER, end INTEGER, "
			   "bytes INTEGER, kind INTEGER, srcKind INTEGER, dstKind INTEGER, "
			   "srcDeviceId INTEGER, dstDeviceId INTEGER, callStart INTEGER, callEnd "
			   "INTEGER, globalTid INTEGER, nameId INTEGER, blocking INTEGER)",
		.number = -1,
		.first = -1,
		.at = -1,
		.other = BYTES,
		.other_word = BYTES,
		.column = give_copy,
		.sweeps = s,
		.shown = &s->copies,
	};
}
