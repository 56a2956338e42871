/*
 * gpu_lent.c - times in which a program traced the GPU itself, and CUPTI reported nothing to the shim: from when to when, and
 * how many calls. Records of several threads come in any order.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define SOURCE_SHIM  1
#define SEVERITY_WRN 2

static const char loss[] =
	"GPU work: the program's own profiler had CUPTI (calls that start work on the GPU)";

bool gpu_starts_work(const char *name)
{
	if (strstr(name, "Graph"))
		return strstr(name, "GraphLaunch") != NULL;
	if (strstr(name, "HostFunc"))
		return false;
	return strstr(name, "Launch") || strstr(name, "Memcpy") || strstr(name, "Memset");
}

/* Events in the order of their times: each begin, and the end that follows it, if any. */
bool gpu_is_lent(const struct gpu_process *p)
{
	return p->lent.cnt && !p->lent.event[p->lent.cnt - 1].is_end;
}

static void add_to(struct gpu_lent_event *list, uint32_t at, const struct gpu_lent_event *e)
{
	for (; at && list[at - 1].ns > e->ns; at--)
		list[at] = list[at - 1];
	list[at] = *e;
}

static void add_event(struct gpu_process *p, const struct gpu_lent_event *e)
{
	struct gpu_lent_graphs *g = &p->lent.graphs;

	if (grow(&g->event, g->event_cnt, &g->event_cap, sizeof(*g->event)))
		add_to(g->event, g->event_cnt++, e);
	if (grow(&p->lent.event, p->lent.cnt, &p->lent.cap, sizeof(*p->lent.event)))
		add_to(p->lent.event, p->lent.cnt++, e);
}

void gpu_lent_begin(struct gpu_process *p, int64_t ns)
{
	add_event(p, &(struct gpu_lent_event){.ns = ns});
	p->lent.has_begun = true;
}

void gpu_lent_end(struct gpu_process *p, int64_t ns, bool has_whole_graphs)
{
	add_event(p, &(struct gpu_lent_event){.ns = ns, .is_end = true});
	p->lent.graphs.is_whole |= has_whole_graphs;
	if (ns > p->lent.back_at)
		p->lent.back_at = ns;
	if (ns > p->lent.reported_all_at)
		p->has_reported_all = false;
}

void gpu_lent_call(struct gpu_process *p, const struct gpu_hook *h)
{
	if (!p->lent.cnt || h->result || !gpu_function(h->function)->starts_work ||
	    !grow(&p->lent.call, p->lent.call_cnt, &p->lent.call_cap, sizeof(*p->lent.call)))
		return;
	p->lent.call[p->lent.call_cnt++] = h->start;
}

/* The begin before @ns, unless an end is between them. */
static struct gpu_lent_event *find(struct gpu_lent_event *list, uint32_t cnt, int64_t ns)
{
	struct gpu_lent_event *e = NULL;

	for (uint32_t i = 0; i < cnt && list[i].ns <= ns; i++)
		e = &list[i];
	return e && !e->is_end ? e : NULL;
}

bool gpu_was_lent(const struct gpu_process *p, int64_t ns)
{
	return find(p->lent.graphs.event, p->lent.graphs.event_cnt, ns) != NULL;
}

/* Calls that began before @read_to, when all events are known. */
static void count_calls(struct gpu_process *p, int64_t read_to)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->lent.call_cnt; i++) {
		int64_t start = p->lent.call[i];
		struct gpu_lent_event *e =
			start <= read_to ? find(p->lent.event, p->lent.cnt, start) : NULL;

		if (e)
			e->calls++;
		else if (start > read_to)
			p->lent.call[kept++] = start;
	}
	p->lent.call_cnt = kept;
}

static void report(struct arenas *as, const struct gpu_process *p, const struct gpu_lent_event *e,
		   const struct gpu_lent_event *end)
{
	int64_t to = end ? end->ns : p->calls.last;
	char text[300];

	if (to < e->ns)
		to = e->ns;
	snprintf(text, sizeof(text),
		 "What the GPU did for process %u is missing from %.6f s to %s%.6f s, since the "
		 "program's own profiler had CUPTI: %lld calls that start work on the GPU",
		 p->id.pid, (double)e->ns / 1e9, end ? "" : "its end at ", (double)to / 1e9,
		 (long long)e->calls);
	db_diagnostic(as->db, to, SOURCE_SHIM, SEVERITY_WRN, text, p->id.global_pid);
	if (e->calls)
		db_lost(as->db, e->ns, to, p->id.global_pid, loss, e->calls);
}

void gpu_lent_settle(struct arenas *as, struct gpu_process *p, int64_t read_to, int64_t settled)
{
	struct gpu_lent_event *e = p->lent.event;
	uint32_t i = 0;

	gpu_lent_graphs_settle(as, p, read_to);
	count_calls(p, read_to);
	if (!e)
		return;
	while (i < p->lent.cnt) {
		bool has_end = i + 1 < p->lent.cnt;

		if (has_end ? e[i + 1].ns > settled : settled != INT64_MAX)
			break;
		if (!e[i].is_end)
			report(as, p, &e[i], has_end ? &e[i + 1] : NULL);
		i++;
	}
	/* An end whose begin was reported stays until the next begin: it parts calls of the two. */
	p->lent.cnt -= i;
	memmove(e, e + i, p->lent.cnt * sizeof(*e));
	if (p->lent.cnt == 1 && e->is_end && e->ns <= settled)
		p->lent.cnt = 0;
}
