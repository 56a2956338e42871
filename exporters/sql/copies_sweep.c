/*
 * copies_sweep.c - sl_copies_sweep(): the copies of GPUs, each with the call that asked for it.
 *
 * Fills copies (described in analyze/rules/shared/copies.sql), after cuda_calls.
 */
#include <stdlib.h>
#include <string.h>

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

/*
 * Records of the sorters: calls and copies of a process with a correlation id, in the order of their tables; then copies with
 * their calls.
 */
struct copy_call {
	int64_t pid, id, nr, start, end, tid, name;
};
struct asked {
	int64_t pid, id, nr;
};
struct found {
	int64_t nr, start, end, tid, name;
};

struct pass {
	struct rows *copies;
	struct sorter *calls, *asked, *found;
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
	struct asked a = {.nr = (int64_t)rows_cnt(p->copies)};

	for (int i = 0; i <= CORRELATION; i++)
		record[i] = sweep_word(sweep_value(v[i]));
	a.pid = record[GLOBAL_PID] >> 24;
	a.id = record[CORRELATION];
	if (record[GLOBAL_PID] != ROWS_NULL && a.id != ROWS_NULL) {
		int rc = sorter_add(p->asked, (const int64_t *)&a);

		if (rc != SQLITE_OK)
			return rc;
	}
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
			struct copy_call c = {.nr = (int64_t)k};

			r = rows_at(s->rows, &at, k);
			if (!r) {
				rc = SQLITE_IOERR;
				break;
			}
			c.name = r[SWEPT_NAME];
			c.start = r[SWEPT_START];
			c.end = r[SWEPT_END];
			c.tid = r[SWEPT_TID];
			c.id = r[SWEPT_ID];
			c.pid = c.tid >> 24;
			if (c.tid != ROWS_NULL && c.id != ROWS_NULL)
				rc = sorter_add(p->calls, (const int64_t *)&c);
		}
	}
	rows_close(&at);
	return rc;
}

/* By process and correlation id: <0, 0, >0. */
static int compare(const struct copy_call *c, const struct asked *a)
{
	if (c->pid != a->pid)
		return c->pid < a->pid ? -1 : 1;
	return (c->id > a->id) - (c->id < a->id);
}

/* Joins copies with calls: of several calls with the same id the first counts. */
static int join(struct pass *p)
{
	const int64_t *call = NULL, *asked = NULL;
	struct copy_call last = {.nr = -1};
	int rc = sorter_rewind(p->calls);

	if (rc == SQLITE_OK)
		rc = sorter_rewind(p->asked);
	if (rc == SQLITE_OK)
		rc = sweep_next(p->calls, &call);
	if (rc == SQLITE_OK)
		rc = sweep_next(p->asked, &asked);
	while (rc == SQLITE_OK && asked) {
		const struct asked *a = (const void *)asked;

		if (call && compare((const void *)call, a) <= 0) {
			const struct copy_call *c = (const void *)call;

			if (last.nr < 0 || last.pid != c->pid || last.id != c->id)
				last = *c;
			rc = sweep_next(p->calls, &call);
			continue;
		}
		if (last.nr >= 0 && compare(&last, a) == 0) {
			struct found f = {a->nr, last.start, last.end, last.tid, last.name};

			rc = sorter_add(p->found, (const int64_t *)&f);
		}
		if (rc == SQLITE_OK)
			rc = sweep_next(p->asked, &asked);
	}
	return rc == SQLITE_OK ? sorter_rewind(p->found) : rc;
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
	int rc = sql_rows(db,
			  "SELECT id FROM StringIds WHERE (value GLOB 'cudaMemcpy*' OR value GLOB "
			  "'cuMemcpy*') AND value GLOB '*Async*'",
			  name_row, p);

	if (rc == SQLITE_OK)
		rc = sql_values(db,
				"globalPid, deviceId, contextId, greenContextId, streamId, "
				"start, end, bytes, copyKind, srcKind, dstKind, srcDeviceId, "
				"dstDeviceId, correlationId",
				"CUPTI_ACTIVITY_KIND_MEMCPY WHERE end >= start", copy_row, p);
	if (rc == SQLITE_OK)
		rc = rows_end(p->copies);
	if (rc == SQLITE_OK)
		rc = read_calls(p, &s->cuda_calls);
	if (rc == SQLITE_OK)
		rc = join(p);
	return rc == SQLITE_OK ? put_together(p, to) : rc;
}

int copies_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows)
{
	struct pass p = {
		.copies = rows_new(CORRELATION + 1),
		.calls = sorter_new(sizeof(struct copy_call) / 8, 3),
		.asked = sorter_new(sizeof(struct asked) / 8, 3),
		.found = sorter_new(sizeof(struct found) / 8, 1),
	};
	struct rows *to = rows_new(COLUMNS);
	int rc = p.copies && p.calls && p.asked && p.found && to ? rows_shown_clear(&s->copies)
								 : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = run(db, &p, s, to);
	*rows = to ? (int64_t)rows_cnt(to) : 0;
	if (rc == SQLITE_OK)
		rc = rows_shown_add(&s->copies, &(struct rows_stretch){0, to, 0, rows_cnt(to)});
	if (rc != SQLITE_OK)
		rows_free(to);
	rows_free(p.copies);
	sorter_free(p.calls);
	sorter_free(p.asked);
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
