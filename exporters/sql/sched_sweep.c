/* sched_sweep.c - the pass over the states of threads: their sums, and the number of threads that ran at a time. */
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
	struct id_map cpus;
	struct sorter *edges;
	struct rows *threads, *disk;
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
	return rows_add(p->disk, (const int64_t[]){s->tid, s->start, s->end});
}

static int end_thread(struct pass *p)
{
	const int64_t record[] = {
		p->t.tid,
		p->t.runs,
		p->t.ran,
		p->t.waited,
		p->t.preempted,
		p->t.wanted ? p->t.first : ROWS_NULL,
		p->t.wanted ? p->t.last : ROWS_NULL,
	};
	int rc = p->t.any ? rows_add(p->threads, record) : SQLITE_OK;

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

static int go_through(struct pass *p, const struct sweeps *sweeps)
{
	struct thread_states_options opt = {.traced_only = true, .until = sweeps->until};
	struct thread_states *states;
	struct thread_state s;
	int rc = thread_states_open(sweeps->db, &opt, &states);

	while (rc == SQLITE_OK && (rc = thread_states_next(states, &s)) == SQLITE_ROW)
		rc = take(p, &s);
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

static int show_levels(struct sweeps *s, const struct pass *p)
{
	struct rows *rows = rows_new(3);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < p->levels.cnt && rc == SQLITE_OK; i++)
		rc = rows_add(rows,
			      (const int64_t[]){p->levels.ids[i] >> 32,
						p->levels.ids[i] & UINT32_MAX, p->level_ns[i]});
	return sweep_show(s, SWEPT_SCHED_LEVEL, 0, rows, rc);
}

static int show_cpus(struct sweeps *s, const struct pass *p)
{
	struct rows *rows = rows_new(1);
	int rc = rows ? SQLITE_OK : SQLITE_NOMEM;

	/* THREAD_NONE is ROWS_NULL. */
	for (size_t i = 0; i < p->cpus.cnt && rc == SQLITE_OK; i++)
		rc = rows_add(rows, &p->cpus.ids[i]);
	return sweep_show(s, SWEPT_SCHED_CPUS, 0, rows, rc);
}

/* Takes the rows of threads and of waits for disks. */
static int show(struct sweeps *s, struct pass *p)
{
	int rc = show_levels(s, p);

	if (rc == SQLITE_OK)
		rc = show_cpus(s, p);
	if (rc == SQLITE_OK) {
		rc = sweep_show(s, SWEPT_SCHED_THREADS, 0, p->threads, SQLITE_OK);
		p->threads = NULL;
	}
	if (rc == SQLITE_OK) {
		rc = sweep_show(s, SWEPT_SCHED_DISK, 0, p->disk, SQLITE_OK);
		p->disk = NULL;
	}
	return rc;
}

int sched_sweep(struct sweeps *s)
{
	struct pass p = {
		.edges = sorter_new(sizeof(struct edge) / 8, EDGE_KEYS),
		.threads = rows_new(7),
		.disk = rows_new(3),
	};
	int rc = p.edges && p.threads && p.disk ? go_through(&p, s) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = levels(&p);
	if (rc == SQLITE_OK)
		rc = show(s, &p);
	rows_free(p.threads);
	rows_free(p.disk);
	sorter_free(p.edges);
	id_map_free(&p.cpus);
	id_map_free(&p.levels);
	free(p.level_ns);
	return rc;
}
