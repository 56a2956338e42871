/*
 * sched_sweep.c - sl_sched_sweep(): the states of threads between context switches, and the number of threads that ran at a
 * time.
 *
 * Fills sched_threads, sched_level, sched_disk and sched_cpus (described in analyze/rules/shared/sched_threads.sql).
 */
#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/events/sorter.h"
#include "exporters/events/thread_states.h"
#include "exporters/read/id_map.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/sweep.h"
#include "exporters/sql/sweeps.h"

#define EDGE(wants, runs) (((int64_t)(wants) + 1) << 2 | ((int64_t)(runs) + 1))
#define WANTS_OF(tag)     (((tag) >> 2) - 1)
#define RUNS_OF(tag)      (((tag)&3) - 1)

struct thread {
	int64_t tid;
	int64_t runs, ran, waited, preempted;
	int64_t first, last; /* times at which it wanted a CPU */
	bool any, wanted;
};

struct edge { /* of a sorter: by time */
	int64_t time, tag;
};
#define EDGE_KEYS 1

struct pass {
	sqlite3 *db;
	struct id_map cpus;
	struct sorter *edges;
	sqlite3_stmt *threads, *disk;
	struct thread t;
	struct id_map levels; /* threads << 32 | running */
	int64_t *level_ns;
	size_t level_room;
};

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int add_edge(struct pass *p, int64_t time, int wants, int runs)
{
	struct edge edge = {time, EDGE(wants, runs)};

	return sorter_add(p->edges, (const int64_t *)&edge);
}

/* On a CPU, or able to be. */
static int want(struct pass *p, const struct thread_state *s)
{
	bool runs = s->state == THREAD_RUNNING;
	int64_t ns = plus(s->end, -(uint64_t)s->start);
	int rc;

	if (runs) {
		p->t.runs++;
		p->t.ran = plus(p->t.ran, ns);
	} else {
		p->t.waited = plus(p->t.waited, ns);
		p->t.preempted += s->is_preempted;
	}
	if (!p->t.wanted || s->start < p->t.first)
		p->t.first = s->start;
	if (!p->t.wanted || s->end > p->t.last)
		p->t.last = s->end;
	p->t.wanted = true;
	if (s->end <= s->start)
		return SQLITE_OK;
	rc = add_edge(p, s->start, 1, runs);
	return rc == SQLITE_OK ? add_edge(p, s->end, -1, -(int)runs) : rc;
}

static int on_disk(struct pass *p, const struct thread_state *s)
{
	sqlite3_bind_int64(p->disk, 1, s->tid);
	sqlite3_bind_int64(p->disk, 2, s->start);
	sqlite3_bind_int64(p->disk, 3, s->end);
	return sweep_insert(p->disk);
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

static int take(struct pass *p, const struct thread_state *s)
{
	bool runs = s->state == THREAD_RUNNING;
	int rc = p->t.tid != s->tid ? end_thread(p) : SQLITE_OK;

	p->t.tid = s->tid;
	if (runs && id_map_add(&p->cpus, s->cpu) < 0)
		return SQLITE_NOMEM;
	if (rc != SQLITE_OK || s->end == THREAD_NONE || (s->is_open && !runs))
		return rc;
	p->t.any = true;
	if (s->state == THREAD_BLOCKED)
		return on_disk(p, s);
	if (runs || s->is_preempted || (s->state == THREAD_RUNNABLE && s->start < s->end))
		return want(p, s);
	return SQLITE_OK;
}

static int go_through(struct pass *p, int64_t *rows)
{
	struct thread_states_options opt = {
		.traced_only = true,
		.until = sql_number(p->db, "SELECT end FROM temp.wall", THREAD_NONE),
	};
	struct thread_states *states;
	struct thread_state s;
	int rc = thread_states_open(p->db, &opt, &states);

	while (rc == SQLITE_OK && (rc = thread_states_next(states, &s)) == SQLITE_ROW) {
		rc = take(p, &s);
		++*rows;
	}
	thread_states_free(states);
	return rc == SQLITE_DONE ? end_thread(p) : rc;
}

/* ---- how many at a time ---- */

static int add_level(struct pass *p, int64_t threads, int64_t running, int64_t ns)
{
	size_t cnt = p->levels.cnt;
	long i = id_map_add(&p->levels, threads << 32 | running);

	if (i < 0 || !grow(&p->level_ns, (size_t)i, &p->level_room, sizeof(*p->level_ns)))
		return SQLITE_NOMEM;
	p->level_ns[i] = (size_t)i == cnt ? ns : plus(p->level_ns[i], ns);
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

static int write_tables(const struct pass *p)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(p->db, "INSERT INTO temp.sched_level VALUES (?, ?, ?)", -1,
				    &stmt, NULL);

	for (size_t i = 0; i < p->levels.cnt && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 1, p->levels.ids[i] >> 32);
		sqlite3_bind_int64(stmt, 2, p->levels.ids[i] & UINT32_MAX);
		sqlite3_bind_int64(stmt, 3, p->level_ns[i]);
		rc = sweep_insert(stmt);
	}
	sqlite3_finalize(stmt);
	stmt = NULL;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(p->db, "INSERT INTO temp.sched_cpus VALUES (?)", -1, &stmt,
					NULL);
	for (size_t i = 0; i < p->cpus.cnt && rc == SQLITE_OK; i++) {
		sweep_bind(stmt, 1,
			   (struct sweep_id){p->cpus.ids[i], p->cpus.ids[i] != THREAD_NONE});
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
		rc = go_through(&p, rows);
	if (rc == SQLITE_OK)
		rc = levels(&p);
	if (rc == SQLITE_OK)
		rc = write_tables(&p);
	sqlite3_finalize(p.threads);
	sqlite3_finalize(p.disk);
	sorter_free(p.edges);
	id_map_free(&p.cpus);
	id_map_free(&p.levels);
	free(p.level_ns);
	return rc;
}
