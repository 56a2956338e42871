/*
 * runners.c - by the frames of event loops and pools in the stacks of each thread: from one poll of a loop to the next is a turn, in
 * which nothing else is served; a pool with one worker shows in the focus thread's waits for it.
 */
#include "exporters/why/answer/runners.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/why/answer/why.h"
#include "exporters/why/walk/walk_parts.h"

#define TURN     20000000 /* ns: a shorter turn of a loop costs others little */
#define COMPUTES 50000000 /* likewise, of one that computes */
#define LEAST    0.02     /* of the time looked at: what blocks a loop for less is not listed */
#define WAITED   0.10     /* likewise, of the time waited for a pool */
#define JOBS     3        /* fewer are no stream of jobs */
#define AHEAD \
	10     /* a stream of jobs: of ten jobs, one at least was there when the one before ended */
#define IDLE 4 /* a worker that waits before each fourth job waits for the one that asks */

static const bool is_pool_of[] = {
	false,
#define RUNNER(id, is_pool, text, module, symbol, remedy) is_pool,
#include "exporters/why/model/runners.def"
};

/* A stack with a runner, of any event of a thread. */
struct seen {
	int64_t time;
	uint32_t runner;
	bool is_own; /* the place is a line of the program */
};

struct seen_list {
	WHY_LIST(seen, list);
	bool is_short; /* of memory */
};

static void see(struct seen_list *l, struct walk *w, int64_t time, uint32_t stack)
{
	uint16_t flags;
	uint8_t runner;
	uint32_t place;

	if (stack == WHY_NONE)
		return;
	place = walk_place(w, stack, &flags);
	runner = places_runner(&w->places, stack, w->m->stacks.ids[stack]);
	if (runner == RUNNER_NONE)
		return;
	if (!grow(&l->list, l->list_cnt, &l->list_room, sizeof(*l->list)))
		l->is_short = true;
	else
		l->list[l->list_cnt++] = (struct seen){time, runner, w->places.list[place].is_own};
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static struct seen_list look_at(struct walk *w, const struct why_thread *t)
{
	struct seen_list l = {0};

	for (size_t i = 0; i < t->calls_cnt; i++)
		see(&l, w, t->calls[i].start, why_what(w->m, &t->calls[i])->stack);
	for (size_t i = 0; i < t->system_cnt; i++)
		see(&l, w, t->system[i].start, why_what(w->m, &t->system[i])->stack);
	for (size_t i = 0; i < t->samples_cnt; i++)
		see(&l, w, t->samples[i].time, t->samples[i].stack);
	for (size_t i = 0; i < t->offs_cnt; i++)
		see(&l, w, t->offs[i].time, t->offs[i].stack);
	if (l.list_cnt)
		qsort(l.list, l.list_cnt, sizeof(*l.list), by_time);
	return l;
}

/* The event loop that called the code of the turn [@from, @to); RUNNER_NONE: none did. */
static uint32_t loop_in(const struct seen_list *l, int64_t from, int64_t to)
{
	size_t i = search_first(k, 0, l->list_cnt, l->list[k].time < from);

	for (; i < l->list_cnt && l->list[i].time <= to; i++)
		if (!is_pool_of[l->list[i].runner])
			return l->list[i].runner;
	return RUNNER_NONE;
}

/* ---- turns ---- */

/* Causes of a turn with their sums; the first ones, as one of them has most time. */
struct turn {
	struct {
		struct why_cause cause;
		int64_t ns;
	} list[16];
	unsigned cnt;
};

static bool is_work(uint32_t reason)
{
	return reason == WHY_COMPUTE || reason == WHY_KERNEL || reason == WHY_TOUCH;
}

static void on_span(void *ctx, const struct why_cause *cause, int64_t ns)
{
	struct turn *t = ctx;
	unsigned i = 0;

	if (cause->place == PLACE_NONE || cause->reason == WHY_NO_CPU ||
	    cause->reason == WHY_TRACER || cause->reason == WHY_IMPORT ||
	    cause->reason == WHY_UNKNOWN || cause->reason == WHY_GIL)
		return;
	while (i < t->cnt &&
	       (t->list[i].cause.reason != cause->reason || t->list[i].cause.place != cause->place))
		i++;
	if (i == sizeof(t->list) / sizeof(*t->list))
		return;
	if (i == t->cnt) {
		t->list[t->cnt].cause = *cause;
		t->list[t->cnt++].ns = 0;
	}
	t->list[i].ns += ns;
}

static bool add_block(struct why_runners *r, const struct why_block *b)
{
	size_t i = 0;

	while (i < r->blocks_cnt &&
	       (r->blocks[i].thread != b->thread || r->blocks[i].cause.reason != b->cause.reason ||
		r->blocks[i].cause.place != b->cause.place))
		i++;
	if (i == r->blocks_cnt) {
		if (!grow(&r->blocks, r->blocks_cnt, &r->blocks_room, sizeof(*b)))
			return false;
		r->blocks[r->blocks_cnt++] = *b;
		return true;
	}
	r->blocks[i].ns += b->ns;
	r->blocks[i].cnt++;
	r->blocks[i].longest = later(r->blocks[i].longest, b->ns);
	return true;
}

/* From the end of one poll to the beginning of the next. */
static bool turn(struct why_runners *r, struct why *y, uint32_t thread, const struct seen_list *l,
		 int64_t from, int64_t to)
{
	struct why_block b = {.thread = thread, .cnt = 1};
	struct turn t = {.cnt = 0};

	if (to - from < TURN || (b.runner = loop_in(l, from, to)) == RUNNER_NONE)
		return true;
	walk_own(&y->walk, thread, from, to, on_span, &t);
	for (unsigned i = 0; i < t.cnt; i++)
		if (t.list[i].ns > b.ns) {
			b.ns = t.list[i].ns;
			b.cause = t.list[i].cause;
		}
	b.longest = b.ns;
	return b.ns < (is_work(b.cause.reason) ? COMPUTES : TURN) || add_block(r, &b);
}

/* Does the loop itself wait, for whatever comes next? */
static bool is_poll(const struct why_wake *wake, uint32_t runner)
{
	uint32_t reason = wake->cause.reason;

	return reason == WHY_POLL ||
	       (runner == RUNNER_TOKIO && (reason == WHY_QUEUE || reason == WHY_BLOCKED));
}

static bool find_turns(struct why_runners *r, struct why *y, uint32_t thread,
		       const struct seen_list *l)
{
	const struct why_thread *t = &y->model.threads[thread];
	int64_t from = l->list[0].time;
	uint32_t loop = loop_in(l, INT64_MIN, INT64_MAX);
	struct why_wake wake;
	bool ok = true;

	if (loop == RUNNER_NONE)
		return true;
	for (size_t i = 0; ok && i < t->switches_cnt; i++) {
		const struct why_switch *s = &t->switches[i];

		if (s->is_in || s->is_preempted || s->time < from)
			continue;
		walk_wake(&y->walk, thread, i, &wake);
		if (!is_poll(&wake, loop))
			continue;
		ok = turn(r, y, thread, l, from, s->time);
		from = wake.woken;
	}
	return ok && (from == INT64_MAX || turn(r, y, thread, l, from, y->model.wall.end));
}

/* ---- pools ---- */

/* Workers seen so far of one pool: of one process, or of processes with one parent. */
struct workers {
	int64_t of;
	uint32_t runner, thread, cnt;
};

struct worker_list {
	WHY_LIST(workers, list);
};

static bool add_worker(struct worker_list *l, const struct why *y, uint32_t thread,
		       const struct seen_list *seen)
{
	const struct why_process *p = &y->model.processes[y->model.threads[thread].process];
	struct workers new = {.thread = thread, .cnt = 1};
	size_t i = 0;

	while (i < seen->list_cnt && !(is_pool_of[seen->list[i].runner] && seen->list[i].is_own))
		i++;
	if (i == seen->list_cnt)
		return true;
	new.runner = seen->list[i].runner;
	new.of = new.runner == RUNNER_FUTURES || new.runner == RUNNER_JAVA ? p->pid : p->parent;
	for (i = 0; i < l->list_cnt; i++)
		if (l->list[i].of == new.of && l->list[i].runner == new.runner) {
			l->list[i].cnt++;
			return true;
		}
	if (!grow(&l->list, l->list_cnt, &l->list_room, sizeof(new)))
		return false;
	l->list[l->list_cnt++] = new;
	return true;
}

/* How often a worker waited for its next job: at no line of the program. */
static int64_t idle_times(struct why *y, uint32_t thread)
{
	const struct why_thread *t = &y->model.threads[thread];
	struct why_wake wake;
	int64_t cnt = 0;

	for (size_t i = 0; i < t->switches_cnt; i++) {
		if (t->switches[i].is_in || t->switches[i].is_preempted)
			continue;
		walk_wake(&y->walk, thread, i, &wake);
		cnt += wake.cause.reason != WHY_GIL && wake.cause.reason != WHY_IMPORT &&
		       !y->walk.places.list[wake.cause.place].is_own;
	}
	return cnt;
}

/* Is there an event of the program's own code in [@from, @to)? */
static bool is_at_work(const struct seen_list *l, int64_t from, int64_t to)
{
	size_t i = search_first(k, 0, l->list_cnt, l->list[k].time < from);

	while (i < l->list_cnt && l->list[i].time < to && !l->list[i].is_own)
		i++;
	return i < l->list_cnt && l->list[i].time < to;
}

/*
 * Results of a worker: waits at lines of the program that it ended, of threads of the process that is explained. *@ahead: results after
 * which the worker was at its next job before the thread that took the result waited again: that job had been asked for before.
 */
static int64_t jobs_of(struct why *y, uint32_t thread, const struct seen_list *worker,
		       int64_t *ahead)
{
	struct why_wake wake;
	int64_t cnt = 0;

	*ahead = 0;

	for (uint32_t k = 0; k < y->model.threads_cnt; k++) {
		const struct why_thread *t = &y->model.threads[k];

		if (t->process != y->model.threads[y->focus].process || k == thread)
			continue;
		int64_t taken = INT64_MAX;

		for (size_t i = 0; i + 1 < t->switches_cnt; i++) {
			if (t->switches[i + 1].waker != thread)
				continue;
			walk_wake(&y->walk, k, i, &wake);
			if (wake.waker != thread || wake.cause.reason == WHY_GIL ||
			    !y->walk.places.list[wake.cause.place].is_own)
				continue;
			*ahead += is_at_work(worker, taken, t->switches[i].time);
			taken = wake.woken;
			cnt++;
		}
	}
	return cnt;
}

static bool find_pool(struct why_runners *r, struct why *y, const struct workers *of)
{
	struct why_pool p = {.thread = of->thread, .runner = of->runner, .place = PLACE_NONE};
	struct seen_list seen;
	int64_t most = 0, ahead;

	for (size_t i = 0; i < y->walk.leaves_cnt; i++) {
		const struct why_leaf *l = &y->walk.leaves[i];

		if (l->thread != of->thread || !y->walk.places.list[l->cause.place].is_own)
			continue;
		p.ns += l->ns;
		if (l->ns > most) {
			most = l->ns;
			p.place = l->cause.place;
		}
	}
	if (of->cnt > 1 || of->thread == y->focus || (double)p.ns < WAITED * (double)y->ns)
		return true;
	seen = look_at(&y->walk, &y->model.threads[of->thread]);
	p.jobs = jobs_of(y, of->thread, &seen, &ahead);
	free(seen.list);
	/* Where each job is asked for when the one before is done, a second worker has nothing to do. */
	if (p.jobs < JOBS || IDLE * idle_times(y, of->thread) > p.jobs)
		return true;
	/*
	 * On one CPU, a Python thread that gives the GIL away to wait for a job is preempted by the one that asks, and then need
	 * not wait: that the jobs were there shows in those that it began at once.
	 */
	if (of->runner == RUNNER_FUTURES && AHEAD * ahead < p.jobs)
		return true;
	if (!grow(&r->pools, r->pools_cnt, &r->pools_room, sizeof(p)))
		return false;
	r->pools[r->pools_cnt++] = p;
	return true;
}

/* ---- all ---- */

static int by_ns(const void *a, const void *b)
{
	const struct why_block *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static void keep_long(struct why_runners *r, const struct why *y)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->blocks_cnt; i++)
		if ((double)r->blocks[i].ns >= LEAST * (double)y->ns)
			r->blocks[kept++] = r->blocks[i];
	r->blocks_cnt = kept;
	if (kept)
		qsort(r->blocks, kept, sizeof(*r->blocks), by_ns);
}

int why_find_runners(struct why_runners *r, struct why *y)
{
	struct worker_list workers = {0};
	bool ok = true;

	for (uint32_t i = 0; ok && i < y->model.threads_cnt; i++) {
		struct seen_list l = look_at(&y->walk, &y->model.threads[i]);

		ok = !l.is_short &&
		     (!l.list_cnt || (find_turns(r, y, i, &l) && add_worker(&workers, y, i, &l)));
		free(l.list);
	}
	for (size_t i = 0; ok && i < workers.list_cnt; i++)
		ok = find_pool(r, y, &workers.list[i]);
	keep_long(r, y);
	free(workers.list);
	return ok ? walk_end(&y->walk) : SQLITE_NOMEM;
}

void why_runners_free(struct why_runners *r)
{
	free(r->blocks);
	free(r->pools);
}
