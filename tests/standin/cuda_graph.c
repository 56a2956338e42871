/* cuda_graph.c - the stand-in driver: graphs, and streams that record into them. */
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

/* ---- nodes ---- */

/* The names of kernels outlive their modules: graphs keep them. */
static const char *kept_name(const char *name)
{
	static char **names;
	static size_t cnt;
	size_t i;

	for (i = 0; i < cnt; i++)
		if (strcmp(names[i], name) == 0)
			return names[i];
	names = realloc(names, (cnt + 1) * sizeof(*names));
	if (!names)
		abort();
	return names[cnt++] = strdup(name);
}

static struct CUgraphNode_st **copy_nodes(struct CUgraphNode_st *const *nodes, size_t cnt)
{
	struct CUgraphNode_st **copy = calloc(cnt ? cnt : 1, sizeof(*copy));

	if (!copy)
		abort();
	if (cnt)
		memcpy(copy, nodes, cnt * sizeof(*copy));
	return copy;
}

static struct CUgraphNode_st *node_make(struct CUgraph_st *graph, const struct work *w,
					struct CUgraphNode_st *const *deps, size_t dep_cnt)
{
	struct CUgraphNode_st *n = object_make(OBJECT_NODE, sizeof(*n));

	n->graph = graph;
	n->id = (uint64_t)graph->id << 32 | ++graph->node_cnt;
	n->work = *w;
	if (w->name)
		n->work.name = kept_name(w->name);
	n->deps = copy_nodes(deps, dep_cnt);
	n->dep_cnt = dep_cnt;
	*graph->last = n;
	graph->last = &n->next;
	return n;
}

static void tell_node(const struct CUgraphNode_st *n)
{
	tell(&(struct standin_activity){.kind = STANDIN_GRAPH_NODE,
					.start = now(),
					.graph_node = n->id,
					.original_node = n->original,
					.graph = n->graph->original ? n->graph->original
								    : n->graph->id,
					.graph_exec = n->graph->original ? n->graph->id : 0});
}

struct CUgraphNode_st *node_add(struct CUgraph_st *graph, const struct work *w,
				struct CUgraphNode_st *const *deps, size_t dep_cnt)
{
	struct CUgraphNode_st *n = node_make(graph, w, deps, dep_cnt);

	tell_node(n);
	return n;
}

static void graph_init(struct CUgraph_st *g)
{
	g->id = driver.next_graph++;
	g->last = &g->nodes;
}

struct CUgraph_st *graph_make(void)
{
	struct CUgraph_st *g = object_make(OBJECT_GRAPH, sizeof(*g));

	graph_init(g);
	return g;
}

static void graph_free(struct CUgraph_st *g)
{
	struct CUgraphNode_st *n, *next;

	for (n = g->nodes; n; n = next) {
		next = n->next;
		free(n->deps);
		object_drop(n);
	}
	object_drop(g);
}

/* Nodes in the same order, dependencies between the copies; each knows the node that it was made from. */
static void graph_copy(struct CUgraph_st *to, const struct CUgraph_st *from)
{
	struct CUgraphNode_st *n, *copy, *a, *b;
	size_t i;

	for (n = from->nodes; n; n = n->next) {
		copy = node_make(to, &n->work, n->deps, n->dep_cnt);
		copy->original = n->id;
		for (i = 0; i < copy->dep_cnt; i++)
			for (a = from->nodes, b = to->nodes; a; a = a->next, b = b->next)
				if (copy->deps[i] == a) {
					copy->deps[i] = b;
					break;
				}
		tell_node(copy);
	}
}

/* ---- building by hand ---- */

static int create(CUgraph *graph, unsigned flags)
{
	if (!graph || flags)
		return CUDA_INVALID_VALUE;
	*graph = graph_make();
	return CUDA_OK;
}

int cuGraphCreate(CUgraph *graph, unsigned flags)
{
	return CALL(create(graph, flags));
}

static int destroy(CUgraph graph)
{
	if (!object_find(graph, OBJECT_GRAPH) || graph->capturing)
		return CUDA_INVALID_VALUE;
	graph_free(graph);
	return CUDA_OK;
}

int cuGraphDestroy(CUgraph graph)
{
	return CALL(destroy(graph));
}

static int clone(CUgraph *to, CUgraph from)
{
	if (!to || !object_find(from, OBJECT_GRAPH))
		return CUDA_INVALID_VALUE;
	*to = graph_make();
	graph_copy(*to, from);
	return CUDA_OK;
}

int cuGraphClone(CUgraph *to, CUgraph from)
{
	return CALL(clone(to, from));
}

static int add(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
	       const struct work *w)
{
	size_t i;

	if (!node || !object_find(graph, OBJECT_GRAPH) || (dep_cnt && !deps))
		return CUDA_INVALID_VALUE;
	for (i = 0; i < dep_cnt; i++)
		if (!object_find(deps[i], OBJECT_NODE) || deps[i]->graph != graph)
			return CUDA_INVALID_VALUE;
	*node = node_add(graph, w, deps, dep_cnt);
	return CUDA_OK;
}

static int kernel_work(struct work *w, const struct cuda_kernel_node *k, bool second_version)
{
	const void *function;

	if (!k)
		return CUDA_INVALID_VALUE;
	*w = (struct work){.kind = NODE_KERNEL};
	memcpy(&w->kernel, k,
	       second_version ? sizeof(*k) : offsetof(struct cuda_kernel_node, kernel));
	function = k->function;
	if (!function && second_version)
		function = k->kernel;
	w->name = function_name(function);
	if (!w->name)
		return CUDA_INVALID_HANDLE;
	w->duration = kernel_duration(w->name);
	return CUDA_OK;
}

static int add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
		      const struct cuda_kernel_node *k, bool second_version)
{
	struct work w;
	int r = kernel_work(&w, k, second_version);

	return r ? r : add(node, graph, deps, dep_cnt, &w);
}

int cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
			 const struct cuda_kernel_node *k)
{
	return CALL(add_kernel(node, graph, deps, dep_cnt, k, false));
}

int cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			    size_t dep_cnt, const struct cuda_kernel_node *k)
{
	return CALL(add_kernel(node, graph, deps, dep_cnt, k, true));
}

int cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
			 const struct cuda_copy3d *c, CUcontext context)
{
	(void)context;
	return CALL(
		c ? add(node, graph, deps, dep_cnt, &(struct work){.kind = NODE_MEMCPY, .copy = *c})
		  : CUDA_INVALID_VALUE);
}

int cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
			 const struct cuda_memset_node *m, CUcontext context)
{
	(void)context;
	return CALL(m ? add(node, graph, deps, dep_cnt,
			    &(struct work){.kind = NODE_MEMSET, .memset = *m})
		      : CUDA_INVALID_VALUE);
}

int cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
		       const struct cuda_host_node *h)
{
	return CALL(h && h->function ? add(node, graph, deps, dep_cnt,
					   &(struct work){.kind = NODE_HOST, .host = *h})
				     : CUDA_INVALID_VALUE);
}

int cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt)
{
	return CALL(add(node, graph, deps, dep_cnt, &(struct work){.kind = NODE_EMPTY}));
}

static int add_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			    size_t cnt)
{
	size_t i;

	if (!object_find(graph, OBJECT_GRAPH) || (cnt && (!from || !to)))
		return CUDA_INVALID_VALUE;
	for (i = 0; i < cnt; i++) {
		struct CUgraphNode_st *n = object_find(to[i], OBJECT_NODE);

		if (!n || !object_find(from[i], OBJECT_NODE))
			return CUDA_INVALID_VALUE;
		n->deps = realloc(n->deps, (n->dep_cnt + 1) * sizeof(*n->deps));
		if (!n->deps)
			abort();
		n->deps[n->dep_cnt++] = from[i];
	}
	return CUDA_OK;
}

int cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			   size_t cnt)
{
	return CALL(add_dependencies(graph, from, to, cnt));
}

int cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			      const void *edges, size_t cnt)
{
	return CALL(edges ? CUDA_NOT_SUPPORTED : add_dependencies(graph, from, to, cnt));
}

static int get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *cnt)
{
	struct CUgraphNode_st *n;
	size_t i = 0;

	if (!object_find(graph, OBJECT_GRAPH) || !cnt)
		return CUDA_INVALID_VALUE;
	for (n = graph->nodes; n; n = n->next, i++)
		if (nodes && i < *cnt)
			nodes[i] = n;
	if (!nodes || i < *cnt)
		*cnt = i;
	return CUDA_OK;
}

int cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *cnt)
{
	return CALL(get_nodes(graph, nodes, cnt));
}

static int node_type(CUgraphNode node, int *type)
{
	if (!object_find(node, OBJECT_NODE) || !type)
		return CUDA_INVALID_VALUE;
	*type = (int)node->work.kind;
	return CUDA_OK;
}

int cuGraphNodeGetType(CUgraphNode node, int *type)
{
	return CALL(node_type(node, type));
}

/* ---- executing ---- */

static int instantiate(CUgraphExec *exec, CUgraph graph)
{
	struct CUgraphExec_st *e;

	if (!exec || !object_find(graph, OBJECT_GRAPH) || graph->capturing)
		return CUDA_INVALID_VALUE;
	e = object_make(OBJECT_EXEC, sizeof(*e));
	graph_init(&e->graph);
	e->graph.original = graph->id;
	graph_copy(&e->graph, graph);
	*exec = e;
	return CUDA_OK;
}

int cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)flags;
	return CALL(instantiate(exec, graph));
}

int cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log,
			  size_t bytes)
{
	if (node)
		*node = NULL;
	if (log && bytes)
		*log = 0;
	return CALL(instantiate(exec, graph));
}

static int exec_destroy(CUgraphExec exec)
{
	if (!object_find(exec, OBJECT_EXEC))
		return CUDA_INVALID_VALUE;
	graph_free(&exec->graph);
	return CUDA_OK;
}

int cuGraphExecDestroy(CUgraphExec exec)
{
	return CALL(exec_destroy(exec));
}

static int exec_kernel(CUgraphExec exec, CUgraphNode node, const struct cuda_kernel_node *k,
		       bool second_version)
{
	struct CUgraphNode_st *n;
	struct work w;
	int r;

	if (!object_find(exec, OBJECT_EXEC) || !object_find(node, OBJECT_NODE))
		return CUDA_INVALID_VALUE;
	for (n = exec->graph.nodes; n && n->original != node->id; n = n->next)
		;
	if (!n || n->work.kind != NODE_KERNEL)
		return CUDA_INVALID_VALUE;
	r = kernel_work(&w, k, second_version);
	if (r)
		return r;
	w.name = kept_name(w.name);
	n->work = w;
	return CUDA_OK;
}

int cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
				   const struct cuda_kernel_node *k)
{
	return CALL(exec_kernel(exec, node, k, false));
}

int cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
				      const struct cuda_kernel_node *k)
{
	return CALL(exec_kernel(exec, node, k, true));
}

/* The nodes stand in an order in which none comes before what it depends on, unless edges were added later. */
static int launch(CUgraphExec exec, struct CUstream_st *s)
{
	struct standin_activity a = {.kind = STANDIN_GRAPH};
	struct CUgraphNode_st *n;
	size_t i;

	if (!object_find(exec, OBJECT_EXEC))
		return CUDA_INVALID_VALUE;
	if (!s)
		return CUDA_INVALID_HANDLE;
	if (s->capture)
		return CUDA_CAPTURE_UNSUPPORTED; /* graphs inside graphs: not here */
	a.start = a.end = stream_begin(s);
	for (n = exec->graph.nodes; n; n = n->next) {
		uint64_t start = a.start;

		for (i = 0; i < n->dep_cnt; i++)
			if (n->deps[i]->end > start)
				start = n->deps[i]->end;
		n->end = work_run(s, &n->work, start, n);
		if (n->end > a.end)
			a.end = n->end;
	}
	s->end = a.end;
	a.device = (uint32_t)s->context->device;
	a.context = s->context->id;
	a.stream = s->id;
	a.graph = exec->graph.original;
	a.graph_exec = exec->graph.id;
	tell(&a);
	wait_until(now() + STANDIN_LAUNCH_CALL_NS);
	return CUDA_OK;
}

PAIR(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), launch(exec, STREAM(stream)))
PAIR(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream),
     !STREAM(stream)                  ? CUDA_INVALID_HANDLE
     : object_find(exec, OBJECT_EXEC) ? CUDA_OK
				      : CUDA_INVALID_VALUE)
