/*
 * walk_calls.c - the thread that ended a wait, by what calls say, in reports without wakers: the thread that was joined, the child
 * whose end was returned, the last thread to have the lock, to post the semaphore, to signal the condition, to write at the other
 * end. A join and a child are known; all others are the likely ones.
 */
#include "collector/base/search.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define READ_SLACK 5000000 /* ns between a poll and the call that reads what it waited for */
#define END_SLACK \
	10000000 /* ns between the end of a wait for a process, or for its end of a pipe, and the end of the process */

bool walk_waits_for_others(uint32_t reason)
{
	return (reason >= WHY_SOCKET && reason <= WHY_SIGNAL && reason != WHY_SLEEP) ||
	       reason == WHY_BLOCKED || reason == WHY_GIL;
}

/* When the thread was last seen. */
static int64_t end_of(const struct why_thread *t)
{
	int64_t end = WHY_NO_TIME;

	if (t->switches_cnt)
		return t->switches[t->switches_cnt - 1].is_end
			       ? t->switches[t->switches_cnt - 1].time
			       : INT64_MAX;
	if (t->calls_cnt)
		end = t->calls[t->calls_cnt - 1].end;
	if (t->samples_cnt)
		end = later(end, t->samples[t->samples_cnt - 1].time);
	return end;
}

bool walk_is_known(const struct why_thread *t)
{
	return t->switches_cnt || t->calls_cnt || t->samples_cnt || t->gpu_cnt;
}

static void found(struct why_wake *wake, uint32_t waker, double sure, int64_t from, int64_t time)
{
	wake->waker = waker;
	wake->edge_sure = sure;
	wake->woken = later(from, earlier(wake->woken, time));
}

static void by_use(struct why_wake *wake, const struct why_use *u, int64_t from)
{
	if (u)
		found(wake, u->thread, MATCHED, from, u->start);
}

/* ---- threads and processes that end ---- */

static void by_join(const struct why_model *m, uint32_t thread, const struct why_object *o,
		    int64_t from, struct why_wake *wake)
{
	int64_t last = from;
	uint32_t best = WHY_NONE;

	if (o && o->owner != WHY_NONE) {
		found(wake, o->owner, SURE, from, end_of(&m->threads[o->owner]));
		return;
	}
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct why_thread *t = &m->threads[i];

		if (i == thread || t->process != m->threads[thread].process || end_of(t) <= last ||
		    end_of(t) > wake->woken)
			continue;
		last = end_of(t);
		best = i;
	}
	if (best != WHY_NONE)
		found(wake, best, MATCHED, from, last);
}

/* The process of those that @thread may wait for that ended last; WHY_NONE: none ended in the wait. */
static uint32_t last_to_end(const struct why_model *m, uint32_t thread, bool is_child, int64_t from,
			    int64_t to)
{
	const struct why_process *own = &m->processes[m->threads[thread].process];
	uint32_t best = WHY_NONE;
	int64_t last = from;

	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		const struct why_process *p = &m->processes[i];

		if (p == own || p->main_thread == WHY_NONE || p->end <= last ||
		    p->end - END_SLACK > to || (is_child && p->parent != own->pid))
			continue;
		last = p->end;
		best = i;
	}
	return best;
}

static void by_child(const struct why_model *m, uint32_t thread, const struct why_object *o,
		     int64_t from, struct why_wake *wake)
{
	uint32_t process = WHY_NONE;

	if (o && o->owner != WHY_NONE)
		process = m->threads[o->owner].process;
	else
		process = last_to_end(m, thread, true, from, wake->woken);
	if (process != WHY_NONE)
		found(wake, m->processes[process].main_thread,
		      o && o->owner != WHY_NONE ? SURE : MATCHED, from, m->processes[process].end);
}

/* ---- locks and signals ---- */

/* The thread that took the lock last while this one waited for it, else the owner at the beginning. */
static void by_lock(const struct why_model *m, uint32_t thread, const struct why_object *o,
		    int64_t from, struct why_wake *wake)
{
	uint64_t key = why_lock_key(m->threads[thread].process, o->object);
	const struct why_use *u =
		o->is_lock ? NULL : why_last_use(m, key, DOES_TAKE, thread, from, wake->woken);

	if (o->is_lock)
		by_use(wake, why_last_use(m, key, DOES_SIGNAL, thread, from, wake->woken), from);
	else if (u && u->end < wake->woken)
		found(wake, u->thread, MATCHED, from, wake->woken);
	else if (o->owner != WHY_NONE)
		found(wake, o->owner, MATCHED, from, wake->woken);
}

static void by_signal(const struct why_model *m, uint32_t thread, const struct why_object *o,
		      int64_t from, struct why_wake *wake)
{
	const struct why_use *u =
		why_last_use(m, why_lock_key(m->threads[thread].process, o->object), DOES_SIGNAL,
			     thread, from, wake->woken);

	if (!u)
		u = why_last_use(m, why_lock_key(WHY_NONE, o->object), DOES_SIGNAL, thread, from,
				 wake->woken);
	by_use(wake, u && u->start >= from ? u : NULL, from);
}

/* ---- pipes and sockets ---- */

static uint32_t does_of(const struct why_model *m, const struct why_call *c)
{
	return m->does[why_what(m, c)->name];
}

/* @does: of the call that may have ended the wait. A pipe of which nothing came has lost its last writer. */
static void by_pipe(const struct why_model *m, uint32_t thread, const struct why_call *c,
		    uint32_t does, int64_t from, struct why_wake *wake)
{
	const struct why_what *what = why_what(m, c);
	const struct why_use *u;
	uint32_t process;

	u = why_last_use(m, why_pipe_key(what->object), does, thread, from, wake->woken);
	if (u || what->has_result) {
		by_use(wake, u, from);
		return;
	}
	process = last_to_end(m, thread, true, from, wake->woken);
	if (process == WHY_NONE)
		process = last_to_end(m, thread, false, from, wake->woken);
	if (process != WHY_NONE)
		found(wake, m->processes[process].main_thread, MATCHED, from,
		      m->processes[process].end);
}

static void by_socket(const struct why_model *m, uint32_t thread, const struct why_object *o,
		      uint32_t does, int64_t from, struct why_wake *wake)
{
	size_t i = search_first(k, 0, m->ends_cnt, m->ends[k].file < o->object);
	const struct why_use *last = NULL;

	for (; i < m->ends_cnt && m->ends[i].file == o->object; i++) {
		const struct why_use *u = why_last_use(m, why_file_key(m->ends[i].other), does,
						       thread, from, wake->woken);

		if (u && (!last || u->start > last->start))
			last = u;
	}
	by_use(wake, last, from);
}

/* Of a call on a pipe, a socket, or an eventfd, which is its own other end. */
static void by_end(struct walk *w, uint32_t thread, const struct why_call *c, uint32_t reason,
		   int64_t from, struct why_wake *wake)
{
	const struct why_model *m = w->m;
	const struct why_object *o = why_object_of(&m->threads[thread], c);
	uint32_t does = does_of(m, c) == DOES_SEND ? DOES_RECEIVE : DOES_SEND;

	if (reason == WHY_PIPE && why_what(m, c)->object != WHY_NONE)
		by_pipe(m, thread, c, does, from, wake);
	else if (o && reason == WHY_POLL)
		by_use(wake,
		       why_last_use(m, why_file_key(o->object), does, thread, from, wake->woken),
		       from);
	else if (o)
		by_socket(m, thread, o, does, from, wake);
}

/* A poll waited for what the thread reads next. */
static void by_poll(struct walk *w, uint32_t thread, const struct why_call *c, int64_t from,
		    struct why_wake *wake)
{
	const struct why_thread *t = &w->m->threads[thread];
	const struct why_call *next = c + 1;
	uint32_t reason;

	if (does_of(w->m, c) == DOES_RECEIVE) {
		by_end(w, thread, c, WHY_POLL, from, wake);
		return;
	}
	if (!why_what(w->m, c)->has_result || next >= t->calls + t->calls_cnt ||
	    next->start - c->end > READ_SLACK || does_of(w->m, next) == DOES_SEND)
		return;
	reason = reason_of_call(w, next);
	if (reason == WHY_PIPE || reason == WHY_SOCKET || reason == WHY_SOCKET_ANY ||
	    reason == WHY_POLL)
		by_end(w, thread, next, reason, from, wake);
}

void walk_wake_by_call(struct walk *w, uint32_t thread, const struct why_call *c, int64_t from,
		       struct why_wake *wake)
{
	const struct why_object *o = why_object_of(&w->m->threads[thread], c);

	switch (wake->cause.reason) {
	case WHY_JOIN:
		by_join(w->m, thread, o, from, wake);
		break;
	case WHY_CHILD:
		by_child(w->m, thread, o, from, wake);
		break;
	case WHY_LOCK:
		if (o)
			by_lock(w->m, thread, o, from, wake);
		break;
	case WHY_QUEUE:
		if (o)
			by_signal(w->m, thread, o, from, wake);
		break;
	case WHY_PIPE:
	case WHY_SOCKET:
	case WHY_SOCKET_ANY:
		by_end(w, thread, c, wake->cause.reason, from, wake);
		break;
	case WHY_POLL:
		by_poll(w, thread, c, from, wake);
		break;
	case WHY_SIGNAL:
		by_use(wake,
		       why_last_use(w->m, why_signal_key(), DOES_SIGNAL, thread, from, wake->woken),
		       from);
		break;
	default:
		break;
	}
}
