/*
 * sched_window.c - begins and ends recording of switches at an exact time.
 *
 * At the request the kernel's buffers still hold earlier records. So the edge is stored, and passed when the
 * records up to its time have been delivered.
 */
#include <stdlib.h>

#include "collector/kernel/sched/sched_internal.h"

static void add_edge(struct sched *s, uint64_t ns, bool is_on)
{
	struct sched_edge *edge, **last = &s->edge.list;

	if (s->edge.is_paused == !is_on || s->is_stopped)
		return;
	edge = calloc(1, sizeof(*edge) + (is_on ? s->cpu.cnt * sizeof(edge->holders[0]) : 0));
	if (!edge)
		return; /* as it was, then */
	while (*last) {
		if ((*last)->ns > ns)
			ns = (*last)->ns;
		last = &(*last)->next;
	}
	edge->ns = ns;
	edge->is_on = is_on;
	*last = edge;
	s->edge.is_paused = !is_on;
	if (s->driver->record)
		s->driver->record(s, is_on, edge);
}

void sched_pause(struct sched *s, uint64_t ns)
{
	add_edge(s, ns, false);
}

void sched_resume(struct sched *s, uint64_t ns)
{
	add_edge(s, ns, true);
}

void sched_limit(struct sched *s, uint64_t ns)
{
	s->out.limit_ns = ns;
}

bool sched_has_told(const struct sched *s, uint64_t ns)
{
	return sched_told(s) >= ns;
}

uint64_t sched_told(const struct sched *s)
{
	return s->out.told_ns;
}

void sched_pass(struct sched *s, uint64_t ns)
{
	while (s->edge.list && s->edge.list->ns <= ns) {
		struct sched_edge *edge = s->edge.list;

		if (edge->is_on)
			track_on(s, edge);
		else
			track_off(s, edge->ns);
		s->edge.list = edge->next;
		free(edge);
	}
}

void sched_edges_free(struct sched *s)
{
	while (s->edge.list) {
		struct sched_edge *next = s->edge.list->next;

		free(s->edge.list);
		s->edge.list = next;
	}
}
