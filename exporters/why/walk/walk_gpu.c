/* walk_gpu.c - the walk where a thread waits for a GPU: the time of the wait belongs to the work of the GPU. */
#include <stdlib.h>

#include "exporters/why/model/gpu_sweep.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

struct why_cause walk_cause_of_op(struct walk *w, const struct why_op *o)
{
	const struct why_model *m = w->m;
	struct why_cause cause = {why_computes(m, o) ? WHY_GPU : WHY_GPU_COPY, PLACE_NONE,
				  why_kind(m, o)->name, WHY_NONE};
	const struct why_launch *l;
	const struct why_what *what;
	uint16_t flags;

	if (o->launch == WHY_NONE)
		return cause;
	l = &m->launches[o->launch];
	what = why_what(m, why_launch_call(m, l));
	if (cause.name == WHY_NONE)
		cause.name = what->name;
	/* The stack may be recorded with the library's call. */
	if (what->stack == WHY_NONE)
		what = why_what(m, &m->threads[l->thread].gpu[l->call]);
	cause.place = walk_place(w, what->stack, &flags);
	if (cause.place == PLACE_NONE)
		cause.place = walk_range(w, l->thread, why_launch_call(m, l)->start);
	return cause;
}

/* A copy that was over before its call came back: the call waited for it. */
static bool waits_for_copy(const struct why_model *m, uint32_t process, const struct why_call *c)
{
	uint32_t launch = c->correlation ? why_find_launch(m, process, c->correlation) : WHY_NONE;

	return launch != WHY_NONE && m->launches[launch].over == LAUNCH_IS_OVER;
}

/*
 * From when on a call waits for GPU work that could have gone on beside the thread: after the call, the GPU is idle until the
 * thread launches its next operation. The last part of the wait, as long as that idle time, was not needed. INT64_MAX: never, as
 * the GPU goes on, as no operation follows, or as the last operation was a copy to the host, whose result the thread may need.
 */
static int64_t needless_from(const struct why_model *m, uint32_t process, const struct why_call *c)
{
	const struct why_op *o, *last = NULL;
	struct gpu_sweep s;
	int64_t until, rest;

	gpu_sweep_begin(&s, m, process, WHY_NONE, c->start);
	for (int64_t x = c->start; x < c->end; x = until) {
		o = gpu_sweep_at(&s, x, &until);
		if (o && until > c->end + WALK_CLOCKS)
			return INT64_MAX;
		last = o ? o : last;
	}
	o = gpu_sweep_at(&s, c->end, &until);
	if ((o && until > c->end + WALK_CLOCKS) || !last || !gpu_sweep_next(&s) ||
	    why_kind(m, last)->work == WORK_TO_HOST ||
	    (s.copy && why_kind(m, s.copy)->work == WORK_TO_HOST && s.copy->end > c->start))
		return INT64_MAX;
	rest = gpu_sweep_next(&s)->start - c->end;
	return later(c->start, last->end - rest);
}

/* When the thread last waited for the GPU before this call. */
static int64_t last_wait(struct walk *w, const struct why_thread *t, const struct why_call *c)
{
	while (c-- > t->gpu)
		if (reason_is_gpu_wait(w, c))
			return c->end;
	return t->birth;
}

/* @until, or the first of the times between it and @time. */
static int64_t cut(int64_t time, int64_t until, const int64_t at[3])
{
	for (unsigned i = 0; i < 3; i++)
		if (at[i] > time)
			until = earlier(until, at[i]);
	return until;
}

/* [@from, @to) inside of a call that waits for the GPU: GPU work while there is any, else the thread's states. */
static void gpu_wait(struct walk *w, const struct at *at, const struct why_call *c, int64_t from,
		     int64_t to)
{
	const struct why_thread *t = &w->m->threads[at->thread];
	const struct why_what *what = why_what(w->m, c);
	int64_t edge[3] = {needless_from(w->m, t->process, c), INT64_MAX, INT64_MIN}, until, begun;
	struct gpu_sweep s;
	uint16_t flags;

	edge[1] = walk_uneven_from(w->m, t->process, last_wait(w, t, c), c->end, &edge[2]);
	gpu_sweep_begin(&s, w->m, t->process, WHY_NONE, from);
	for (int64_t x = from; x < to; x = until) {
		const struct why_op *o = gpu_sweep_at(&s, x, &until);
		struct why_cause cause = {
			.reason = WHY_GPU_SYNC, .name = what->name, .object = WHY_NONE};

		until = earlier(until, to);
		if (!o) {
			walk_states(w, at, x, until);
			continue;
		}
		begun = walk_late_rank(w, at, o, x, until);
		if (begun > x) {
			until = begun;
			continue;
		}
		until = cut(x, until, edge);
		if (x >= edge[0]) {
			cause.place = walk_place(w, what->stack, &flags);
		} else {
			cause = walk_cause_of_op(w, o);
			if (cause.reason == WHY_GPU && x >= edge[1] && x < edge[2])
				cause.reason = WHY_GPU_UNEVEN;
		}
		walk_leaf(w, at, &cause, until - x, SURE);
	}
}

static void at_calls(struct walk *w, struct at at, int64_t from, int64_t to)
{
	const struct why_thread *t = &w->m->threads[at.thread];
	size_t i = why_last(t->gpu, t->gpu_cnt, sizeof(*t->gpu), from);
	int64_t x = from;

	for (i = i == t->gpu_cnt ? 0 : i; x < to && i < t->gpu_cnt && t->gpu[i].start < to; i++) {
		const struct why_call *c = &t->gpu[i];
		int64_t begin = later(c->start, x), end = earlier(c->end, to);

		if (end <= begin ||
		    (!reason_is_gpu_wait(w, c) &&
		     (!reason_is_gpu_copy(w, c) || !waits_for_copy(w->m, t->process, c))))
			continue;
		if (begin > x)
			walk_states(w, &at, x, begin);
		gpu_wait(w, &at, c, begin, end);
		x = end;
	}
	if (x < to)
		walk_states(w, &at, x, to);
}

void walk_at(struct walk *w, struct at at, int64_t from, int64_t to)
{
	walk_by_range(w, &at, from, to, at_calls);
}
