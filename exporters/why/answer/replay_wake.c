/* replay_wake.c - waits that end in an order that the program does not require. */
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/replay_internal.h"
#include "exporters/why/walk/walk_parts.h"

#define LAST_RUN 10000000 /* ns on a CPU at most of a thread that comes back only to end */

/* The call of libc that contains @time, or NULL. */
static const struct why_call *call_at(const struct why_thread *t, int64_t time)
{
	size_t i = why_last(t->calls, t->calls_cnt, sizeof(*t->calls), time);

	return i < t->calls_cnt && t->calls[i].end > time ? &t->calls[i] : NULL;
}

bool replay_is_event(const struct run *r, uint32_t thread, const struct track *k)
{
	const struct why_thread *t = &r->y->model.threads[thread];
	const struct why_call *c;

	if (k->wake.waker != WHY_NONE || k->wake.cause.reason != WHY_POLL)
		return false;
	c = call_at(t, t->switches[k->wait].time);
	return k->wake.woken == INT64_MAX || (c && why_what(&r->y->model, c)->has_result);
}

/* The known locks of the driver and of CUPTI, and locks that they take without libc. */
bool replay_is_inner(struct run *r, uint32_t thread, const struct track *k)
{
	const struct why_thread *list = r->y->model.threads, *t = &list[thread];
	const struct why_wake *w = &k->wake;
	const struct why_call *c;
	uint32_t reason;

	if (w->cause.reason != WHY_GPU_CALL || w->waker == WHY_NONE ||
	    list[w->waker].process != t->process)
		return false;
	c = call_at(t, t->switches[k->wait].time);
	reason = c ? reason_of_call(&r->y->walk, c) : WHY_LOCK;
	return reason == WHY_LOCK || reason == WHY_BLOCKED;
}

/* Does the thread begin no call after @time? */
static bool has_no_more(const struct why_call *list, size_t cnt, int64_t time)
{
	return !cnt || list[cnt - 1].start <= time;
}

bool replay_is_end(const struct run *r, uint32_t thread, const struct track *k)
{
	const struct why_model *m = &r->y->model;
	const struct why_thread *t = &m->threads[thread], *by;
	const struct why_process *p = &m->processes[t->process];
	int64_t time = k->wake.woken, ran = 0;

	if (k->wake.waker == WHY_NONE || m->threads[k->wake.waker].process != t->process ||
	    !p->traced || p->end == INT64_MAX || p->main_thread == thread)
		return false;
	by = &m->threads[k->wake.waker];
	if (!has_no_more(by->calls, by->calls_cnt, time) ||
	    !has_no_more(by->gpu, by->gpu_cnt, time) ||
	    !has_no_more(by->system, by->system_cnt, time))
		return false;
	for (size_t i = k->wait + 1; i + 1 < t->switches_cnt; i++) {
		if (t->switches[i].is_in)
			ran += t->switches[i + 1].time - t->switches[i].time;
		else if (!t->switches[i].is_preempted)
			return false;
	}
	return ran <= LAST_RUN;
}
