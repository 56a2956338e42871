/*
 * graph.c - origin of graph nodes, for --cuda-graph-trace=node: executed nodes are copies of those that the program
 * created, made when the graph is instantiated. Called by CUPTI on the program's threads.
 */
#include "preload/cupti/guest.h"

#include "preload/wire/sys.h"

static const uint32_t watched[] = {
	CUPTI_RESOURCE_GRAPH_CREATED, CUPTI_RESOURCE_GRAPH_CLONED, CUPTI_RESOURCE_NODE_CREATED,
	CUPTI_RESOURCE_NODE_CLONED,   CUPTI_RESOURCE_EXEC_CREATED,
};

void graph_watch(void)
{
	int result = CUPTI_OK;

	if (!guest.cupti.GetGraphNodeId || !guest.cupti.GetGraphId)
		result = CUPTI_UNKNOWN;
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched) && result == CUPTI_OK; i++)
		result = guest.cupti.EnableCallback(1, guest.subscriber, CUPTI_DOMAIN_RESOURCE,
						    watched[i]);
	if (result != CUPTI_OK)
		status_record(SL_GPU_STATUS_KIND_FAILED, result,
			      "CUPTI does not report the origin of CUDA graph nodes (%s): they "
			      "are recorded without",
			      status_name(result));
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	return node && guest.cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

static uint32_t graph_id(void *graph)
{
	uint32_t id = 0;

	return graph && guest.cupti.GetGraphId(graph, &id) == CUPTI_OK ? id : 0;
}

static uint32_t exec_id(void *exec)
{
	uint32_t id = 0;

	return exec && guest.cupti.GetGraphExecId &&
			       guest.cupti.GetGraphExecId(exec, &id) == CUPTI_OK
		       ? id
		       : 0;
}

void graph_callback(void *data, int domain, uint32_t id, const void *info)
{
	const struct cupti_resource_data *r = info;
	const struct cupti_graph_data *g = r ? r->descriptor : NULL;
	struct sl_gpu_node n = {0};

	(void)data;
	if (domain != CUPTI_DOMAIN_RESOURCE || !g || !guest_is_own_process())
		return;
	n.time = guest.host->now();
	n.thread = (uint32_t)sl_gettid();
	n.graph = graph_id(g->graph);
	/* Each callback sets its own fields only; the others keep stale values. */
	switch (id) {
	case CUPTI_RESOURCE_GRAPH_CREATED:
		n.kind = 1;
		break;
	case CUPTI_RESOURCE_GRAPH_CLONED:
		n.kind = 2;
		n.original_graph = graph_id(g->original_graph);
		break;
	case CUPTI_RESOURCE_EXEC_CREATED:
		n.kind = 3;
		n.graph_exec = exec_id(g->exec);
		break;
	case CUPTI_RESOURCE_NODE_CLONED:
		n.original = node_id(g->original_node);
		n.original_graph = graph_id(g->original_graph);
		n.node = node_id(g->node);
		break;
	case CUPTI_RESOURCE_NODE_CREATED:
		n.node = node_id(g->node);
		break;
	default:
		return;
	}
	guest.host->record(SL_GPU_REC_NODE, &n, sizeof(n));
}
