/*
 * native_sched.c - context switches: read once, in any order, and gone through in the order of threads and time.
 *
 * sched_threads, sched_level and sched_disk, as rules/shared/ says, without keeping sched_spans.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/analyze/native.h"
#include "exporters/analyze/order.h"

enum { /* tags of a switch */
	IN = 1,
	PREEMPTED = 2,
	PREEMPTED_UNKNOWN = 4,
	ON_DISK = 8,
	DETAIL = 16 /* of SL_SCHED_DETAIL: stands before the switch that it belongs to */
};
#define TASK_RUNNING      1
#define TASK_ON_DISK      3
#define NO_TIME           INT64_MIN
#define EDGE(wants, runs) ((uint32_t)((wants) + 1) << 2 | (uint32_t)((runs) + 1))
#define WANTS_OF(tag)     ((int)((tag) >> 2) - 1)
#define RUNS_OF(tag)      ((int)((tag)&3) - 1)

struct thread {
	int64_t tid;
	int64_t runs, ran, waited, preempted;
	int64_t first, last; /* times at which it wanted a CPU */
	bool any, wanted;
};

struct level {
	int64_t threads, running, ns;
};

struct pass {
	sqlite3 *db;
	struct order *switches, *edges;
	sqlite3_stmt *threads, *disk;
	struct thread t;
	struct level *level;
	size_t levels;
	int64_t wall_end;
};

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- reading ---- */

/* globalTid, start, isSchedIn, threadState */
static int switch_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	struct native_id state = native_id(stmt, 3);
	bool in = sqlite3_column_int(stmt, 2) != 0;
	struct order_row row = {
		.key = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)},
		.value = {NO_TIME, 0},
		.minor = in ? 1 : 3,
		.tag = in ? IN : 0,
	};

	row.tag |= !state.known ? PREEMPTED_UNKNOWN : state.value == TASK_RUNNING ? PREEMPTED : 0;
	row.tag |= state.known && state.value == TASK_ON_DISK ? ON_DISK : 0;
	return order_add(p->switches, &row);
}

/* globalTid, start, preempted, wakeupTime */
static int detail_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	struct native_id preempted = native_id(stmt, 2), wakeup = native_id(stmt, 3);
	struct order_row row = {
		.key = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)},
		.value = {wakeup.known ? wakeup.value : NO_TIME, 0},
		.minor = preempted.known ? 2 : 0,
		.tag = DETAIL | (preempted.known ? 0 : IN) | (preempted.value == 1 ? PREEMPTED : 0),
	};

	return order_add(p->switches, &row);
}

static int wall_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;

	p->wall_end = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

/* Of a machine that was recorded as a whole: the traced processes. */
#define MINE                                                                                    \
	"WITH mine AS MATERIALIZED (SELECT globalPid FROM SL_PROCESS_TREE WHERE traced = 1 OR " \
	"kind <> 0) "
#define IS_MINE                                                                            \
	" WHERE globalTid IS NOT NULL AND start IS NOT NULL AND (globalTid / 0x1000000 * " \
	"0x1000000 IN mine OR NOT EXISTS (SELECT 1 FROM mine))"

static int read_all(struct pass *p)
{
	int rc = native_read(p->db, "SELECT end FROM temp.wall", wall_row, p);

	if (rc == SQLITE_OK)
		rc = native_read(p->db,
				 MINE "SELECT globalTid, start, isSchedIn, threadState FROM "
				      "SCHED_EVENTS" IS_MINE " AND isSchedIn IS NOT NULL",
				 switch_row, p);
	if (rc == SQLITE_OK)
		rc = native_read(p->db,
				 MINE "SELECT globalTid, start, preempted, wakeupTime FROM "
				      "SL_SCHED_DETAIL" IS_MINE,
				 detail_row, p);
	return rc;
}

/* ---- spans ---- */

static int add_edge(struct pass *p, int64_t time, int wants, int runs)
{
	struct order_row row = {.key = {time, 0}, .tag = EDGE(wants, runs)};

	return order_add(p->edges, &row);
}

/* On a CPU, or able to be. */
static int span(struct pass *p, bool runs, int64_t start, int64_t end, bool preempted)
{
	int64_t ns = plus(end, -(uint64_t)start);
	int rc;

	if (runs) {
		p->t.runs++;
		p->t.ran = plus(p->t.ran, ns);
	} else {
		p->t.waited = plus(p->t.waited, ns);
		p->t.preempted += preempted;
	}
	if (!p->t.wanted || start < p->t.first)
		p->t.first = start;
	if (!p->t.wanted || end > p->t.last)
		p->t.last = end;
	p->t.any = p->t.wanted = true;
	if (end <= start)
		return SQLITE_OK;
	rc = add_edge(p, start, 1, runs);
	return rc == SQLITE_OK ? add_edge(p, end, -1, -(int)runs) : rc;
}

static int on_disk(struct pass *p, const struct order_row *at, int64_t end)
{
	sqlite3_bind_int64(p->disk, 1, at->key[0]);
	sqlite3_bind_int64(p->disk, 2, at->key[1]);
	sqlite3_bind_int64(p->disk, 3, end);
	return native_insert(p->disk);
}

/* What a thread did between two switches; @next NULL: @at is its last one. */
static int between(struct pass *p, const struct order_row *at, const struct order_row *next)
{
	int64_t start = at->key[1], end = next ? next->key[1] : 0, woken;
	bool in = at->tag & IN,
	     preempted = (at->tag & (PREEMPTED | PREEMPTED_UNKNOWN)) == PREEMPTED;
	int rc = SQLITE_OK;

	if (!next && in)
		return span(p, true, start, start > p->wall_end ? start : p->wall_end, false);
	if (!next || in == (bool)(next->tag & IN))
		return SQLITE_OK;
	p->t.any = true;
	if (in || preempted)
		return span(p, in, start, end, preempted);
	woken = next->value[0] != NO_TIME && next->value[0] >= start && next->value[0] <= end
			? next->value[0]
			: end;
	if (at->tag & ON_DISK)
		rc = on_disk(p, at, woken);
	return rc == SQLITE_OK && woken < end ? span(p, false, woken, end, false) : rc;
}

static int end_thread(struct pass *p)
{
	int rc = SQLITE_OK;

	if (p->t.any) {
		sqlite3_bind_int64(p->threads, 1, p->t.tid);
		sqlite3_bind_int64(p->threads, 2, p->t.runs);
		sqlite3_bind_int64(p->threads, 3, p->t.ran);
		sqlite3_bind_int64(p->threads, 4, p->t.waited);
		sqlite3_bind_int64(p->threads, 5, p->t.preempted);
		native_bind(p->threads, 6, (struct native_id){p->t.first, p->t.wanted});
		native_bind(p->threads, 7, (struct native_id){p->t.last, p->t.wanted});
		rc = native_insert(p->threads);
	}
	p->t = (struct thread){0};
	return rc;
}

/* A detail stands before its switch. */
static void take_detail(struct order_row *row, const struct order_row *detail)
{
	if (!(detail->tag & DETAIL) || detail->key[0] != row->key[0] ||
	    detail->key[1] != row->key[1] || detail->minor + 1 != row->minor)
		return;
	row->value[0] = detail->value[0];
	if (!(detail->tag & IN))
		row->tag = (row->tag & ~(uint32_t)(PREEMPTED | PREEMPTED_UNKNOWN)) |
			   (detail->tag & PREEMPTED);
}

static int go_through(struct pass *p)
{
	struct order_row row, at = {0}, detail = {0};
	bool has_at = false;
	int got, rc = order_sort(p->switches);

	while (rc == SQLITE_OK && (got = order_next(p->switches, &row)) != SQLITE_DONE) {
		if (got != SQLITE_ROW)
			return got;
		if (row.tag & DETAIL) {
			detail = row;
			continue;
		}
		take_detail(&row, &detail);
		if (has_at && at.key[0] == row.key[0]) {
			rc = between(p, &at, &row);
		} else {
			if (has_at)
				rc = between(p, &at, NULL);
			if (rc == SQLITE_OK)
				rc = end_thread(p);
			p->t.tid = row.key[0];
		}
		at = row;
		has_at = true;
	}
	if (rc == SQLITE_OK && has_at)
		rc = between(p, &at, NULL);
	return rc == SQLITE_OK ? end_thread(p) : rc;
}

/* ---- how many at a time ---- */

static int add_level(struct pass *p, int64_t threads, int64_t running, int64_t ns)
{
	struct level *l = p->level;
	size_t i = 0;

	while (i < p->levels && (l[i].threads != threads || l[i].running != running))
		i++;
	if (i == p->levels) {
		l = reallocarray(l, i + 1, sizeof(*l));
		if (!l)
			return SQLITE_NOMEM;
		p->level = l;
		l[p->levels++] = (struct level){threads, running, 0};
	}
	l[i].ns = plus(l[i].ns, ns);
	/* those that come often first */
	if (i > 0 && l[i].ns > l[i / 2].ns) {
		struct level swap = l[i];

		l[i] = l[i / 2];
		l[i / 2] = swap;
	}
	return SQLITE_OK;
}

static int levels(struct pass *p)
{
	int64_t threads = 0, running = 0, since = 0;
	struct order_row row;
	int got, rc = order_sort(p->edges);

	while (rc == SQLITE_OK && (got = order_next(p->edges, &row)) != SQLITE_DONE) {
		if (got != SQLITE_ROW)
			return got;
		if (threads > 0 && row.key[0] > since)
			rc = add_level(p, threads, running, plus(row.key[0], -(uint64_t)since));
		since = row.key[0];
		threads += WANTS_OF(row.tag);
		running += RUNS_OF(row.tag);
	}
	return rc;
}

static int write_levels(struct pass *p)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(p->db, "INSERT INTO temp.sched_level VALUES (?, ?, ?)", -1,
				    &stmt, NULL);

	for (size_t i = 0; i < p->levels && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 1, p->level[i].threads);
		sqlite3_bind_int64(stmt, 2, p->level[i].running);
		sqlite3_bind_int64(stmt, 3, p->level[i].ns);
		rc = native_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

int native_sched(sqlite3 *db)
{
	static const char tables[] =
		"CREATE TEMP TABLE sched_threads(globalTid INTEGER PRIMARY KEY, runs INTEGER, "
		"ran INTEGER, waited INTEGER, preempted INTEGER, first INTEGER, last INTEGER);"
		"CREATE TEMP TABLE sched_level(threads INTEGER, running INTEGER, ns INTEGER);"
		"CREATE TEMP TABLE sched_disk(globalTid INTEGER, start INTEGER, end INTEGER);";
	struct pass p = {.db = db, .switches = order_new(), .edges = order_new()};
	int rc = p.switches && p.edges ? sqlite3_exec(db, tables, NULL, NULL, NULL) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "INSERT INTO temp.sched_threads VALUES (?, ?, ?, ?, ?, ?, ?)", -1,
			&p.threads, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO temp.sched_disk VALUES (?, ?, ?)", -1,
					&p.disk, NULL);
	if (rc == SQLITE_OK)
		rc = read_all(&p);
	if (rc == SQLITE_OK)
		rc = go_through(&p);
	if (rc == SQLITE_OK)
		rc = levels(&p);
	if (rc == SQLITE_OK)
		rc = write_levels(&p);
	sqlite3_finalize(p.threads);
	sqlite3_finalize(p.disk);
	order_free(p.switches);
	order_free(p.edges);
	free(p.level);
	return rc;
}
