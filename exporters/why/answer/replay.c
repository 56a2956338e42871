/* replay.c - one pass over all threads at once, by the ends of their spans. */
#include "exporters/why/answer/replay.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/replay_internal.h"
#include "exporters/why/walk/walk_parts.h"

#define SHORT 1000000 /* ns */

static int64_t *now_of(struct run *r, uint32_t thread)
{
	return &r->now[(size_t)thread * r->cnt];
}

/* ---- the next thread ---- */

/* Does the thread wait for thread @by? */
static bool waits_for(const struct track *t, uint32_t by)
{
	return t->kind == TRACK_WAIT && t->wake.waker == by;
}

/* At equal times, births come last, and a waker comes before the thread that waits for it. */
static bool is_before(const struct run *r, uint32_t a, uint32_t b)
{
	const struct track *x = &r->tracks[a], *y = &r->tracks[b];
	bool is_last = waits_for(x, b);

	return x->end != y->end             ? x->end < y->end
	       : x->is_birth != y->is_birth ? !x->is_birth
	       : is_last != waits_for(y, a) ? !is_last
					    : a < b;
}

static void push(struct run *r, uint32_t thread)
{
	size_t i = r->heap_cnt++;

	for (; i && is_before(r, thread, r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = thread;
}

static uint32_t pop(struct run *r)
{
	uint32_t first = r->heap[0], last = r->heap[--r->heap_cnt];
	size_t i = 0;

	for (size_t k; (k = 2 * i + 1) < r->heap_cnt; i = k) {
		if (k + 1 < r->heap_cnt && is_before(r, r->heap[k + 1], r->heap[k]))
			k++;
		if (!is_before(r, r->heap[k], last))
			break;
		r->heap[i] = r->heap[k];
	}
	r->heap[i] = last;
	return first;
}

/* ---- spans ---- */

static double kept(const struct run *r, const struct replay_edit *e, uint32_t culprit,
		   uint32_t thread)
{
	if (e->to > e->from && r->span.is_cost && r->span.at >= e->from && r->span.at < e->to)
		return e->keep;
	if (culprit == REPLAY_ANY || (e->only_lines && r->is_joined) ||
	    !(e->culprits >> culprit & 1))
		return 1;
	return e->of_thread ? e->of_thread[thread] : e->keep;
}

static void add_sum(struct run *r, uint32_t culprit, uint32_t thread, int64_t from, int64_t ns,
		    bool is_wait)
{
	struct replay_sum *s;

	if (culprit >= r->out->culprits)
		return;
	s = &r->out->sums[culprit * r->y->model.threads_cnt + thread];
	if (!s->cnt++)
		s->first = from;
	s->last = from + ns;
	s->ns += ns;
	s->waits += is_wait ? ns : 0;
}

/* @ns of @culprit, from @from on. */
static void spend(struct run *r, uint32_t thread, uint32_t culprit, int64_t from, int64_t ns,
		  bool is_wait)
{
	int64_t *now = now_of(r, thread), *ran = &r->ran[(size_t)thread * r->cnt];
	int64_t *interpreted = &r->interpreted[(size_t)thread * r->cnt];

	add_sum(r, culprit, thread, from, ns, is_wait);
	for (size_t v = 0; v < r->cnt; v++) {
		double share = kept(r, &r->edits[v], culprit, thread);
		int64_t left = share == 1 ? ns : (int64_t)(share * (double)ns);

		now[v] += left;
		ran[v] += left;
		interpreted[v] += r->y->walk.interprets ? left : 0;
	}
}

/* @ns without a CPU: they stay, or go with the span of their culprit. */
static void spend_no_cpu(struct run *r, uint32_t thread, uint32_t culprit, int64_t ns)
{
	int64_t *now = now_of(r, thread);

	for (size_t v = 0; v < r->cnt; v++) {
		const struct replay_edit *e = &r->edits[v];
		double share =
			e->without_cpu_waits || e->to > e->from ? kept(r, e, culprit, thread) : 1;

		now[v] += share == 1 ? ns : (int64_t)(share * (double)ns);
	}
}

/* @ns of the tracer. */
static void spend_tracer(struct run *r, uint32_t thread, int64_t ns)
{
	int64_t *now = now_of(r, thread);

	for (size_t v = 0; v < r->cnt; v++)
		now[v] += r->edits[v].without_tracer ? 0 : ns;
}

/* @ns of an import by @culprit: most imports are made once, at the start. */
static void spend_import(struct run *r, uint32_t thread, uint32_t culprit, int64_t ns)
{
	int64_t *now = now_of(r, thread);

	for (size_t v = 0; v < r->cnt; v++) {
		if (r->edits[v].with_imports && kept(r, &r->edits[v], culprit, thread) != 1)
			continue;
		now[v] += ns;
		r->ran[(size_t)thread * r->cnt + v] += ns;
		r->interpreted[(size_t)thread * r->cnt + v] += ns;
	}
}

/* Waits for events outside of the program, which go on in parallel. */
static bool is_outside(uint32_t reason)
{
	enum {
		ENDS_INSIDE,
		ENDS_OUTSIDE
	};
	static const uint8_t ends_at[] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = ENDS_##ends,
#include "exporters/why/walk/reasons.def"
	};

	return ends_at[reason] == ENDS_OUTSIDE;
}

/* Calls, the kernel's work, and that of libraries and interpreters for them; waits for a CPU before it. */
static bool may_be_of_message(const struct run *r, const struct why_cause *cause)
{
	return cause->reason == WHY_KERNEL || cause->reason == WHY_NO_CPU ||
	       ((cause->reason == WHY_COMPUTE || cause->reason == WHY_TOUCH) &&
		!r->y->walk.places.list[cause->place].is_own);
}

static void own_span(void *ctx, const struct why_cause *cause, int64_t ns)
{
	struct run *r = ctx;
	uint32_t culprit = replay_culprit(r, r->y->model.threads[r->own].process, cause);

	r->span.at = r->own_at;
	r->span.is_cost = may_be_of_message(r, cause);
	if (cause->reason == WHY_TRACER)
		spend_tracer(r, r->own, ns);
	else if (cause->reason == WHY_IMPORT && culprit == REPLAY_ANY)
		spend_import(r, r->own, replay_of_line(r, cause), ns);
	else if (cause->reason == WHY_NO_CPU)
		spend_no_cpu(r, r->own, culprit, ns);
	else
		spend(r, r->own, culprit, r->own_at, ns, false);
	r->own_at += ns;
}

/* Adds @thread's own time up to @time. */
static void go_on(struct run *r, uint32_t thread, int64_t time)
{
	struct track *t = &r->tracks[thread];

	if (time <= t->at)
		return;
	r->own = thread;
	r->own_at = t->at;
	walk_own(&r->y->walk, thread, t->at, time, own_span, r);
	/* The time that walk_own() has no span for. */
	for (size_t v = 0; v < r->cnt; v++)
		now_of(r, thread)[v] += time - r->own_at;
	t->at = time;
}

/* When, by edit @v, @thread would have come to where it was at @time; first let it go there. */
static void come_to(struct run *r, uint32_t thread, int64_t time)
{
	struct track *t = &r->tracks[thread];

	if (t->kind == TRACK_OWN && !t->is_birth)
		go_on(r, thread, earlier(time, t->end));
	/* The caller depends on this time: earlier polls are not taken back any more. */
	memset(&r->polled[(size_t)thread * r->cnt], 0, r->cnt * sizeof(*r->polled));
	t->is_looking = false;
}

static int64_t when(struct run *r, uint32_t thread, int64_t time, size_t v)
{
	const struct track *t = &r->tracks[thread];

	return t->is_birth ? time : now_of(r, thread)[v] + (time - t->at);
}

/* ---- the next span of a thread ---- */

/* The first call of the GPU's that is not over at @time, and that waits for the GPU or gives it work. */
static const struct why_call *next_gpu_call(struct run *r, uint32_t thread, int64_t time)
{
	const struct why_thread *t = &r->y->model.threads[thread];
	struct track *k = &r->tracks[thread];

	while (k->gpu < t->gpu_cnt &&
	       (t->gpu[k->gpu].end <= time || !replay_is_gpu_call(r, thread, &t->gpu[k->gpu])))
		k->gpu++;
	return k->gpu < t->gpu_cnt ? &t->gpu[k->gpu] : NULL;
}

static bool is_contended(const struct why_cause *c)
{
	return c->reason == WHY_LOCK || c->reason == WHY_GIL;
}

/*
 * A thread takes the results of all jobs that were done for it in a wait before it waits again, gives new jobs, or ends: a shorter
 * wait for one of them leaves the others.
 */
static void settle(struct run *r, uint32_t thread)
{
	int64_t *now = now_of(r, thread), *owed = &r->owed[(size_t)thread * r->cnt];

	for (size_t v = 0; v < r->cnt; v++) {
		now[v] = later(now[v], owed[v]);
		owed[v] = INT64_MIN;
	}
}

/* A look with a time limit: none is needed if what is looked for comes before the first of them. */
static void look(struct run *r, uint32_t thread)
{
	struct track *k = &r->tracks[thread];
	struct why_wake found = k->wake;

	if (k->wake.waker != WHY_NONE)
		return;
	walk_series(&r->y->walk, thread, k->i, &found);
	if (!found.is_series)
		return;
	if (!k->is_looking)
		memcpy(&r->looked[(size_t)thread * r->cnt], now_of(r, thread),
		       r->cnt * sizeof(*r->looked));
	k->is_looking = true;
	if (found.is_last)
		k->wake = found;
}

static void begin_wait(struct run *r, uint32_t thread, int64_t end)
{
	struct track *k = &r->tracks[thread];

	k->kind = TRACK_WAIT;
	k->wait = k->i;
	walk_wake(&r->y->walk, thread, k->i, &k->wake);
	if (!is_contended(&k->wake.cause))
		settle(r, thread);
	look(r, thread);
	k->end = later(k->at, earlier(k->wake.woken, end));
	k->is_inner = replay_is_inner(r, thread, k);
	replay_job_pauses(r, thread, k->i + 1 == r->y->model.threads[thread].switches_cnt);
	if (k->wake.waker == WHY_NONE || (!k->is_inner && !is_contended(&k->wake.cause)))
		return;
	come_to(r, k->wake.waker, k->at);
	for (size_t v = 0; v < r->cnt; v++)
		r->begun[(size_t)thread * r->cnt + v] = when(r, k->wake.waker, k->at, v);
}

/* The begin or end of a span that the focus thread comes to next. */
static int64_t next_border(const struct run *r)
{
	const struct why_focus *f = &r->y->time;
	const struct why_span *s = &f->spans[r->focus.passed / 2];

	return r->focus.passed == 2 * f->spans_cnt ? INT64_MAX
	       : r->focus.passed % 2               ? s->end
						   : s->start;
}

/* The next span of a thread; false: it has come to the end. */
static bool next_span(struct run *r, uint32_t thread)
{
	const struct why_thread *t = &r->y->model.threads[thread];
	struct track *k = &r->tracks[thread];
	const struct why_call *c = next_gpu_call(r, thread, k->at);
	int64_t end = r->y->to;
	bool is_out, is_back;

	if (k->at >= r->y->to)
		return false;
	while (k->i + 1 < t->switches_cnt && t->switches[k->i + 1].time <= k->at)
		k->i++;
	if (t->switches[k->i].time > k->at)
		end = earlier(end, t->switches[k->i].time);
	else if (k->i + 1 < t->switches_cnt)
		end = earlier(end, t->switches[k->i + 1].time);
	is_out = t->switches[k->i].time <= k->at && !t->switches[k->i].is_in;
	is_back = k->kind == TRACK_WAIT && k->wait == k->i;
	if (c && c->start <= k->at && reason_is_gpu_wait(&r->y->walk, c)) {
		k->kind = TRACK_GPU;
		k->end = earlier(c->end, r->y->to);
	} else if (is_out && !t->switches[k->i].is_preempted && !is_back) {
		begin_wait(r, thread, end);
	} else {
		if (c)
			end = earlier(end, c->start > k->at && reason_is_gpu_wait(&r->y->walk, c)
						   ? c->start
						   : c->end);
		k->kind = is_back ? TRACK_BACK : TRACK_OWN;
		k->end = end;
		if (!is_back && thread == r->y->focus)
			k->end = earlier(end, later(next_border(r), k->at));
	}
	return true;
}

/* ---- the end of a span ---- */

/* A wait that another thread could have ended, and a time limit did. */
static bool is_poll(const struct why_wake *w)
{
	return w->waker == WHY_NONE &&
	       (w->cause.reason == WHY_QUEUE || w->cause.reason == WHY_POLL);
}

/* ... or a sleep: the thread may wait for the work of other threads. */
static bool is_timed(const struct why_wake *w)
{
	return w->cause.reason == WHY_SLEEP || is_poll(w);
}

/* A sleep or poll of a culprit, and whether the thread may wait in it for work that it gave away. */
static void add_timed(struct run *r, uint32_t culprit, uint32_t thread)
{
	const struct track *k = &r->tracks[thread];
	struct replay_sum *s;

	if (culprit >= r->out->culprits || !is_timed(&k->wake))
		return;
	s = &r->out->sums[culprit * r->y->model.threads_cnt + thread];
	s->looks++;
	s->timed += k->end - k->at;
	s->asked += replay_has_jobs(r, thread) ? k->end - k->at : 0;
}

/* A short wait for another thread or process, which ended it by an interrupt. */
static bool is_short_message(const struct track *k)
{
	uint32_t reason = k->wake.cause.reason;

	return k->end - k->at <= SHORT && ((reason >= WHY_SOCKET && reason <= WHY_QUEUE) ||
					   reason == WHY_POLL || reason == WHY_GIL);
}

static void end_wait(struct run *r, uint32_t thread)
{
	struct track *k = &r->tracks[thread];
	int64_t *now = now_of(r, thread), *begun = &r->begun[(size_t)thread * r->cnt];
	int64_t *polled = &r->polled[(size_t)thread * r->cnt];
	int64_t *owed = &r->owed[(size_t)thread * r->cnt];
	const int64_t *looked = &r->looked[(size_t)thread * r->cnt];
	uint32_t process = r->y->model.threads[thread].process, waker = k->wake.waker;
	uint32_t culprit = replay_culprit(r, process, &k->wake.cause);
	bool is_end = replay_is_end(r, thread, k), is_event = replay_is_event(r, thread, k);

	k->waited = 0;
	r->span.at = k->at;
	r->span.is_cost = waker == WHY_NONE && is_short_message(k);
	if (waker == WHY_NONE) {
		add_sum(r, culprit, thread, k->at, k->end - k->at,
			is_outside(k->wake.cause.reason));
		add_timed(r, culprit, thread);
	} else {
		come_to(r, waker, k->end);
	}
	if (waker != WHY_NONE && !is_contended(&k->wake.cause))
		settle(r, waker);
	for (size_t v = 0; v < r->cnt; v++) {
		const struct replay_edit *e = &r->edits[v];
		int64_t then;
		bool waits;

		if (waker == WHY_NONE) {
			double share = kept(r, e, culprit, thread);

			then = now[v] + (share == 1 ? k->end - k->at
						    : (int64_t)(share * (double)(k->end - k->at)));
			if (share < 1 && e->keeps_jobs && is_timed(&k->wake))
				then = later(then,
					     is_event ? k->end : replay_jobs_done(r, thread, v));
			waits = share > 0.5;
			polled[v] = is_poll(&k->wake) ? polled[v] + then - now[v] : 0;
		} else {
			then = when(r, waker, k->end, v);
			/* Nothing in the program asks for an order in which a GPU's driver gives its locks. */
			if (k->is_inner || (is_contended(&k->wake.cause) && !e->keeps_order))
				then = now[v] + later(0, then - begun[v]);
			else if (k->is_looking && !is_end)
				now[v] = earlier(now[v], looked[v]);
			else
				now[v] -= is_end ? later(0, now[v] - then) : polled[v];
			/* A thread that looks for something may wait for a lock in between. */
			if (!is_contended(&k->wake.cause))
				polled[v] = 0;
			if (!k->is_inner && !is_contended(&k->wake.cause))
				owed[v] = later(owed[v], replay_jobs_done(r, thread, v));
			waits = then > now[v] || k->end == k->at;
		}
		now[v] = later(now[v], then);
		if (waits)
			k->waited |= UINT32_C(1) << v;
	}
	if (waker != WHY_NONE)
		replay_job_begins(r, thread, waker);
	k->is_looking &= waker == WHY_NONE || is_contended(&k->wake.cause);
	k->at = k->end;
	k->cause = k->wake.cause;
	k->cause.reason = WHY_NO_CPU;
}

/* Runnable after a wait: an edit without the wait has no time for this either. */
static void end_back(struct run *r, uint32_t thread)
{
	struct track *k = &r->tracks[thread];
	uint32_t culprit = replay_culprit(r, r->y->model.threads[thread].process, &k->cause);
	int64_t *now = now_of(r, thread), ns = k->end - k->at;

	r->span.at = k->at;
	r->span.is_cost = true;
	for (size_t v = 0; v < r->cnt; v++) {
		const struct replay_edit *e = &r->edits[v];

		if (k->waited & UINT32_C(1) << v)
			now[v] += e->without_cpu_waits || e->to > e->from
					  ? (int64_t)(kept(r, e, culprit, thread) * (double)ns)
					  : ns;
	}
	k->at = k->end;
}

/* A thread begins when its parent has come to the time of its birth. */
static void be_born(struct run *r, uint32_t thread)
{
	struct track *k = &r->tracks[thread];
	uint32_t parent = why_maker(&r->y->model, thread);
	int64_t *now = now_of(r, thread);

	if (parent != WHY_NONE) {
		come_to(r, parent, k->end);
		settle(r, parent);
	}
	if (parent != WHY_NONE)
		replay_job_begins(r, thread, parent);
	for (size_t v = 0; v < r->cnt; v++)
		now[v] = parent == WHY_NONE ? k->end : when(r, parent, k->end, v);
	k->is_birth = false;
	k->at = k->end;
}

static void end_span(struct run *r, uint32_t thread)
{
	struct track *k = &r->tracks[thread];

	if (k->is_birth) {
		be_born(r, thread);
		return;
	}
	switch (k->kind) {
	case TRACK_WAIT:
		end_wait(r, thread);
		break;
	case TRACK_BACK:
		end_back(r, thread);
		break;
	case TRACK_GPU:
		replay_end_gpu_wait(r, thread);
		break;
	default:
		go_on(r, thread, k->end);
		replay_launch(r, thread);
	}
}

/* ---- the whole replay ---- */

static void begin(struct run *r)
{
	const struct why_model *m = &r->y->model;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct why_thread *t = &m->threads[i];
		struct track *k = &r->tracks[i];

		*k = (struct track){.at = r->y->from,
				    .end = r->y->from,
				    .is_birth = true,
				    .works_for = WHY_NONE,
				    .done_at = INT64_MIN};
		if (!t->switches_cnt || t->birth >= r->y->to)
			continue;
		for (size_t v = 0; v < r->cnt; v++) {
			now_of(r, i)[v] = r->y->from;
			r->owed[(size_t)i * r->cnt + v] = INT64_MIN;
		}
		if (t->birth > r->y->from && i != r->y->focus)
			k->end = t->birth;
		else
			k->is_birth = false;
		if (k->is_birth || next_span(r, i))
			push(r, i);
	}
}

/* The focus thread is at @at; its time since the last call of this function went on evenly. */
static void pass_spans(struct run *r, int64_t at)
{
	uint32_t thread = r->y->focus;

	for (int64_t time; (time = next_border(r)) <= at; r->focus.passed++) {
		bool is_end = r->focus.passed % 2;

		for (size_t v = 0; v < r->cnt; v++) {
			int64_t then = later(r->focus.now[v], when(r, thread, time, v));

			r->focus.sum[v] += is_end ? then : -then;
		}
	}
	for (size_t v = 0; v < r->cnt; v++)
		r->focus.now[v] = when(r, thread, at, v);
}

/* Is the thread at a culprit of the edit? */
static bool is_part(const struct run *r, uint64_t culprits, uint32_t thread)
{
	for (size_t k = 0; k < r->out->culprits && k < 64; k++)
		if (culprits >> k & 1 && r->out->sums[k * r->y->model.threads_cnt + thread].cnt)
			return true;
	return false;
}

/* One thread of it at a time computes. */
static bool has_gil(const struct why_process *p)
{
	const char *exe = p->exe ? p->exe : "", *slash = strrchr(exe, '/');

	return strncmp(slash ? slash + 1 : exe, "python", 6) == 0;
}

/*
 * How long the threads at the culprits of an edit and the focus thread need at least: by turns where one at a time has the GIL, and on
 * as many processors as there are; no longer than they were. 0: nothing is changed.
 */
static int64_t needs(const struct run *r, size_t v)
{
	const struct why_model *m = &r->y->model;
	uint32_t process = m->threads[r->y->focus].process;
	int64_t ran = 0, interpreted = 0;

	for (uint32_t i = 0; r->edits[v].culprits && i < m->threads_cnt; i++) {
		if (i != r->y->focus && !is_part(r, r->edits[v].culprits, i))
			continue;
		ran += r->ran[(size_t)i * r->cnt + v];
		if (m->threads[i].process == process && has_gil(&m->processes[process]))
			interpreted += r->interpreted[(size_t)i * r->cnt + v];
	}
	return earlier(r->y->to - r->y->from, later(interpreted, m->cpus ? ran / m->cpus : 0));
}

static void end(struct run *r)
{
	const struct why *y = r->y;

	settle(r, y->focus);
	pass_spans(r, y->to);
	for (size_t v = 0; v < r->cnt; v++) {
		int64_t thread = when(r, y->focus, y->to, v), gpu = replay_gpu_end(r, v);

		r->out->end[v] = y->gpu ? gpu
				 : y->time.spans_cnt > 1
					 ? y->from + r->focus.sum[v]
					 : later(later(thread, gpu), y->from + needs(r, v));
	}
}

int replay_run(struct why *y, struct replay *out)
{
	struct run r = {.y = y, .out = out, .edits = out->edits, .cnt = out->cnt};
	size_t threads = y->model.threads_cnt;
	int rc = SQLITE_NOMEM;

	out->sums = calloc(out->culprits * threads + 1, sizeof(*out->sums));
	r.now = calloc(threads * out->cnt + 1, sizeof(*r.now));
	r.begun = calloc(threads * out->cnt + 1, sizeof(*r.begun));
	r.done = calloc(threads * out->cnt + 1, sizeof(*r.done));
	r.polled = calloc(threads * out->cnt + 1, sizeof(*r.polled));
	r.owed = calloc(threads * out->cnt + 1, sizeof(*r.owed));
	r.looked = calloc(threads * out->cnt + 1, sizeof(*r.looked));
	r.ran = calloc(threads * out->cnt + 1, sizeof(*r.ran));
	r.interpreted = calloc(threads * out->cnt + 1, sizeof(*r.interpreted));
	r.tracks = calloc(threads + 1, sizeof(*r.tracks));
	r.heap = calloc(threads + 1, sizeof(*r.heap));
	if (!out->sums || !r.now || !r.begun || !r.done || !r.polled || !r.owed || !r.looked ||
	    !r.ran || !r.interpreted || !r.tracks || !r.heap || !replay_prepare(&r))
		goto out;
	begin(&r);
	pass_spans(&r, y->from);
	while (r.heap_cnt) {
		uint32_t thread = pop(&r);

		end_span(&r, thread);
		if (thread == y->focus)
			pass_spans(&r, r.tracks[thread].at);
		if (next_span(&r, thread))
			push(&r, thread);
	}
	end(&r);
	rc = r.is_short ? SQLITE_NOMEM : SQLITE_OK;
out:
	replay_release(&r);
	free(r.now);
	free(r.begun);
	free(r.done);
	free(r.polled);
	free(r.owed);
	free(r.looked);
	free(r.ran);
	free(r.interpreted);
	free(r.tracks);
	free(r.heap);
	return rc;
}

void replay_free(struct replay *r)
{
	free(r->sums);
	free(r->syncs);
	r->sums = NULL;
	r->syncs = NULL;
}
