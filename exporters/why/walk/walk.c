/*
 * walk.c - the bounded backward walk: the time of a wait is the time of its waker from the beginning of the wait to the wake-up.
 *
 * walk_at() partitions a span of a thread; it calls itself for the waker with the span of the wait, so the leaves of a span
 * always sum up to it.
 */
#include "exporters/why/walk/walk.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define SAMPLE_FAR 20000000 /* ns: a sample stands for no more time before it */
#define FAULT_RUN  1000000  /* ns on a CPU at most between a wait for a page and its fault */
#define SEND_SLACK 20000    /* ns between the end of a call that sends and the wake-up by it */
#define SEND_TRIES 64       /* messages looked through for the end of a wait */

/* ---- causes ---- */

static uint32_t place_of(struct walk *w, uint32_t stack, uint8_t *flags)
{
	*flags = 0;
	return stack == WHY_NONE ? PLACE_NONE
				 : places_of(&w->places, stack, w->m->stacks.ids[stack], flags);
}

/* The call of @list that contains @time, or NULL. */
static const struct why_call *call_at(const struct why_call *list, size_t cnt, int64_t time)
{
	size_t i = why_last(list, cnt, sizeof(*list), time);

	return i < cnt && list[i].end > time ? &list[i] : NULL;
}

/* The first call of @list that begins after @time begins then; INT64_MAX: none. */
static int64_t next_call(const struct why_call *list, size_t cnt, int64_t time)
{
	size_t i = why_last(list, cnt, sizeof(*list), time);

	i = i == cnt ? 0 : i + 1;
	return i < cnt ? list[i].start : INT64_MAX;
}

/* The sample that stands for the time before it, or the nearest; NULL: none is near. */
static const struct why_sample *sample_at(const struct why_thread *t, int64_t time)
{
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), time);
	size_t next = i == t->samples_cnt ? 0 : i + 1;

	if (next < t->samples_cnt && t->samples[next].time - time < SAMPLE_FAR)
		return &t->samples[next];
	if (i < t->samples_cnt && time - t->samples[i].time < SAMPLE_FAR)
		return &t->samples[i];
	return NULL;
}

/* CPython waits on a condition with a time limit for the GIL, and for nothing else. */
static bool is_for_gil(struct walk *w, const struct why_call *c, uint8_t flags)
{
	return flags & PLACE_GIL || (flags & PLACE_PYTHON && reason_is_timed_condition(w, c));
}

static struct why_cause cause_of_call(struct walk *w, const struct why_thread *t,
				      const struct why_call *c, uint32_t reason, int64_t time)
{
	const struct why_what *what = why_what(w->m, c);
	struct why_cause cause = {.reason = reason, .name = what->name, .object = what->object};
	const struct why_object *object;
	const struct why_sample *s;
	uint8_t flags, more = 0;

	cause.place = place_of(w, what->stack, &flags);
	if (cause.place == PLACE_NONE && (s = sample_at(t, time)))
		cause.place = place_of(w, s->stack, &more);
	if ((flags | more) & PLACE_IMPORT)
		cause.reason = WHY_IMPORT;
	else if (reason == WHY_QUEUE && is_for_gil(w, c, flags))
		cause.reason = WHY_GIL;
	else if (reason == WHY_POLL && flags & PLACE_SLEEP)
		cause.reason = WHY_SLEEP;
	else if (reason == WHY_QUEUE && (object = why_object_of(t, c)) && object->is_lock)
		cause.reason = WHY_LOCK;
	return cause;
}

/* The fault in which the thread left the CPU at @time: it has run for hardly any time until it was over. NULL: none. */
static const struct why_fault *fault_at(const struct why_thread *t, int64_t time)
{
	size_t i = t->faults_cnt ? why_last(t->faults, t->faults_cnt, sizeof(*t->faults), time) : 0,
	       s;
	const struct why_fault *f;
	int64_t ran = 0;

	i = i == t->faults_cnt ? 0 : i + 1;
	if (i >= t->faults_cnt)
		return NULL;
	f = &t->faults[i];
	s = why_last(t->switches, t->switches_cnt, sizeof(*t->switches), time);
	for (s++; s < t->switches_cnt && t->switches[s].time <= f->time; s++) {
		int64_t end = s + 1 < t->switches_cnt ? earlier(t->switches[s + 1].time, f->time)
						      : f->time;

		if (t->switches[s].is_in)
			ran += end - t->switches[s].time;
		if (ran > FAULT_RUN)
			return NULL;
	}
	return f;
}

/* Why the thread left the CPU at @time. */
static struct why_cause cause_of_wait(struct walk *w, const struct why_thread *t, int64_t time,
				      bool is_on_disk, double *sure)
{
	struct why_cause cause = {WHY_BLOCKED, PLACE_NONE, WHY_NONE, WHY_NONE};
	const struct why_call *c = call_at(t->gpu, t->gpu_cnt, time);
	const struct why_fault *f;
	const struct why_sample *s;
	uint8_t flags;
	size_t i;

	*sure = SURE;
	if (c)
		return cause_of_call(w, t, c, WHY_GPU_CALL, time);
	c = call_at(t->calls, t->calls_cnt, time);
	if (!c)
		c = call_at(t->system, t->system_cnt, time);
	if (c) {
		cause = cause_of_call(w, t, c, reason_of_call(w, c), time);
		*sure = cause.reason == WHY_BLOCKED ? GUESSED : SURE;
		return cause;
	}
	f = fault_at(t, time);
	if (f) {
		cause.reason = WHY_PAGE_IN;
		cause.place = place_of(w, f->stack, &flags);
		cause.object = f->object;
		return cause;
	}
	*sure = GUESSED;
	i = why_last(t->offs, t->offs_cnt, sizeof(*t->offs), time);
	if (i < t->offs_cnt && t->offs[i].time == time)
		s = &t->offs[i];
	else
		s = sample_at(t, time);
	if (s)
		cause.place = place_of(w, s->stack, &flags);
	/* Outside of any call, only the memory itself makes a thread wait for a device. */
	if (is_on_disk && t->calls_cnt)
		cause.reason = WHY_PAGE_IN;
	return cause;
}

/* ---- running ---- */

static void compute(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), from);

	i = i == t->samples_cnt ? 0 : i + 1;
	for (int64_t x = from, end; x < to; x = end, i++) {
		struct why_cause cause = {WHY_COMPUTE, PLACE_NONE, WHY_NONE, WHY_NONE};
		const struct why_sample *s = sample_at(t, x);
		struct why_leaf *leaf;
		uint8_t flags = 0;

		end = i < t->samples_cnt ? earlier(to, t->samples[i].time) : to;
		if (end <= x) {
			end = x;
			continue;
		}
		if (s)
			cause.place = place_of(w, s->stack, &flags);
		if (flags & PLACE_TRACER)
			cause.reason = WHY_TRACER;
		else if (flags & PLACE_IMPORT)
			cause.reason = WHY_IMPORT;
		else if (flags & PLACE_KERNEL)
			cause.reason = WHY_KERNEL;
		leaf = walk_leaf(w, at, &cause, end - x, s ? SURE : GUESSED);
		if (leaf && flags & PLACE_ITSELF)
			leaf->itself += end - x;
	}
}

/* Time on a CPU in a call belongs to @cause, but for samples in the tracer or in CUPTI. */
static void in_call(struct walk *w, const struct at *at, const struct why_cause *cause,
		    const struct why_call *c, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	struct why_cause tracer = *cause;
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), from);
	int64_t begin = from;
	struct why_leaf *leaf;

	tracer.reason = WHY_TRACER;
	i = i == t->samples_cnt ? 0 : i + 1;
	for (int64_t x = from, end; x < to; x = end, i++) {
		const struct why_sample *s = sample_at(t, x);
		uint8_t flags = 0;

		end = i < t->samples_cnt ? later(x, earlier(to, t->samples[i].time)) : to;
		if (s)
			place_of(w, s->stack, &flags);
		if (flags & PLACE_TRACER) {
			walk_leaf(w, at, cause, x - begin, SURE);
			walk_leaf(w, at, &tracer, end - x, SURE);
			begin = end;
		}
	}
	leaf = walk_leaf(w, at, cause, to - begin, SURE);
	if (leaf && c->start == from)
		leaf->calls++;
}

/* On a CPU: in a call, or computing. */
static void run(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];

	for (int64_t x = from, end; x < to; x = end) {
		const struct why_call *c = call_at(t->gpu, t->gpu_cnt, x);
		uint32_t reason = WHY_GPU_CALL;
		struct why_cause cause;

		if (!c && (c = call_at(t->calls, t->calls_cnt, x)))
			reason = reason_of_call(w, c) == WHY_IMPORT ? WHY_IMPORT : WHY_KERNEL;
		if (c) {
			end = earlier(to, c->end);
			cause = cause_of_call(w, t, c, reason, x);
			in_call(w, at, &cause, c, x, end);
			continue;
		}
		end = earlier(to, earlier(next_call(t->gpu, t->gpu_cnt, x),
					  next_call(t->calls, t->calls_cnt, x)));
		compute(w, at, x, end);
	}
}

/* ---- waiting ---- */

/* The thread whose message may have ended a wait at @time: the last one that sent shortly before. */
static uint32_t sender(const struct walk *w, uint32_t thread, int64_t time,
		       const struct why_object *waits_on)
{
	const struct why_model *m = w->m;
	size_t i = why_last(m->sends, m->sends_cnt, sizeof(*m->sends), time);
	int64_t pid = m->processes[m->threads[thread].process].pid;

	for (unsigned tries = 0; i < m->sends_cnt && tries < SEND_TRIES; i--, tries++)
		/* Messages to other processes or sockets do not count. */
		if (m->sends[i].thread != thread && m->sends[i].end >= time - SEND_SLACK &&
		    why_reaches(m, m->sends[i].file, time, pid, waits_on))
			return m->sends[i].thread;
	return WHY_NONE;
}

static bool can_follow(const struct walk *w, uint32_t waker, uint32_t thread, int64_t end)
{
	return waker != WHY_NONE && waker != thread && w->m->threads[waker].switches_cnt &&
	       w->m->threads[waker].birth < end;
}

void walk_wake(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake)
{
	const struct why_thread *t = &w->m->threads[thread];
	const struct why_switch *back = i + 1 < t->switches_cnt ? &t->switches[i + 1] : NULL;
	int64_t left = t->switches[i].time;
	const struct why_object *object;

	object = why_object_of(t, call_at(t->calls, t->calls_cnt, left));
	*wake = (struct why_wake){.waker = back ? back->waker : WHY_NONE, .edge_sure = SURE};
	wake->cause = cause_of_wait(w, t, left, t->switches[i].is_on_disk, &wake->sure);
	wake->woken = !back                         ? INT64_MAX
		      : back->wakeup != WHY_NO_TIME ? later(left, back->wakeup)
						    : back->time;
	if (wake->cause.reason == WHY_BLOCKED && back && t->switches[i].is_on_disk &&
	    2 * walk_disk_ns(w, thread, WHY_BLOCKED, left, wake->woken) >= wake->woken - left) {
		wake->cause.reason = WHY_FILE;
		wake->sure = MATCHED;
	}
	if (wake->waker == WHY_NONE && back &&
	    (wake->cause.reason == WHY_SOCKET || wake->cause.reason == WHY_SOCKET_ANY ||
	     wake->cause.reason == WHY_POLL)) {
		wake->waker = sender(w, thread, wake->woken, object);
		wake->edge_sure = MATCHED;
	}
	if (wake->waker == WHY_NONE && wake->cause.reason == WHY_LOCK) {
		wake->waker = object ? object->owner : WHY_NONE;
		wake->edge_sure = MATCHED;
	}
	if (wake->waker == WHY_NONE && wake->cause.reason == WHY_GIL) {
		wake->waker = walk_gil_holder(w->m, thread, left, wake->woken);
		wake->edge_sure = MATCHED;
	}
	if (wake->cause.reason == WHY_SLEEP || !can_follow(w, wake->waker, thread, wake->woken))
		wake->waker = WHY_NONE;
}

/* [@from, @to) of the wait that begins with switch @i. */
static void wait(struct walk *w, const struct at *at, size_t i, int64_t from, int64_t to)
{
	struct why_cause cause;
	struct why_wake wake;
	struct at next = *at;
	int64_t begin, woken;

	walk_wake(w, at->thread, i, &wake);
	cause = wake.cause;
	woken = w->span ? to : later(from, earlier(wake.woken, to));
	if (wake.waker == WHY_NONE || at->depth >= DEPTH_MAX || w->span) {
		walk_disk_find(w, at->thread, cause.reason, from, woken);
		walk_leaf(w, at, &cause, woken - from, wake.sure);
		cause.reason = WHY_NO_CPU;
		walk_leaf(w, at, &cause, to - woken, wake.sure);
		return;
	}
	/* Time before the birth of the waker is not due to the waker. */
	begin = earlier(woken, later(from, w->m->threads[wake.waker].birth));
	walk_leaf(w, at, &cause, begin - from, wake.sure);
	next.sure *= wake.edge_sure;
	next.hop = walk_hop(w, at, &cause);
	next.thread = wake.waker;
	next.depth++;
	walk_at(w, next, begin, woken);
	/* Until a CPU was free again. */
	cause.reason = WHY_NO_CPU;
	walk_leaf(w, at, &cause, to - woken, wake.sure);
}

/* [@from, @to) of the piece that begins with switch @i. */
static void piece(struct walk *w, const struct at *at, size_t i, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	const struct why_switch *s = &t->switches[i];
	struct why_cause cause = {WHY_NO_CPU, PLACE_NONE, WHY_NONE, WHY_NONE};
	const struct why_sample *sample;
	const struct why_call *c;
	uint8_t flags;

	if (s->is_in) {
		run(w, at, from, to);
	} else if (s->is_preempted) {
		if ((c = call_at(t->gpu, t->gpu_cnt, from)))
			cause.place = place_of(w, why_what(w->m, c)->stack, &flags);
		if (cause.place == PLACE_NONE && (sample = sample_at(t, from))) {
			cause.place = place_of(w, sample->stack, &flags);
			/* In an import, only the program's own line is a place. */
			if (flags & PLACE_IMPORT && !w->places.list[cause.place].is_own)
				cause.place = PLACE_NONE;
		}
		walk_leaf(w, at, &cause, to - from, SURE);
	} else {
		wait(w, at, i, from, to);
	}
}

/* Without context switches: a call that may block is a wait, all else computing. */
static void guess(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];

	for (int64_t x = from, end; x < to; x = end) {
		const struct why_call *c = call_at(t->gpu, t->gpu_cnt, x);
		struct why_cause cause;

		if (!c)
			c = call_at(t->calls, t->calls_cnt, x);
		if (c) {
			end = earlier(to, c->end);
			cause = cause_of_call(w, t, c, reason_of_call(w, c), x);
			if (cause.reason == WHY_BLOCKED)
				cause.reason = WHY_KERNEL;
			walk_leaf(w, at, &cause, end - x, GUESSED);
			continue;
		}
		end = earlier(to, earlier(next_call(t->gpu, t->gpu_cnt, x),
					  next_call(t->calls, t->calls_cnt, x)));
		compute(w, at, x, end);
	}
}

static void states(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	struct why_cause unknown = {WHY_UNKNOWN, PLACE_NONE, WHY_NONE, WHY_NONE};
	struct why_cause no_cpu = {WHY_NO_CPU, PLACE_NONE, WHY_NONE, WHY_NONE};
	size_t i = why_last(t->switches, t->switches_cnt, sizeof(*t->switches), from);
	int64_t x = from;

	if (!t->switches_cnt) {
		guess(w, at, from, to);
		return;
	}
	if (i == t->switches_cnt) {
		/* Before its first switch: on the CPU if it leaves one there. */
		int64_t end = earlier(to, t->switches[0].time);

		if (!t->switches[0].is_in) {
			run(w, at, from, end);
		} else {
			/* A new thread, which waited for its first CPU. */
			int64_t ready = later(from, earlier(t->birth, end));

			walk_leaf(w, at, &unknown, ready - from, 0);
			walk_leaf(w, at, &no_cpu, end - ready, SURE);
		}
		x = end;
		i = 0;
	}
	for (; x < to && i < t->switches_cnt; i++) {
		int64_t end = i + 1 < t->switches_cnt ? earlier(to, t->switches[i + 1].time) : to;

		if (end > x)
			piece(w, at, i, x, end);
		x = later(x, end);
	}
}

/* ---- for the other files ---- */

uint32_t walk_place(struct walk *w, uint32_t stack, uint8_t *flags)
{
	return place_of(w, stack, flags);
}

void walk_states(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	states(w, at, from, to);
}

void walk_own(struct walk *w, uint32_t thread, int64_t from, int64_t to, walk_span *span, void *ctx)
{
	struct at at = {.thread = thread, .sure = SURE};

	w->span = span;
	w->span_ctx = ctx;
	states(w, &at, from, to);
	w->span = NULL;
}

int walk_open(struct walk *w, const struct why_model *m)
{
	int rc;

	memset(w, 0, sizeof(*w));
	w->m = m;
	w->io.disk = WHY_NONE;
	rc = places_open(&w->places, m->db);
	if (rc != SQLITE_OK)
		return rc;
	w->reason_of = calloc(m->names.cnt + 1, 1);
	w->object_is = calloc(m->objects.cnt + 1, 1);
	if (!w->reason_of || !w->object_is ||
	    !grow(&w->hops, w->hops_cnt, &w->hops_room, sizeof(*w->hops)))
		return SQLITE_NOMEM;
	w->hops[w->hops_cnt++] = (struct why_hop){0};
	return reason_read_functions(w);
}

void walk_cover(struct walk *w, uint32_t thread, int64_t from, int64_t to)
{
	struct at at = {.thread = thread, .sure = SURE};

	if (to > from)
		walk_at(w, at, from, to);
}

int walk_end(const struct walk *w)
{
	return w->is_short ? SQLITE_NOMEM : SQLITE_OK;
}

void walk_free(struct walk *w)
{
	places_close(&w->places);
	free(w->leaves);
	free(w->hops);
	slots_free(&w->leaf_of);
	slots_free(&w->hop_of);
	free(w->reason_of);
	free(w->object_is);
	free(w->pieces);
}
