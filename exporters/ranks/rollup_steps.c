/*
 * rollup_steps.c - the steps of each rank: where the time of the thread that makes them went, by the walk of why, and the
 * work of its GPUs meanwhile.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/events/big_array.h"
#include "exporters/ranks/rollup_internal.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk.h"

/* ---- which ---- */

/* rank, restart, tid, start, end, no, name */
struct named_step {
	struct rollup *r;
	struct rank *rank;
	bool is_numbered; /* so far, each step of it has a number in its name */
	int64_t last;
};

/* The only number in the text, -1: it has none, or several. */
static int64_t number_in(const char *text)
{
	int64_t found = -1;

	while (*text) {
		char *end;

		if (!isdigit((unsigned char)*text)) {
			text++;
			continue;
		}
		if (found >= 0)
			return -1;
		found = strtoll(text, &end, 10);
		text = end;
	}
	return found;
}

static void finish_numbers(struct named_step *s)
{
	/* Otherwise counted from 1 on; rollup_collectives() knows whether there were others before. */
	if (s->rank)
		s->rank->is_counted = !s->is_numbered;
	for (size_t i = 0; s->rank && !s->is_numbered && i < s->rank->steps_cnt; i++)
		s->rank->steps[i].no = (int64_t)i + 1;
}

static int step_row(void *ctx, sqlite3_stmt *stmt)
{
	struct named_step *s = ctx;
	struct rank *k = rollup_rank(s->r, sqlite3_column_int64(stmt, 0) >> 24);
	const char *name = (const char *)sqlite3_column_text(stmt, 3);
	struct rank_step step = {
		.start = wall_time(sqlite3_column_int64(stmt, 1)),
		.end = wall_time(sqlite3_column_int64(stmt, 2)),
		.no = number_in(name ? name : ""),
		.tid = sqlite3_column_int64(stmt, 0),
	};

	if (!k)
		return SQLITE_OK;
	if (k != s->rank) {
		finish_numbers(s);
		s->rank = k;
		s->is_numbered = true;
		s->last = -1;
	}
	s->is_numbered = s->is_numbered && step.no > s->last;
	s->last = step.no;
	if (k->steps_cnt && step.start < k->steps[k->steps_cnt - 1].end)
		step.start = k->steps[k->steps_cnt - 1].end;
	if (step.end <= step.start)
		return SQLITE_OK;
	if (!grow(&k->steps, k->steps_cnt, &k->steps_room, sizeof(step)))
		return SQLITE_NOMEM;
	k->steps[k->steps_cnt++] = step;
	return SQLITE_OK;
}

/* The steps of each rank: those of the thread that spends most time in steps. */
static const char steps_sql[] = "-- include: step_ranges\n"
				"CREATE TEMP TABLE step_thread AS SELECT tid, stem FROM (SELECT "
				"tid, stem, row_number() OVER (PARTITION "
				"BY rank, restart ORDER BY sum(end - start) DESC, tid, stem) AS "
				"best FROM step JOIN rank_process ON pid = "
				"tid >> 24 WHERE end > start GROUP BY tid, stem) WHERE best = 1;\n"
				"SELECT tid, start, end, name FROM step JOIN step_thread USING "
				"(tid, stem) WHERE end > start "
				"ORDER BY tid, start";

static int read_steps(struct rollup *r, const char *sql)
{
	struct named_step s = {.r = r};
	int rc = rollup_sql(r, sql, step_row, &s);

	finish_numbers(&s);
	return rc;
}

/* Where no range is a step, a collective that comes again and again ends one (marks.sql). */
int rollup_find_steps(struct rollup *r)
{
	int rc = read_steps(r, steps_sql);
	bool has_any = false;

	for (size_t i = 0; i < r->ranks_cnt; i++)
		has_any |= r->ranks[i].steps_cnt > 0;
	return rc != SQLITE_OK || has_any || r->ask->range
		       ? rc
		       : read_steps(r, rollup_embedded("marks"));
}

/* ---- work of GPUs ---- */

enum busy {
	BUSY_ALL,
	BUSY_NCCL,
	BUSY_OTHER,
	BUSY_CNT
};

struct busy_step {
	int64_t ns[BUSY_CNT];
	int64_t until[BUSY_CNT]; /* end of the time that is counted already */
};

static void add_busy(struct busy_step *b, const struct rank_step *s, enum busy kind, int64_t start,
		     int64_t end)
{
	start = start > s->start ? start : s->start;
	start = start > b->until[kind] ? start : b->until[kind];
	end = end < s->end ? end : s->end;
	if (end <= start)
		return;
	b->ns[kind] += end - start;
	b->until[kind] = end;
}

/* The first step that ends after @time. */
static size_t step_after(const struct rank *k, int64_t time)
{
	return search_first(i, 0, k->steps_cnt, k->steps[i].end <= time);
}

/* Operations are in order of start. @first: index of each rank's first step in @busy. */
static void cover_gpus(struct rollup *r, struct walk *w, const size_t *first,
		       struct busy_step *busy)
{
	const struct why_model *m = w->m;

	for (size_t i = 0; i < m->ops_cnt; i++) {
		const struct why_op *o = &m->ops[i];
		const struct why_kind *of = why_kind(m, o);
		struct rank *k = rollup_rank(r, m->processes[of->process].pid);
		bool is_nccl = k && of->work == WORK_KERNEL && reason_is_nccl(w, of->name);

		for (size_t n = k ? step_after(k, o->start) : 0;
		     k && n < k->steps_cnt && k->steps[n].start < o->end; n++) {
			struct busy_step *b = &busy[first[k - r->ranks] + n];

			add_busy(b, &k->steps[n], BUSY_ALL, o->start, o->end);
			add_busy(b, &k->steps[n], is_nccl ? BUSY_NCCL : BUSY_OTHER, o->start,
				 o->end);
		}
	}
}

/* ---- time of the thread ---- */

/* Columns of SL_STEPS from cpuNs on. */
enum part {
	PART_CPU,
	PART_RUNNABLE,
	PART_GPU,
	PART_FILE,
	PART_NETWORK,
	PART_LOCK,
	PART_GIL,
	PART_SLEEP,
	PART_OTHER,
	PART_CNT
};

static const uint8_t part_of[WHY_REASON_CNT] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = PART_##part,
#include "exporters/why/walk/reasons.def"
};

struct thread_step {
	int64_t ns[PART_CNT];
	int64_t data; /* of other threads and processes, GPUs apart */
	int64_t read; /* bytes */
};

/* A range makes its thread known, and records nothing of the time in it. */
static bool has_ranges_alone(const struct why_thread *t)
{
	return t->ranges_cnt && !t->switches_cnt && !t->calls_cnt && !t->gpu_cnt &&
	       !t->system_cnt && !t->samples_cnt && !t->faults_cnt && !t->ios_cnt;
}

/*
 * The part of a leaf. Behind a lock it is the lock's time, whatever its holder does: the holder may be any thread, and the lock is
 * what keeps the rank.
 */
static unsigned part_of_leaf(const struct walk *w, const struct why_leaf *l)
{
	unsigned part = part_of[l->cause.reason];

	for (uint32_t hop = l->hop; hop; hop = w->hops[hop].parent) {
		unsigned waits = part_of[w->hops[hop].cause.reason];

		if (waits == PART_LOCK || waits == PART_GIL)
			part = waits;
	}
	return part;
}

/* The rank + 1 of each process of the model; NULL: no memory. */
static uint32_t *ranks_of(struct rollup *r, const struct why_model *m)
{
	uint32_t *of = calloc(m->processes_cnt + 1, sizeof(*of));

	for (size_t i = 0; of && i < m->processes_cnt; i++) {
		const struct rank *k = rollup_rank(r, m->processes[i].pid);

		of[i] = k ? (uint32_t)(k - r->ranks) + 1 : 0;
	}
	return of;
}

/* ---- waits inside of MPI ---- */

/* Calls of MPI of one rank's thread. In them a rank waits for others, mostly while it looks for them and computes. */
struct calls {
	struct rollup *r;
	int64_t tid; /* that makes the steps */
	struct span {
		int64_t start, end;
	} * list; /* in order, none overlaps another */
	size_t cnt, room;
};

/* globalTid, start, end */
static int mpi_call_row(void *ctx, sqlite3_stmt *stmt)
{
	struct calls *all = ctx, *c;
	int64_t tid = sqlite3_column_int64(stmt, 0), start, end;
	const struct rank *k = rollup_rank(all->r, tid >> 24);

	c = k ? &all[k - all->r->ranks] : NULL;
	if (!c || tid != c->tid)
		return SQLITE_OK;
	start = wall_time(sqlite3_column_int64(stmt, 1));
	end = wall_time(sqlite3_column_int64(stmt, 2));
	if (c->cnt && start < c->list[c->cnt - 1].end)
		start = c->list[c->cnt - 1].end;
	if (end <= start)
		return SQLITE_OK;
	if (!big_grow(&c->list, c->cnt, &c->room, sizeof(*c->list)))
		return SQLITE_NOMEM;
	c->list[c->cnt++] = (struct span){start, end};
	return SQLITE_OK;
}

/* Init and the like are no waits for other ranks. */
static const char mpi_calls_sql[] =
	"SELECT globalTid, start, end FROM MPI_COLLECTIVES_EVENTS UNION ALL SELECT globalTid, "
	"start, end FROM MPI_P2P_EVENTS UNION ALL SELECT globalTid, start, end FROM "
	"MPI_START_WAIT_EVENTS ORDER BY 1, 2";

/* The step but for the calls of MPI in it, of which @ns is the sum. */
static void cover_between(struct walk *w, uint32_t thread, const struct rank_step *s,
			  const struct calls *c, int64_t *ns)
{
	size_t i = search_first(n, 0, c->cnt, c->list[n].end <= s->start);
	int64_t from = s->start;

	for (; i < c->cnt && c->list[i].start < s->end; i++) {
		int64_t start = c->list[i].start > s->start ? c->list[i].start : s->start;
		int64_t end = c->list[i].end < s->end ? c->list[i].end : s->end;

		if (start > from)
			walk_cover(w, thread, from, start);
		*ns += end - start;
		from = end;
	}
	if (s->end > from)
		walk_cover(w, thread, from, s->end);
}

static void cover_threads(struct rollup *r, struct walk *w, const struct calls *calls,
			  struct thread_step *to)
{
	size_t at = 0;

	w->keeps_pieces = true;
	for (size_t i = 0; i < r->ranks_cnt; i++) {
		w->group = (uint32_t)i + 1;
		for (size_t n = 0; n < r->ranks[i].steps_cnt; n++, at++) {
			const struct rank_step *s = &r->ranks[i].steps[n];
			uint32_t thread = why_model_find(w->m, s->tid);

			w->span_no = (uint32_t)at;
			if (thread == WHY_NONE || has_ranges_alone(&w->m->threads[thread]))
				to[at].ns[PART_OTHER] = s->end - s->start;
			else
				cover_between(w, thread, s, &calls[i], &to[at].ns[PART_GPU]);
		}
	}
	for (size_t i = 0; i < w->pieces_cnt; i++) {
		const struct why_piece *p = &w->pieces[i];
		const struct why_leaf *l = &w->leaves[p->leaf];
		unsigned part = part_of_leaf(w, l);

		to[p->span].ns[part] += p->ns;
		if (l->hop && part != PART_GPU)
			to[p->span].data += p->ns;
	}
}

struct reads {
	struct rollup *r;
	const size_t *first;
	struct thread_step *to;
};

/* pid, start, bytes */
static int read_row(void *ctx, sqlite3_stmt *stmt)
{
	struct reads *x = ctx;
	struct rank *k = rollup_rank(x->r, sqlite3_column_int64(stmt, 0));
	const struct rank_step *s = k ? rollup_step(k, sqlite3_column_int64(stmt, 1)) : NULL;
	int64_t *bytes;

	if (!s)
		return SQLITE_OK;
	bytes = &x->to[x->first[k - x->r->ranks] + (size_t)(s - k->steps)].read;
	*bytes = sat_add(*bytes, sqlite3_column_int64(stmt, 2));
	return SQLITE_OK;
}

static const char reads_sql[] =
	"WITH\n"
	"-- include: io_functions\n"
	"SELECT globalTid >> 24, start, bytesDone FROM OSRT_API WHERE bytesDone > 0 AND globalTid "
	">> 24 IN "
	"(SELECT pid FROM rank_process) AND nameId IN (SELECT id FROM kind WHERE type = 3)";

static int put_step(struct rollup *r, const struct rank *k, const struct rank_step *s,
		    const struct busy_step *b, const struct thread_step *t, bool has_gpu)
{
	union dataset_value v[5 + PART_CNT + 5] = {
		{.number = k->rank},
		{.number = s->no},
		{.number = rollup_utc(r, s->start)},
		{.number = rollup_utc(r, s->end)},
		{.number = has_gpu ? b->ns[BUSY_ALL] : DATASET_NULL},
		{.number = has_gpu ? b->ns[BUSY_NCCL] : DATASET_NULL},
		{.number = has_gpu ? b->ns[BUSY_ALL] - b->ns[BUSY_OTHER] : DATASET_NULL},
	};
	size_t at = 7;

	for (unsigned i = 0; i < PART_CNT; i++)
		v[at++].number = t->ns[i];
	v[at++].number = t->data;
	v[at++].number = t->read;
	v[at++].number = k->restart;
	return dataset_values(r->d, DATASET_SL_STEPS, v);
}

static int all_steps(struct rollup *r, struct why_model *m, const size_t *first, size_t cnt)
{
	struct busy_step *busy = calloc(cnt + 1, sizeof(*busy));
	struct thread_step *threads = calloc(cnt + 1, sizeof(*threads));
	uint32_t *group_of = ranks_of(r, m);
	struct calls *calls = calloc(r->ranks_cnt + 1, sizeof(*calls));
	struct reads reads = {r, first, threads};
	struct walk w;
	int rc = busy && threads && group_of && calls ? walk_open(&w, m) : SQLITE_NOMEM;

	for (size_t i = 0; calls && i < r->ranks_cnt; i++)
		calls[i] = (struct calls){
			.r = r, .tid = r->ranks[i].steps_cnt ? r->ranks[i].steps->tid : -1};
	if (rc == SQLITE_OK)
		rc = rollup_sql(r, mpi_calls_sql, mpi_call_row, calls);
	if (rc == SQLITE_OK) {
		for (size_t i = 0; i < cnt; i++)
			for (unsigned kind = 0; kind < BUSY_CNT; kind++)
				busy[i].until[kind] = INT64_MIN;
		w.group_of = group_of;
		cover_threads(r, &w, calls, threads);
		cover_gpus(r, &w, first, busy);
		rc = walk_end(&w);
	}
	if (rc == SQLITE_OK)
		rc = rollup_sql(r, reads_sql, read_row, &reads);
	for (size_t i = 0; rc == SQLITE_OK && i < r->ranks_cnt; i++)
		for (size_t n = 0; rc == SQLITE_OK && n < r->ranks[i].steps_cnt; n++)
			rc = put_step(r, &r->ranks[i], &r->ranks[i].steps[n], &busy[first[i] + n],
				      &threads[first[i] + n], m->ops_cnt > 0);
	if (busy && threads && group_of && calls)
		walk_free(&w);
	for (size_t i = 0; calls && i < r->ranks_cnt; i++)
		big_free(calls[i].list);
	free(calls);
	free(group_of);
	free(busy);
	free(threads);
	return rc;
}

int rollup_steps(struct rollup *r)
{
	struct why_scope scope = {.is_all = true, .wall = &r->wall};
	size_t *first = calloc(r->ranks_cnt + 1, sizeof(*first));
	struct why_model m;
	size_t cnt = 0;
	int rc;

	if (!first)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < r->ranks_cnt; i++) {
		first[i] = cnt;
		cnt += r->ranks[i].steps_cnt;
	}
	rc = SQLITE_OK;
	if (cnt) {
		rc = why_model_read(&m, r->db, &scope);
		if (rc == SQLITE_OK)
			rc = all_steps(r, &m, first, cnt);
		why_model_free(&m);
	}
	free(first);
	return rc;
}
