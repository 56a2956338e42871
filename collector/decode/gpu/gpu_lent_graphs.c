/*
 * gpu_lent_graphs.c - graphs that were instantiated while CUPTI was lent: it never reports them as wholes (user's guide,
 * "Late attach limitations"), so their launches afterwards are counted.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define LATE_MAX 4096u /* more graphs than that are not known */

static const char loss[] =
	"GPU work: graphs that were instantiated while the program's own profiler had CUPTI";

struct gpu_graph_call {
	int64_t start;
	uint64_t graph;
	bool is_launch;
};

enum gpu_of_graph gpu_graph_function(const char *name)
{
	if (strstr(name, "GraphInstantiate"))
		return GPU_GRAPH_INSTANTIATED;
	return strstr(name, "GraphLaunch") ? GPU_GRAPH_LAUNCHED : GPU_OF_NO_GRAPH;
}

/* The first word of both is the instance. */
void gpu_lent_graph(struct gpu_process *p, const struct gpu_hook *h)
{
	uint8_t what = gpu_function(h->function)->of_graph;
	struct gpu_lent_graphs *g = &p->lent.graphs;

	if (!what || !p->lent.has_begun || h->result || !h->words ||
	    !grow(&g->call, g->call_cnt, &g->call_cap, sizeof(*g->call)))
		return;
	g->call[g->call_cnt++] = (struct gpu_graph_call){
		.start = h->start, .graph = h->word[0], .is_launch = what == GPU_GRAPH_LAUNCHED};
}

static size_t find(const struct gpu_lent_graphs *g, uint64_t graph)
{
	size_t i = 0;

	while (i < g->late_cnt && g->late[i] != graph)
		i++;
	return i;
}

/* A handle can be that of an earlier graph. */
static void instantiated(struct gpu_process *p, const struct gpu_graph_call *c)
{
	struct gpu_lent_graphs *g = &p->lent.graphs;
	size_t at = find(g, c->graph);

	if (at < g->late_cnt)
		g->late[at] = g->late[--g->late_cnt];
	if (!gpu_was_lent(p, c->start) || g->late_cnt == LATE_MAX ||
	    !grow(&g->late, g->late_cnt, &g->late_cap, sizeof(*g->late)))
		return;
	g->late[g->late_cnt++] = c->graph;
}

static bool is_lost(const struct gpu_process *p, const struct gpu_graph_call *c)
{
	const struct gpu_lent_graphs *g = &p->lent.graphs;

	return g->is_whole && find(g, c->graph) < g->late_cnt && !gpu_was_lent(p, c->start);
}

static int compare(const void *x, const void *y)
{
	const struct gpu_graph_call *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

void gpu_lent_graphs_settle(struct arenas *as, struct gpu_process *p, int64_t read_to)
{
	int64_t cnt = 0, first = 0, last = 0;
	struct gpu_lent_graphs *g = &p->lent.graphs;
	struct gpu_graph_call *c = g->call;
	size_t i = 0;

	if (!g->call_cnt)
		return;
	qsort(c, g->call_cnt, sizeof(*c), compare);
	for (; i < g->call_cnt && c[i].start <= read_to; i++) {
		if (!c[i].is_launch) {
			instantiated(p, &c[i]);
		} else if (is_lost(p, &c[i])) {
			first = cnt++ ? first : c[i].start;
			last = c[i].start;
		}
	}
	g->call_cnt -= i;
	memmove(c, c + i, g->call_cnt * sizeof(*c));
	if (cnt)
		db_lost(as->db, first, last, p->id.global_pid, loss, cnt);
}

void gpu_lent_graphs_shift(struct gpu_process *p, int64_t by)
{
	struct gpu_lent_graphs *g = &p->lent.graphs;

	for (size_t i = 0; i < g->call_cnt; i++)
		g->call[i].start -= by;
	for (uint32_t i = 0; i < g->event_cnt; i++)
		g->event[i].ns -= by;
}

void gpu_lent_graphs_release(struct gpu_process *p)
{
	free(p->lent.graphs.call);
	free(p->lent.graphs.late);
	free(p->lent.graphs.event);
}
