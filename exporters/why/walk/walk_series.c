/*
 * walk_series.c - waits with a time limit in a loop, as of Event.wait(0.01), a queue's get(timeout=5), epoll_wait() of 10 ms: a thread
 * that looks again and again waits for what it finds at last. All of these waits are one.
 */
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define LATE   1000000 /* ns on a CPU: until the next look; or until a thread is done */
#define NEARLY 20      /* waits that differ by less than a 20th are as long */
/* Of the wait before: a thread that is busy for longer between two looks has more to do than to look. */
#define BESIDE 4

/* The call in which a thread left the CPU at @time. */
static const struct why_call *call_at(const struct why_thread *t, int64_t time)
{
	const struct why_call *c = walk_call_at(t->calls, t->calls_cnt, time);

	return c ? c : walk_call_at(t->system, t->system_cnt, time);
}

/* Did no thread end the wait, but its time limit? A poll returns 0 then, a wait for a condition or a semaphore an error. */
static bool is_over_by_limit(const struct walk *w, uint32_t thread, size_t i,
			     const struct why_wake *wake)
{
	const struct why_thread *t = &w->m->threads[thread];
	const struct why_call *c;
	bool is_poll = wake->cause.reason == WHY_POLL;

	if (wake->waker != WHY_NONE || wake->woken == INT64_MAX ||
	    (!is_poll && wake->cause.reason != WHY_QUEUE && wake->cause.reason != WHY_LOCK))
		return false;
	c = call_at(t, t->switches[i].time);
	return c && (bool)why_what(w->m, c)->has_result != is_poll;
}

static bool is_same(const struct why_cause *a, const struct why_cause *b)
{
	return a->reason == b->reason && a->name == b->name && a->place == b->place;
}

/* The next wait at the same place, its end in @wake; @i itself: the thread did something else before. */
static size_t next_look(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake)
{
	const struct why_thread *t = &w->m->threads[thread];
	const struct why_cause cause = wake->cause;
	int64_t left = (t->switches[i + 1].time - t->switches[i].time) / BESIDE;

	for (size_t k = i + 1; k + 1 < t->switches_cnt && left >= 0; k++) {
		const struct why_switch *s = &t->switches[k];

		if (!s->is_in && s->is_preempted)
			continue;
		if (!s->is_in) {
			walk_wake(w, thread, k, wake);
			if (is_same(&wake->cause, &cause))
				return k;
		}
		/* Others may keep a lock for as long as they want. */
		if (s->is_in || (wake->cause.reason != WHY_GIL && wake->cause.reason != WHY_LOCK))
			left -= t->switches[k + 1].time - s->time;
	}
	return i;
}

/*
 * Is the thread on a CPU within [@from, @to), and done then: it begins to wait, or ends? @slack: with so much more time on a CPU. A
 * thread that others take the CPU from is not done.
 */
static bool is_done_in(const struct why_thread *t, int64_t from, int64_t to, int64_t slack)
{
	size_t i = why_last(t->switches, t->switches_cnt, sizeof(*t->switches), from);
	bool ran = false;

	for (i = i == t->switches_cnt ? 0 : i; i + 1 < t->switches_cnt && slack >= 0; i++) {
		const struct why_switch *s = &t->switches[i], *next = s + 1;

		if (!s->is_in)
			continue;
		ran |= s->time < to;
		slack -= later(0, next->time - later(s->time, to));
		if (ran && slack >= 0 && !next->is_preempted)
			return true;
	}
	return false;
}

/*
 * The loop ended as what was looked for came while the thread had no CPU: a look found it without a wait for it. The only thread
 * of its process that had done its work since the last look began, and not in the look before; WHY_NONE: none had, or more.
 */
static uint32_t done_since(const struct why_model *m, uint32_t thread, size_t before, size_t last)
{
	const struct why_thread *t = &m->threads[thread];
	int64_t from = t->switches[last].time, to = t->switches[last + 1].time + LATE;
	uint32_t found = WHY_NONE;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct why_thread *by = &m->threads[i];

		if (by->process != t->process || !is_done_in(by, from, to, LATE) ||
		    is_done_in(by, t->switches[before].time, from, 0))
			continue;
		if (found != WHY_NONE)
			return WHY_NONE;
		found = i;
	}
	return found;
}

/* The waits from switch @i on that are one with it. */
static struct why_series find_series(struct walk *w, uint32_t thread, size_t i,
				     struct why_wake last)
{
	const struct why_thread *t = &w->m->threads[thread];
	struct why_series s = {.first = i, .last = i, .waker = WHY_NONE};
	size_t before = i;
	int64_t limit = 0;

	while (is_over_by_limit(w, thread, s.last, &last)) {
		size_t next;

		limit = last.woken - t->switches[s.last].time;
		next = next_look(w, thread, s.last, &last);
		if (next == s.last) {
			if (before < s.last)
				s.waker = done_since(w->m, thread, before, s.last);
			s.last++;
			s.is_found = true;
			return s;
		}
		before = s.last;
		s.last = next;
	}
	s.waker = last.waker;
	/* Its time was up, and before it had a CPU again there was something. */
	if (s.waker == WHY_NONE && last.woken != INT64_MAX &&
	    last.woken - t->switches[s.last].time >= limit - limit / NEARLY) {
		s.waker = done_since(w->m, thread, before, s.last);
		s.last++;
		s.is_found = true;
	}
	return s;
}

void walk_series(struct walk *w, uint32_t thread, size_t i, struct why_wake *wake)
{
	struct why_series *s = &w->series[thread];
	bool is_over = is_over_by_limit(w, thread, i, wake);

	if (is_over && (i < s->first || i >= s->last))
		*s = find_series(w, thread, i, *wake);
	wake->is_last = s->is_found && i >= s->first && i + 1 == s->last;
	if (s->waker == WHY_NONE || (!is_over && !wake->is_last))
		return;
	wake->waker = s->waker;
	wake->edge_sure = MATCHED;
	wake->is_series = true;
}
