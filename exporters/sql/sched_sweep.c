/*
 * sched_sweep.c - sl_sched_sweep(): the states of threads between context switches, and the number of threads that ran at a
 * time.
 *
 * Fills sched_threads, sched_level, sched_disk and sched_cpus (described in analyze/rules/shared/sched_threads.sql).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/projection_internal.h"
#include "collector/base/hash.h"
#include "collector/base/search.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/sweeps.h"

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
#define EDGE(wants, runs) (((int64_t)(wants) + 1) << 2 | ((int64_t)(runs) + 1))
#define WANTS_OF(tag)     (((tag) >> 2) - 1)
#define RUNS_OF(tag)      (((tag)&3) - 1)

struct thread {
	int64_t tid;
	int64_t runs, ran, waited, preempted;
	int64_t first, last; /* times at which it wanted a CPU */
	bool any, wanted;
};

struct level {
	int64_t threads, running, ns;
};

struct switched { /* of a sorter: by thread, time, place among those of the same time */
	int64_t tid, time, place, wakeup, tag;
};
#define SWITCH_KEYS 3
#define SORTERS     32

struct edge { /* likewise: by time */
	int64_t time, tag;
};
#define EDGE_KEYS 1

struct pids {
	int64_t *list; /* in order */
	size_t cnt;
};

struct pass {
	sqlite3 *db;
	struct pids
		mine; /* of a machine that was recorded as a whole: the traced processes; none: all are */
	int64_t *cpu;
	size_t cpus;
	/* Switches of a thread are nearly in order of time, those of all are not: several sorters have a few threads each. */
	struct sorter *switches[SORTERS], *edges;
	int64_t rows;
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

static int pid_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;
	int64_t *more = reallocarray(p->mine.list, p->mine.cnt + 1, sizeof(*more));

	if (!more)
		return SQLITE_NOMEM;
	p->mine.list = more;
	more[p->mine.cnt++] = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

static bool is_mine(const struct pass *p, int64_t tid)
{
	int64_t pid = tid / 0x1000000 * 0x1000000;
	size_t low = search_first(i, 0, p->mine.cnt, p->mine.list[i] < pid);

	return !p->mine.cnt || (low < p->mine.cnt && p->mine.list[low] == pid);
}

/* Notes a CPU, once. Frequent CPUs are found first. */
static int see_cpu(struct pass *p, int64_t cpu)
{
	int64_t *more;
	size_t i = 0;

	while (i < p->cpus && p->cpu[i] != cpu)
		i++;
	if (i < p->cpus) {
		p->cpu[i] = p->cpu[i / 2];
		p->cpu[i / 2] = cpu;
		return SQLITE_OK;
	}
	more = reallocarray(p->cpu, p->cpus + 1, sizeof(*more));
	if (!more)
		return SQLITE_NOMEM;
	p->cpu = more;
	more[p->cpus++] = cpu;
	return SQLITE_OK;
}

static int add_switch(struct pass *p, const struct switched *row)
{
	struct sorter **to = &p->switches[hash_u64((uint64_t)row->tid) & (SORTERS - 1)];

	if (!*to)
		*to = sorter_new(sizeof(*row) / 8, SWITCH_KEYS);
	return *to ? sorter_add(*to, (const int64_t *)row) : SQLITE_NOMEM;
}

/* globalTid, start, isSchedIn, threadState, cpu */
static int switch_row(void *ctx, sqlite3_value **v)
{
	struct pass *p = ctx;
	struct sweep_id state = sweep_value(v[3]);
	int64_t tid = sqlite3_value_int64(v[0]);
	bool in = sqlite3_value_int(v[2]) != 0;
	struct switched row = {
		.tid = tid,
		.time = sqlite3_value_int64(v[1]),
		.place = in ? 1 : 3,
		.wakeup = NO_TIME,
		.tag = in ? IN : 0,
	};

	if (!is_mine(p, tid))
		return SQLITE_OK;
	if (in && see_cpu(p, sweep_word(sweep_value(v[4]))) != SQLITE_OK)
		return SQLITE_NOMEM;
	row.tag |= !state.known ? PREEMPTED_UNKNOWN : state.value == TASK_RUNNING ? PREEMPTED : 0;
	row.tag |= state.known && state.value == TASK_ON_DISK ? ON_DISK : 0;
	p->rows++;
	return add_switch(p, &row);
}

/* globalTid, start, preempted, wakeupTime */
static int detail_row(void *ctx, sqlite3_value **v)
{
	struct pass *p = ctx;
	struct sweep_id preempted = sweep_value(v[2]), wakeup = sweep_value(v[3]);
	struct switched row = {
		.tid = sqlite3_value_int64(v[0]),
		.time = sqlite3_value_int64(v[1]),
		.place = preempted.known ? 2 : 0,
		.wakeup = wakeup.known ? wakeup.value : NO_TIME,
		.tag = DETAIL | (preempted.known ? 0 : IN) | (preempted.value == 1 ? PREEMPTED : 0),
	};

	if (!is_mine(p, row.tid))
		return SQLITE_OK;
	return add_switch(p, &row);
}

static int wall_row(void *ctx, sqlite3_stmt *stmt)
{
	struct pass *p = ctx;

	p->wall_end = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

static int read_all(struct pass *p)
{
	int rc = sql_rows(p->db, "SELECT end FROM temp.wall", wall_row, p);

	if (rc == SQLITE_OK)
		rc = sql_rows(p->db,
			      "SELECT DISTINCT globalPid FROM SL_PROCESS_TREE WHERE globalPid IS "
			      "NOT NULL AND (traced = 1 OR kind <> 0) ORDER BY 1",
			      pid_row, p);
	if (rc == SQLITE_OK)
		rc = sql_values(
			p->db, "globalTid, start, isSchedIn, threadState, cpu",
			"SCHED_EVENTS WHERE globalTid IS NOT NULL AND start IS NOT NULL AND "
			"isSchedIn IS NOT NULL",
			switch_row, p);
	if (rc == SQLITE_OK)
		rc = sql_values(p->db, "globalTid, start, preempted, wakeupTime",
				"SL_SCHED_DETAIL WHERE globalTid IS NOT NULL AND start IS NOT NULL",
				detail_row, p);
	return rc;
}

/* ---- spans ---- */

static int add_edge(struct pass *p, int64_t time, int wants, int runs)
{
	struct edge edge = {time, EDGE(wants, runs)};

	return sorter_add(p->edges, (const int64_t *)&edge);
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

static int on_disk(struct pass *p, const struct switched *at, int64_t end)
{
	sqlite3_bind_int64(p->disk, 1, at->tid);
	sqlite3_bind_int64(p->disk, 2, at->time);
	sqlite3_bind_int64(p->disk, 3, end);
	return sweep_insert(p->disk);
}

/* The state of a thread between two switches; @next NULL: @at is the thread's last switch. */
static int between(struct pass *p, const struct switched *at, const struct switched *next)
{
	int64_t start = at->time, end = next ? next->time : 0, woken;
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
	woken = next->wakeup != NO_TIME && next->wakeup >= start && next->wakeup <= end
			? next->wakeup
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
		sweep_bind(p->threads, 6, (struct sweep_id){p->t.first, p->t.wanted});
		sweep_bind(p->threads, 7, (struct sweep_id){p->t.last, p->t.wanted});
		rc = sweep_insert(p->threads);
	}
	p->t = (struct thread){0};
	return rc;
}

/* A detail stands before its switch. */
static void take_detail(struct switched *row, const struct switched *detail)
{
	if (!(detail->tag & DETAIL) || detail->tid != row->tid || detail->time != row->time ||
	    detail->place + 1 != row->place)
		return;
	row->wakeup = detail->wakeup;
	if (!(detail->tag & IN))
		row->tag = (row->tag & ~(int64_t)(PREEMPTED | PREEMPTED_UNKNOWN)) |
			   (detail->tag & PREEMPTED);
}

static int go_through(struct pass *p, struct sorter *switches)
{
	struct switched row, at = {0}, detail = {0};
	const int64_t *record = NULL;
	bool has_at = false;
	int rc = sorter_rewind(switches);

	while (rc == SQLITE_OK && (rc = sweep_next(switches, &record)) == SQLITE_OK && record) {
		memcpy(&row, record, sizeof(row));
		if (row.tag & DETAIL) {
			detail = row;
			continue;
		}
		take_detail(&row, &detail);
		if (has_at && at.tid == row.tid) {
			rc = between(p, &at, &row);
		} else {
			if (has_at)
				rc = between(p, &at, NULL);
			if (rc == SQLITE_OK)
				rc = end_thread(p);
			p->t.tid = row.tid;
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
	/* frequent levels first */
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
	const int64_t *record = NULL;
	int rc = sorter_rewind(p->edges);

	while (rc == SQLITE_OK && (rc = sweep_next(p->edges, &record)) == SQLITE_OK && record) {
		const struct edge *edge = (const void *)record;

		if (threads > 0 && edge->time > since)
			rc = add_level(p, threads, running, plus(edge->time, -(uint64_t)since));
		since = edge->time;
		threads += WANTS_OF(edge->tag);
		running += RUNS_OF(edge->tag);
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
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int write_cpus(const struct pass *p)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(p->db, "INSERT INTO temp.sched_cpus VALUES (?)", -1, &stmt,
				    NULL);

	for (size_t i = 0; i < p->cpus && rc == SQLITE_OK; i++) {
		sweep_bind(stmt, 1, (struct sweep_id){p->cpu[i], p->cpu[i] != ROWS_NULL});
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

int sched_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows)
{
	struct pass p = {
		.db = db,
		.edges = sorter_new(sizeof(struct edge) / 8, EDGE_KEYS),
	};
	int rc = p.edges ? SQLITE_OK : SQLITE_NOMEM;

	(void)s;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "INSERT INTO temp.sched_threads VALUES (?, ?, ?, ?, ?, ?, ?)", -1,
			&p.threads, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO temp.sched_disk VALUES (?, ?, ?)", -1,
					&p.disk, NULL);
	if (rc == SQLITE_OK)
		rc = read_all(&p);
	for (size_t i = 0; i < SORTERS; i++) {
		if (rc == SQLITE_OK && p.switches[i])
			rc = go_through(&p, p.switches[i]);
		sorter_free(p.switches[i]);
	}
	if (rc == SQLITE_OK)
		rc = levels(&p);
	if (rc == SQLITE_OK)
		rc = write_levels(&p);
	if (rc == SQLITE_OK)
		rc = write_cpus(&p);
	sqlite3_finalize(p.threads);
	sqlite3_finalize(p.disk);
	*rows = p.rows;
	sorter_free(p.edges);
	free(p.level);
	free(p.mine.list);
	free(p.cpu);
	return rc;
}
