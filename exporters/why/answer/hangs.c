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

	if (hang.ns < WHY_HANG_LEAST)
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

/* Of a thread without switches: when its last call ended; INT64_MAX: it goes on after @time. */
static int64_t last_call(const struct why_thread *t, int64_t time)
{
	int64_t last = WHY_NO_TIME;

	for (size_t i = t->calls_cnt; i-- && t->calls[i].end == INT64_MAX;)
		last = later(last, t->calls[i].start);
	for (size_t i = t->calls_cnt; i--;)
		if (t->calls[i].end != INT64_MAX) {
			last = later(last, t->calls[i].end);
			break;
		}
	return last > time ? INT64_MAX : last;
}

/* The wait of a thread without switches, which was there at the end, or at the end of its process. */
static bool add_open(struct why_hangs *h, struct why *y, uint32_t thread, const struct why_open *o)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_process *p = &y->model.processes[t->process];
	int64_t from = later(later(t->birth, y->model.wall.start), last_call(t, o->time));

	size_t before = h->list_cnt;

	if (from > o->time || (p->end < y->model.wall.end && !p->is_killed))
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

static int by_weight(const void *a, const void *b)
{
	const struct why_hang *x = a, *y = b;

	if (!x->cycle != !y->cycle)
		return x->cycle ? -1 : 1;
	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	if (!x->cycle && x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

int why_find_hangs(struct why_hangs *h, struct why *y)
{
	if (!find(h, y))
		return SQLITE_NOMEM;
	find_cycles(h);
	if (h->list_cnt)
		qsort(h->list, h->list_cnt, sizeof(*h->list), by_weight);
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
