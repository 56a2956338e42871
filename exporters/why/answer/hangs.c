/* hangs.c - the last wait of each thread, and cycles among their owners. */
#include "exporters/why/answer/hangs.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/why/answer/why.h"
#include "exporters/why/walk/walk_parts.h"

#define DEATH 50000000 /* ns on a CPU at most between a wait and the end of a killed thread */

/* The switch with which a killed thread went into its last wait; WHY_NONE: it was at work. */
static uint32_t last_wait_of_killed(const struct why_model *m, const struct why_thread *t)
{
	size_t i = t->switches_cnt;
	int64_t ran = 0;

	if (!m->processes[t->process].is_killed || !i || !t->switches[i - 1].is_end)
		return WHY_NONE;
	while (--i > 0) {
		const struct why_switch *s = &t->switches[i - 1];

		if (s->is_in)
			ran += t->switches[i].time - s->time;
		else if (!s->is_preempted && t->switches[i].time - s->time >= WHY_HANG_LEAST)
			return (uint32_t)(i - 1);
		if (ran > DEATH)
			break;
	}
	return WHY_NONE;
}

static bool add(struct why_hangs *h, struct why *y, uint32_t thread, uint32_t wait, int64_t from,
		int64_t to)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_open *o = walk_open_wait(&y->model, thread, from);
	struct why_hang hang = {
		.thread = thread, .ns = to - from, .owner = o ? o->owner : WHY_NONE};
	double sure;

	if (hang.ns < WHY_HANG_LEAST && !y->model.is_look)
		return true;
	hang.cause = (struct why_cause){WHY_BLOCKED, PLACE_NONE, WHY_NONE, WHY_NONE};
	if (wait != WHY_NONE) {
		const struct why_switch *s = &t->switches[wait];

		hang.cause = walk_cause_of_wait(&y->walk, t, s->time, s->is_on_disk, &sure);
		hang.is_killed = wait + 1 < t->switches_cnt;
	}
	walk_add_open(&y->walk, &hang.cause, o);
	if (!grow(&h->list, h->list_cnt, &h->list_room, sizeof(hang)))
		return false;
	h->list[h->list_cnt++] = hang;
	return true;
}

/*
 * Of a thread without switches: since when it has waited at the look @o; INT64_MAX: it went on afterwards. What it did after the last
 * look of all, with which the recording ended, does not count.
 */
static int64_t waits_since(const struct why_model *m, const struct why_thread *t,
			   const struct why_open *o)
{
	bool is_last = o->time == m->opens[m->opens_cnt - 1].time;
	size_t i = why_last(t->calls, t->calls_cnt, sizeof(*t->calls), o->time);
	const struct why_call *c = i < t->calls_cnt ? &t->calls[i] : NULL;
	int64_t born = later(t->birth, m->wall.start);

	if (!is_last && (c ? i + 1 < t->calls_cnt : t->calls_cnt))
		return INT64_MAX;
	if (!c)
		return born;
	if (c->end <= o->time)
		return later(born, c->end);
	return is_last || c->end == INT64_MAX ? later(born, c->start) : INT64_MAX;
}

/* The wait of a thread without switches, which was there at the end, or when its process was killed. */
static bool add_open(struct why_hangs *h, struct why *y, uint32_t thread, const struct why_open *o)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_process *p = &y->model.processes[t->process];
	int64_t from = waits_since(&y->model, t, o);
	size_t before = h->list_cnt;

	/* It ended by itself after the look. */
	if (from > o->time || (p->end != INT64_MAX && p->end > o->time && !p->is_killed))
		return true;
	if (!add(h, y, thread, WHY_NONE, from, earlier(later(o->time, y->model.wall.end), p->end)))
		return false;
	if (h->list_cnt > before)
		h->list[before].is_killed = p->is_killed;
	return true;
}

static bool find(struct why_hangs *h, struct why *y)
{
	const struct why_model *m = &y->model;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct why_thread *t = &m->threads[i];
		const struct why_switch *last =
			t->switches_cnt ? &t->switches[t->switches_cnt - 1] : NULL;
		const struct why_open *o = walk_open_wait(m, i, last ? last->time : WHY_NO_TIME);
		int64_t end = o ? later(o->time, m->wall.end) : m->wall.end;
		uint32_t killed = last_wait_of_killed(m, t);
		bool ok = true;

		if (killed != WHY_NONE)
			ok = add(h, y, i, killed, t->switches[killed].time,
				 t->switches[killed + 1].time);
		else if (last && !last->is_in && !last->is_preempted && !last->is_end &&
			 m->processes[t->process].end >= m->wall.end)
			ok = add(h, y, i, (uint32_t)t->switches_cnt - 1, last->time, end);
		else if (!last && o)
			ok = add_open(h, y, i, o);
		if (!ok)
			return false;
	}
	return true;
}

static struct why_hang *hang_of(struct why_hangs *h, uint32_t thread)
{
	for (size_t i = 0; thread != WHY_NONE && i < h->list_cnt; i++)
		if (h->list[i].thread == thread)
			return &h->list[i];
	return NULL;
}

/* Each thread waits for one owner at most: a way that comes back to its beginning is a cycle. */
static void find_cycles(struct why_hangs *h)
{
	for (size_t i = 0; i < h->list_cnt; i++) {
		struct why_hang *at = &h->list[i];
		size_t steps = 0;

		if (at->cycle)
			continue;
		do
			at = hang_of(h, at->owner);
		while (at && at != &h->list[i] && ++steps <= h->list_cnt);
		if (at != &h->list[i])
			continue;
		h->cycles++;
		do {
			at->cycle = h->cycles;
			at = hang_of(h, at->owner);
		} while (at != &h->list[i]);
	}
}

/* Threads of a process come in the order of their making, mostly: the order in which the report names them is of chance. */
static int by_tid(const void *a, const void *b, void *of)
{
	const struct why_hang *x = a, *y = b;
	const struct why_thread *threads = of;
	int64_t first = threads[x->thread].tid, second = threads[y->thread].tid;

	return (first > second) - (first < second);
}

/* Each wait counts for all the owners on its way. */
static void count_waiters(struct why_hangs *h)
{
	for (size_t i = 0; i < h->list_cnt; i++) {
		struct why_hang *at = hang_of(h, h->list[i].owner);

		for (size_t steps = 0; at && at != &h->list[i] && steps <= h->list_cnt; steps++) {
			at->waiters++;
			at = at->cycle ? NULL : hang_of(h, at->owner);
		}
	}
}

static int by_weight(const void *a, const void *b, void *of)
{
	const struct why_hang *x = a, *y = b;

	if (!x->cycle != !y->cycle)
		return x->cycle ? -1 : 1;
	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	if (!x->cycle && x->waiters != y->waiters)
		return x->waiters < y->waiters ? 1 : -1;
	if (!x->cycle && x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return by_tid(a, b, of);
}

int why_find_hangs(struct why_hangs *h, struct why *y)
{
	if (!find(h, y))
		return SQLITE_NOMEM;
	/* An empty list is NULL. */
	if (h->list_cnt) {
		qsort_r(h->list, h->list_cnt, sizeof(*h->list), by_tid, y->model.threads);
		find_cycles(h);
		count_waiters(h);
		qsort_r(h->list, h->list_cnt, sizeof(*h->list), by_weight, y->model.threads);
	}
	return walk_end(&y->walk);
}

bool why_hangs_at(const struct why_hangs *h, uint32_t thread, const struct why_cause *cause)
{
	for (size_t i = 0; i < h->list_cnt; i++)
		if (h->list[i].thread == thread && h->list[i].cause.place == cause->place &&
		    (cause->place != PLACE_NONE || h->list[i].cause.name == cause->name))
			return true;
	return false;
}

void why_hangs_free(struct why_hangs *h)
{
	free(h->list);
}
