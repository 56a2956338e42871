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
#include "collector/base/search.h"
#include "exporters/events/big_array.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define IDLE_LEAST 50000000 /* ns without a sample: more than the time that a sample stands for */
#define SEND_SLACK 20000    /* ns between the end of a call that sends and the wake-up by it */
#define SEND_LATE  1000000 /* likewise, where only the time is known at which the thread ran again */
#define SEND_TRIES 64      /* messages looked through for the end of a wait */

/* ---- running ---- */

static void compute(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), from);

	i = i == t->samples_cnt ? 0 : i + 1;
	for (int64_t x = from, end; x < to; x = end, i++) {
		struct why_cause cause = {WHY_COMPUTE, PLACE_NONE, WHY_NONE, WHY_NONE};
		const struct why_sample *s = walk_sample_at(t, x);
		struct why_leaf *leaf;
		uint16_t flags = 0;

		end = i < t->samples_cnt ? earlier(to, t->samples[i].time) : to;
		if (end <= x) {
			end = x;
			continue;
		}
		if (s)
			cause.place = walk_place(w, s->stack, &flags);
		if (flags & PLACE_TRACER)
			cause.reason = WHY_TRACER;
		else if (flags & PLACE_IMPORT)
			cause.reason = WHY_IMPORT;
		else if (flags & PLACE_TOUCH)
			cause.reason = WHY_TOUCH;
		else if (flags & PLACE_KERNEL)
			cause.reason = WHY_KERNEL;
		w->interprets =
			cause.reason == WHY_COMPUTE && flags & (PLACE_PYTHON | PLACE_SCRIPT);
		leaf = walk_leaf(w, at, &cause, end - x, s ? SURE : GUESSED);
		w->interprets = false;
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
		const struct why_sample *s = walk_sample_at(t, x);
		uint16_t flags = 0;

		end = i < t->samples_cnt ? later(x, earlier(to, t->samples[i].time)) : to;
		if (s)
			walk_place(w, s->stack, &flags);
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
		const struct why_call *c = walk_call_at(t->gpu, t->gpu_cnt, x);
		uint32_t reason = WHY_GPU_CALL;
		struct why_cause cause;

		if (!c && (c = walk_call_at(t->calls, t->calls_cnt, x)))
			reason = reason_of_call(w, c) == WHY_IMPORT ? WHY_IMPORT : WHY_KERNEL;
		if (c) {
			end = earlier(to, c->end);
			cause = walk_cause_of_run(w, t, c, reason, x);
			in_call(w, at, &cause, c, x, end);
			continue;
		}
		end = earlier(to, earlier(walk_next_call(t->gpu, t->gpu_cnt, x),
					  walk_next_call(t->calls, t->calls_cnt, x)));
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
	int64_t slack = m->follows_calls ? SEND_LATE : SEND_SLACK;

	for (unsigned tries = 0; i < m->sends_cnt && tries < SEND_TRIES; i--, tries++)
		/* Messages to other processes or sockets do not count. */
		if (m->sends[i].thread != thread && m->sends[i].end >= time - slack &&
		    why_reaches(m, m->sends[i].file, time, pid, waits_on))
			return m->sends[i].thread;
	return WHY_NONE;
}

static bool can_follow(const struct walk *w, uint32_t waker, uint32_t thread, int64_t end)
{
	const struct why_thread *t = waker == WHY_NONE ? NULL : &w->m->threads[waker];

	return t && waker != thread && t->birth < end && walk_may_enter(w, t->process) &&
	       (w->m->follows_calls ? walk_is_known(t) : t->switches_cnt > 0);
}

void walk_wake(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake)
{
	const struct why_thread *t = &w->m->threads[thread];
	const struct why_switch *back = i + 1 < t->switches_cnt ? &t->switches[i + 1] : NULL;
	int64_t left = t->switches[i].time, until;
	const struct why_call *c = walk_call_at(t->calls, t->calls_cnt, left);
	const struct why_object *object = why_object_of(t, c);

	*wake = (struct why_wake){.waker = back ? back->waker : WHY_NONE, .edge_sure = SURE};
	wake->cause = walk_cause_of_wait(w, t, left, t->switches[i].is_on_disk, &wake->sure);
	wake->woken = !back                         ? INT64_MAX
		      : back->wakeup != WHY_NO_TIME ? later(left, back->wakeup)
						    : back->time;
	until = wake->woken;
	if (wake->cause.reason == WHY_BLOCKED && back && t->switches[i].is_on_disk &&
	    2 * walk_disk_ns(w, thread, WHY_BLOCKED, left, wake->woken) >= wake->woken - left) {
		wake->cause.reason = WHY_FILE;
		wake->sure = MATCHED;
	}
	if (w->m->follows_calls && c && back)
		walk_wake_by_call(w, thread, c, left, wake);
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
	if (wake->waker == WHY_NONE && w->m->follows_calls) {
		/* A way that leads nowhere has not ended the wait. */
		wake->woken = until;
		if (back && walk_waits_for_others(wake->cause.reason) && wake->sure > MATCHED)
			wake->sure = MATCHED;
	}
	/* Without a call's name, as in musl, or by syscall(), as in Rust: a thread of the program ended it. */
	if (wake->cause.reason == WHY_BLOCKED && wake->waker != WHY_NONE &&
	    w->m->threads[wake->waker].process == t->process)
		wake->cause.reason = WHY_QUEUE;
}

/* Is @thread among those that wait on the way to @at? */
static bool is_on_way(const struct walk *w, const struct at *at, uint32_t thread)
{
	if (at->thread == thread)
		return true;
	for (uint32_t hop = at->hop; hop; hop = w->hops[hop].parent)
		if (w->hops[hop].thread == thread)
			return true;
	return false;
}

/*
 * [@from, @to) of a wait of @at->thread that @next->thread ended; before its birth, what the thread that made it did. Where that is
 * not known, or waits itself on the way, the time is @cause's.
 */
static void follow_maker(struct walk *w, const struct at *at, const struct at *next,
			 const struct why_cause *cause, double sure, int64_t from, int64_t to)
{
	int64_t born = earlier(to, later(from, w->m->threads[next->thread].birth));
	struct at maker = *next;

	maker.depth++;
	maker.thread = born > from ? why_maker(w->m, next->thread) : WHY_NONE;
	if (maker.thread == WHY_NONE || maker.depth >= DEPTH_MAX ||
	    !walk_may_enter(w, w->m->threads[maker.thread].process) ||
	    is_on_way(w, at, maker.thread))
		walk_leaf(w, at, cause, born - from, sure);
	else
		follow_maker(w, at, &maker, cause, sure, from, born);
	walk_at(w, *next, born, to);
}

/* [@from, @woken) of a wait that the waker ended. */
static void follow(struct walk *w, const struct at *at, const struct why_wake *wake, int64_t from,
		   int64_t woken)
{
	struct at next = *at;

	next.sure *= wake->edge_sure;
	next.hop = walk_hop(w, at, &wake->cause);
	next.thread = wake->waker;
	next.depth++;
	follow_maker(w, at, &next, &wake->cause, wake->sure, from, woken);
}

/* [@from, @to) of the wait that begins with switch @i. */
static void wait(struct walk *w, const struct at *at, size_t i, int64_t from, int64_t to)
{
	struct why_cause cause;
	struct why_wake wake;
	int64_t woken;

	walk_wake(w, at->thread, i, &wake);
	if (wake.waker == WHY_NONE && !w->span)
		walk_series(w, at->thread, i, &wake);
	if (wake.is_series && is_on_way(w, at, wake.waker))
		wake.waker = WHY_NONE;
	cause = wake.cause;
	woken = w->span ? to : later(from, earlier(wake.woken, to));
	if (wake.waker == WHY_NONE || at->depth >= DEPTH_MAX || w->span) {
		walk_disk_find(w, at->thread, cause.reason, from, woken);
		walk_leaf(w, at, &cause, woken - from, wake.sure);
	} else {
		follow(w, at, &wake, from, woken);
	}
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
	uint16_t flags;

	if (s->is_in) {
		run(w, at, from, to);
	} else if (s->is_preempted) {
		if ((c = walk_call_at(t->gpu, t->gpu_cnt, from)))
			cause.place = walk_place(w, why_what(w->m, c)->stack, &flags);
		if (cause.place == PLACE_NONE && (sample = walk_sample_at(t, from))) {
			cause.place = walk_place(w, sample->stack, &flags);
			/* In an import, only the program's own line is a place. */
			if (flags & PLACE_IMPORT && !w->places.list[cause.place].is_own)
				cause.place = PLACE_NONE;
		}
		walk_leaf(w, at, &cause, to - from, SURE);
	} else {
		wait(w, at, i, from, to);
	}
}

/* Until when the state of a thread since its switch at @since is known; @until: until its next switch, @until. */
static int64_t known_until(const struct why_model *m, int64_t since, int64_t until)
{
	size_t i = search_first(k, 0, m->losses_cnt, m->losses[k].end <= since);

	return i < m->losses_cnt ? earlier(until, later(since, m->losses[i].start)) : until;
}

/* [@from, @to) of call @c, which may block, of a thread without context switches. */
static void guess_call(struct walk *w, const struct at *at, const struct why_call *c, int64_t from,
		       int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	struct why_wake wake = {.waker = WHY_NONE, .woken = c->end};
	int64_t woken;

	wake.cause = walk_cause_of_call(w, t, c, from, &wake.sure);
	if (wake.cause.reason == WHY_BLOCKED)
		wake.cause.reason = WHY_KERNEL;
	wake.sure = w->m->follows_calls && (wake.cause.reason == WHY_SLEEP ||
					    walk_waits_for_others(wake.cause.reason))
			    ? MATCHED
			    : GUESSED;
	if (w->m->follows_calls && !w->span && at->depth < DEPTH_MAX)
		walk_wake_by_call(w, at->thread, c, c->start, &wake);
	woken = later(from, earlier(wake.woken, to));
	if (can_follow(w, wake.waker, at->thread, wake.woken))
		follow(w, at, &wake, from, woken);
	else
		woken = from;
	walk_leaf(w, at, &wake.cause, to - woken, wake.sure);
}

/*
 * [@from, @to) of a thread outside of calls. A thread that computes is known by its samples: without any for long, it waits for
 * something that no record shows.
 */
static void guess_own(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	struct why_cause blocked = {WHY_BLOCKED, PLACE_NONE, WHY_NONE, WHY_NONE};
	bool are_taken = w->m->has_samples || w->m->samples.taken;
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), from);

	i = i == t->samples_cnt ? 0 : i + 1;
	for (int64_t x = from, end; x < to && are_taken && w->m->follows_calls; i++) {
		bool is_sample = i < t->samples_cnt && t->samples[i].time < to;

		end = is_sample ? t->samples[i].time : to;
		if (end - x > IDLE_LEAST) {
			compute(w, at, from, x);
			from = is_sample ? end - SAMPLE_FAR : end;
			walk_leaf(w, at, &blocked, from - x, GUESSED);
		}
		x = end;
	}
	compute(w, at, from, to);
}

/* Without context switches: a call that may block is a wait, all else computing. */
static void guess(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];

	for (int64_t x = from, end; x < to; x = end) {
		const struct why_call *c = walk_call_at(t->gpu, t->gpu_cnt, x);

		if (!c)
			c = walk_call_at(t->calls, t->calls_cnt, x);
		if (c) {
			end = earlier(to, c->end);
			guess_call(w, at, c, x, end);
			continue;
		}
		end = earlier(to, earlier(walk_next_call(t->gpu, t->gpu_cnt, x),
					  walk_next_call(t->calls, t->calls_cnt, x)));
		guess_own(w, at, x, end);
	}
}

/* A thread without any event that waits at the end: it hung before the recording began. */
static bool hung(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	const struct why_open *o = walk_open_wait(w->m, at->thread, WHY_NO_TIME);
	struct why_cause cause = {WHY_BLOCKED, PLACE_NONE, WHY_NONE, WHY_NONE};

	if (!o || t->calls_cnt || t->gpu_cnt || t->system_cnt || t->samples_cnt)
		return false;
	walk_add_open(w, &cause, o);
	walk_leaf(w, at, &cause, to - from, SURE);
	return true;
}

static void states(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	struct why_cause unknown = {WHY_UNKNOWN, PLACE_NONE, WHY_NONE, WHY_NONE};
	struct why_cause no_cpu = {WHY_NO_CPU, PLACE_NONE, WHY_NONE, WHY_NONE};
	size_t i = why_last(t->switches, t->switches_cnt, sizeof(*t->switches), from);
	int64_t x = from;

	if (!t->switches_cnt) {
		if (!hung(w, at, from, to))
			guess(w, at, from, to);
		return;
	}
	if (i == t->switches_cnt) {
		/* Before its first switch: on the CPU if it leaves one there. */
		int64_t end = earlier(to, t->switches[0].time);

		if (!t->switches[0].is_in) {
			int64_t known = later(from, known_until(w->m, WHY_NO_TIME, end));

			run(w, at, from, known);
			walk_leaf(w, at, &unknown, end - known, 0);
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
		int64_t known = later(x, known_until(w->m, t->switches[i].time, end));

		if (known > x)
			piece(w, at, i, x, known);
		walk_leaf(w, at, &unknown, end - known, 0);
		x = later(x, end);
	}
}

/* ---- for the other files ---- */

void walk_states(struct walk *w, const struct at *at, int64_t from, int64_t to)
{
	states(w, at, from, to);
}

uint32_t walk_range(const struct walk *w, uint32_t thread, int64_t time)
{
	const struct why_thread *t = &w->m->threads[thread];
	size_t i = why_last(t->ranges, t->ranges_cnt, sizeof(*t->ranges), time);

	return i == t->ranges_cnt || t->ranges[i].name == WHY_NONE ? PLACE_NONE
								   : w->range_of[t->ranges[i].name];
}

void walk_by_range(struct walk *w, const struct at *at, int64_t from, int64_t to, walk_part *part)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	size_t i = why_last(t->ranges, t->ranges_cnt, sizeof(*t->ranges), from);
	uint32_t before = w->range;

	i = i == t->ranges_cnt ? 0 : i + 1;
	for (int64_t x = from, end; x < to; x = end, i++) {
		uint32_t name = i ? t->ranges[i - 1].name : WHY_NONE;

		end = i < t->ranges_cnt ? earlier(to, t->ranges[i].time) : to;
		w->range = name == WHY_NONE ? PLACE_NONE : w->range_of[name];
		part(w, *at, x, end);
	}
	w->range = before;
}

static void own_states(struct walk *w, struct at at, int64_t from, int64_t to)
{
	states(w, &at, from, to);
}

void walk_own(struct walk *w, uint32_t thread, int64_t from, int64_t to, walk_span *span, void *ctx)
{
	struct at at = {.thread = thread, .sure = SURE};

	w->span = span;
	w->span_ctx = ctx;
	walk_by_range(w, &at, from, to, own_states);
	w->span = NULL;
}

int walk_open(struct walk *w, const struct why_model *m)
{
	int rc;

	memset(w, 0, sizeof(*w));
	w->m = m;
	w->io.disk = WHY_NONE;
	rc = places_open(&w->places, m->db);
	if (rc == SQLITE_OK)
		rc = places_read(&w->places, &m->stacks);
	if (rc != SQLITE_OK)
		return rc;
	w->reason_of = calloc(m->names.cnt + 1, 1);
	w->object_is = calloc(m->objects.cnt + 1, 1);
	w->series = calloc(m->threads_cnt + 1, sizeof(*w->series));
	w->range_of = calloc(m->range_names_cnt + 1, sizeof(*w->range_of));
	for (size_t i = 0; w->range_of && i < m->range_names_cnt; i++)
		w->range_of[i] = places_of_range(&w->places, m->range_names[i].text);
	if (!w->reason_of || !w->object_is || !w->series || !w->range_of ||
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
	return w->is_short || w->places.has_failed ? SQLITE_NOMEM : SQLITE_OK;
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
	free(w->series);
	free(w->range_of);
	big_free(w->pieces);
}
