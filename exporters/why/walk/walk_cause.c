/*
 * walk_cause.c - the reason and the place of what a thread does: of a call on a CPU, of a wait. A wait has only a stack of that
 * wait: of its call, of a sample in its call, or of the instant at which the thread left the CPU.
 */
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define FAULT_RUN 1000000 /* ns on a CPU at most between a wait for a page and its fault */

uint32_t walk_place(struct walk *w, uint32_t stack, uint16_t *flags)
{
	*flags = 0;
	return stack == WHY_NONE ? PLACE_NONE
				 : places_of(&w->places, stack, w->m->stacks.ids[stack], flags);
}

const struct why_call *walk_call_at(const struct why_call *list, size_t cnt, int64_t time)
{
	size_t i = why_last(list, cnt, sizeof(*list), time);

	return i < cnt && list[i].end > time ? &list[i] : NULL;
}

int64_t walk_next_call(const struct why_call *list, size_t cnt, int64_t time)
{
	size_t i = why_last(list, cnt, sizeof(*list), time);

	i = i == cnt ? 0 : i + 1;
	return i < cnt ? list[i].start : INT64_MAX;
}

/* The samples before and after @time that are near; NULL: none is. */
static void samples_around(const struct why_thread *t, int64_t time,
			   const struct why_sample *around[2])
{
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), time);
	size_t next = i == t->samples_cnt ? 0 : i + 1;

	around[0] = i < t->samples_cnt && time - t->samples[i].time < SAMPLE_FAR ? &t->samples[i]
										 : NULL;
	around[1] = next < t->samples_cnt && t->samples[next].time - time < SAMPLE_FAR
			    ? &t->samples[next]
			    : NULL;
}

const struct why_sample *walk_sample_at(const struct why_thread *t, int64_t time)
{
	const struct why_sample *around[2];

	samples_around(t, time, around);
	return around[1] ? around[1] : around[0];
}

/* The first sample within [@from, @to); NULL: none. */
static const struct why_sample *sample_within(const struct why_thread *t, int64_t from, int64_t to)
{
	size_t i = why_last(t->samples, t->samples_cnt, sizeof(*t->samples), from - 1);

	i = i == t->samples_cnt ? 0 : i + 1;
	return i < t->samples_cnt && t->samples[i].time < to ? &t->samples[i] : NULL;
}

/* The stack with which the thread left the CPU at @time; NULL: not recorded. */
static const struct why_sample *off_at(const struct why_thread *t, int64_t time)
{
	size_t i = why_last(t->offs, t->offs_cnt, sizeof(*t->offs), time);

	return i < t->offs_cnt && t->offs[i].time == time ? &t->offs[i] : NULL;
}

/* CPython waits on a condition with a time limit for the GIL, and for nothing else. */
static bool is_for_gil(struct walk *w, const struct why_call *c, uint16_t flags)
{
	return flags & PLACE_GIL || (flags & PLACE_PYTHON && reason_is_timed_condition(w, c));
}

/* @reason, unless @flags of the call's stack, or its object, say more. */
static uint32_t refine(struct walk *w, const struct why_thread *t, const struct why_call *c,
		       uint32_t reason, uint16_t flags)
{
	const struct why_object *object;

	if (flags & PLACE_IMPORT)
		return WHY_IMPORT;
	if (reason == WHY_QUEUE && is_for_gil(w, c, flags))
		return WHY_GIL;
	if (reason == WHY_POLL && flags & PLACE_SLEEP)
		return WHY_SLEEP;
	/* A JVM parks its threads in a condition for all of this. */
	if (reason == WHY_QUEUE && flags & PLACE_NAP)
		return WHY_SLEEP;
	if (reason == WHY_QUEUE && flags & PLACE_MONITOR)
		return WHY_LOCK;
	if (reason == WHY_QUEUE && (object = why_object_of(t, c)) && object->is_lock)
		return WHY_LOCK;
	if (reason == WHY_SOCKET && (object = why_object_of(t, c)) &&
	    why_has_end(w->m, object->object))
		return WHY_SOCKET_ANY;
	return reason;
}

struct why_cause walk_cause_of_run(struct walk *w, const struct why_thread *t,
				   const struct why_call *c, uint32_t reason, int64_t time)
{
	const struct why_what *what = why_what(w->m, c);
	struct why_cause cause = {.name = what->name, .object = what->object};
	const struct why_sample *s;
	uint16_t flags, more = 0;

	cause.place = walk_place(w, what->stack, &flags);
	if (cause.place == PLACE_NONE && (s = walk_sample_at(t, time)))
		cause.place = walk_place(w, s->stack, &more);
	cause.reason = refine(w, t, c, reason, flags | (more & PLACE_IMPORT));
	return cause;
}

/* Do both samples around @time import? Then so does the thread between them. */
static bool is_among_imports(struct walk *w, const struct why_thread *t, int64_t time)
{
	const struct why_sample *around[2];
	uint16_t before = 0, after = 0;

	samples_around(t, time, around);
	if (!around[0] || !around[1])
		return false;
	walk_place(w, around[0]->stack, &before);
	walk_place(w, around[1]->stack, &after);
	return before & after & PLACE_IMPORT;
}

/* Its own stack, else that of a sample in it, else that with which the thread left the CPU in it at @time. */
static uint32_t place_of_call(struct walk *w, const struct why_thread *t, const struct why_call *c,
			      int64_t time, uint16_t *flags)
{
	uint32_t place = walk_place(w, why_what(w->m, c)->stack, flags);
	const struct why_sample *s = place == PLACE_NONE ? off_at(t, time) : NULL;
	uint16_t more = 0;

	if (place == PLACE_NONE && !s)
		s = sample_within(t, c->start, c->end);
	if (s)
		place = walk_place(w, s->stack, &more);
	*flags |= more;
	return place;
}

struct why_cause walk_cause_of_call(struct walk *w, const struct why_thread *t,
				    const struct why_call *c, int64_t time, double *sure)
{
	const struct why_what *what = why_what(w->m, c);
	struct why_cause cause = {.name = what->name, .object = what->object};
	uint16_t flags;

	cause.place = place_of_call(w, t, c, time, &flags);
	cause.reason = refine(w, t, c, reason_of_call(w, c), flags);
	*sure = cause.reason == WHY_BLOCKED ? GUESSED : SURE;
	if (cause.reason == WHY_FILE && cause.place == PLACE_NONE && is_among_imports(w, t, time)) {
		cause.reason = WHY_IMPORT;
		*sure = MATCHED;
	}
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

const struct why_open *walk_open_wait(const struct why_model *m, uint32_t thread, int64_t from)
{
	for (size_t i = m->opens_cnt; i--;)
		if (m->opens[i].thread == thread)
			return m->opens[i].time >= from ? &m->opens[i] : NULL;
	return NULL;
}

void walk_add_open(struct walk *w, struct why_cause *cause, const struct why_open *o)
{
	uint16_t flags = 0;

	if (!o)
		return;
	if (cause->place == PLACE_NONE)
		cause->place = walk_place(w, o->stack, &flags);
	if (cause->name == WHY_NONE) {
		cause->name = o->name;
		cause->object = o->object;
	}
	if (cause->reason != WHY_BLOCKED && cause->reason != WHY_QUEUE)
		return;
	if (o->is_gil || flags & PLACE_GIL)
		cause->reason = WHY_GIL;
	else if (o->is_lock)
		cause->reason = WHY_LOCK;
	else if (o->owner != WHY_NONE && o->owner != o->thread &&
		 w->m->threads[o->owner].process == w->m->threads[o->thread].process)
		cause->reason = WHY_JOIN;
	else if (cause->reason == WHY_BLOCKED)
		cause->reason = reason_of_name(w, o->name, o->object);
}

/* Is @time the beginning of the last wait, which did not end? */
static bool is_open(const struct why_thread *t, int64_t time)
{
	const struct why_switch *last = t->switches_cnt ? &t->switches[t->switches_cnt - 1] : NULL;

	return last && last->time == time && !last->is_in && !last->is_end;
}

static struct why_cause cause_of_wait(struct walk *w, const struct why_thread *t, int64_t time,
				      bool is_on_disk, double *sure)
{
	struct why_cause cause = {WHY_BLOCKED, PLACE_NONE, WHY_NONE, WHY_NONE};
	const struct why_call *c = walk_call_at(t->gpu, t->gpu_cnt, time);
	const struct why_fault *f;
	const struct why_sample *s;
	uint16_t flags;

	if (!c)
		c = walk_call_at(t->calls, t->calls_cnt, time);
	if (!c)
		c = walk_call_at(t->system, t->system_cnt, time);
	if (c)
		return walk_cause_of_call(w, t, c, time, sure);
	f = fault_at(t, time);
	if (f) {
		*sure = SURE;
		cause.reason = WHY_PAGE_IN;
		cause.place = walk_place(w, f->stack, &flags);
		cause.object = f->object;
		return cause;
	}
	*sure = GUESSED;
	s = off_at(t, time);
	if (s)
		cause.place = walk_place(w, s->stack, &flags);
	/* Outside of any call, only the memory itself makes a thread wait for a device. */
	if (is_on_disk && t->calls_cnt)
		cause.reason = WHY_PAGE_IN;
	return cause;
}

struct why_cause walk_cause_of_wait(struct walk *w, const struct why_thread *t, int64_t time,
				    bool is_on_disk, double *sure)
{
	struct why_cause cause = cause_of_wait(w, t, time, is_on_disk, sure);

	uint32_t reason = cause.reason;

	if (is_open(t, time))
		walk_add_open(w, &cause, walk_open_wait(w->m, (uint32_t)(t - w->m->threads), time));
	if (cause.reason != reason)
		*sure = SURE;
	return cause;
}
