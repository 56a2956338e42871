/* cudart_stream.c - the stand-in runtime: streams, events, host functions, capture, graphs. */
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cudart_driver.h"

/* ---- streams ---- */

int cudaStreamCreate(CUstream *stream)
{
	return RT_CALL(LEGACY->cuStreamCreate(stream, 0));
}

int cudaStreamCreateWithFlags(CUstream *stream, unsigned flags)
{
	return RT_CALL(LEGACY->cuStreamCreate(stream, flags));
}

int cudaStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	return RT_CALL(LEGACY->cuStreamCreateWithPriority(stream, flags, priority));
}

int cudaStreamDestroy(CUstream stream)
{
	return RT_CALL(LEGACY->cuStreamDestroy(stream));
}

RT_PAIR(cudaStreamSynchronize, _ptsz, (CUstream stream), DRIVER->cuStreamSynchronize(stream))
RT_PAIR(cudaStreamQuery, _ptsz, (CUstream stream), DRIVER->cuStreamQuery(stream))
RT_PAIR(cudaStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
	DRIVER->cuStreamWaitEvent(stream, event, flags))
RT_PAIR(cudaStreamGetPriority, _ptsz, (CUstream stream, int *priority),
	DRIVER->cuStreamGetPriority(stream, priority))
RT_PAIR(cudaStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags),
	DRIVER->cuStreamGetFlags(stream, flags))
RT_PAIR(cudaStreamGetId, _ptsz, (CUstream stream, unsigned long long *id),
	DRIVER->cuStreamGetId(stream, id))
RT_PAIR(cudaStreamGetDevice, _ptsz, (CUstream stream, int *device),
	DRIVER->cuStreamGetDevice(stream, device))
RT_PAIR(cudaLaunchHostFunc, _ptsz, (CUstream stream, cuda_host_function *function, void *data),
	DRIVER->cuLaunchHostFunc(stream, function, data))

struct callback {
	void (*function)(CUstream stream, int status, void *data);
	CUstream stream;
	void *data;
};

static void call_back(void *data)
{
	struct callback c = *(struct callback *)data;

	free(data);
	c.function(c.stream, CUDA_OK, c.data);
}

static int add_callback(const struct rt_driver *d, CUstream stream,
			void (*function)(CUstream, int, void *), void *data)
{
	struct callback *c;
	int r;

	if (!function)
		return CUDA_INVALID_VALUE;
	c = malloc(sizeof(*c));
	if (!c)
		return CUDA_OUT_OF_MEMORY;
	*c = (struct callback){function, stream, data};
	r = d->cuLaunchHostFunc(stream, call_back, c);
	if (r)
		free(c);
	return r;
}

RT_PAIR(cudaStreamAddCallback, _ptsz,
	(CUstream stream, void (*function)(CUstream, int, void *), void *data, unsigned flags),
	flags ? CUDA_INVALID_VALUE : add_callback(DRIVER, stream, function, data))

/* ---- events ---- */

int cudaEventCreate(CUevent *event)
{
	return RT_CALL(LEGACY->cuEventCreate(event, 0));
}

int cudaEventCreateWithFlags(CUevent *event, unsigned flags)
{
	return RT_CALL(LEGACY->cuEventCreate(event, flags));
}

int cudaEventDestroy(CUevent event)
{
	return RT_CALL(LEGACY->cuEventDestroy(event));
}

RT_PAIR(cudaEventRecord, _ptsz, (CUevent event, CUstream stream),
	DRIVER->cuEventRecord(event, stream))
RT_PAIR(cudaEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
	DRIVER->cuEventRecordWithFlags(event, stream, flags))

int cudaEventSynchronize(CUevent event)
{
	return RT_CALL(LEGACY->cuEventSynchronize(event));
}

int cudaEventQuery(CUevent event)
{
	return RT_CALL(LEGACY->cuEventQuery(event));
}

int cudaEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return RT_CALL(LEGACY->cuEventElapsedTime(ms, start, end));
}

/* ---- capture ---- */

RT_PAIR(cudaStreamBeginCapture, _ptsz, (CUstream stream, int mode),
	DRIVER->cuStreamBeginCapture(stream, mode))
RT_PAIR(cudaStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph),
	DRIVER->cuStreamEndCapture(stream, graph))
RT_PAIR(cudaStreamIsCapturing, _ptsz, (CUstream stream, int *status),
	DRIVER->cuStreamIsCapturing(stream, status))
#define INFO_PARAMETERS                                                                         \
	(CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes, \
	 const void **edges, size_t *cnt)
RT_PAIR(cudaStreamGetCaptureInfo_v3, _ptsz, INFO_PARAMETERS,
	DRIVER->cuStreamGetCaptureInfo(stream, status, id, graph, nodes, edges, cnt))
RT_PAIR(cudaStreamGetCaptureInfo_v2, _ptsz,
	(CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	 size_t *cnt),
	DRIVER->cuStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, cnt))
#if RUNTIME_MAJOR >= 13
RT_PAIR(cudaStreamGetCaptureInfo, _ptsz, INFO_PARAMETERS,
	DRIVER->cuStreamGetCaptureInfo(stream, status, id, graph, nodes, edges, cnt))
#endif

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
	return RT_CALL(LEGACY->cuThreadExchangeStreamCaptureMode(mode));
}

/* ---- graphs ---- */

int cudaGraphCreate(CUgraph *graph, unsigned flags)
{
	return RT_CALL(LEGACY->cuGraphCreate(graph, flags));
}

int cudaGraphDestroy(CUgraph graph)
{
	return RT_CALL(LEGACY->cuGraphDestroy(graph));
}

int cudaGraphClone(CUgraph *to, CUgraph from)
{
	return RT_CALL(LEGACY->cuGraphClone(to, from));
}

int cudaGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *cnt)
{
	return RT_CALL(LEGACY->cuGraphGetNodes(graph, nodes, cnt));
}

int cudaGraphNodeGetType(CUgraphNode node, int *type)
{
	return RT_CALL(LEGACY->cuGraphNodeGetType(node, type));
}

struct kernel_node { /* cudaKernelNodeParams */
	void *function;
	struct cuda_dim3 grid, block;
	unsigned shared;
	void **arguments, **extra;
};

static int kernel_parameters(struct cuda_kernel_node *to, const struct kernel_node *from)
{
	CUkernel kernel;
	int r;

	if (!from)
		return CUDA_INVALID_VALUE;
	r = rt_kernel(&kernel, from->function);
	if (!r)
		*to = (struct cuda_kernel_node){.grid = from->grid,
						.block = from->block,
						.shared = from->shared,
						.arguments = from->arguments,
						.extra = from->extra,
						.kernel = kernel};
	return r;
}

static int add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
		      const struct kernel_node *k)
{
	struct cuda_kernel_node to;
	int r = kernel_parameters(&to, k);

	return r ? r : LEGACY->cuGraphAddKernelNode(node, graph, deps, dep_cnt, &to);
}

int cudaGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			   size_t dep_cnt, const struct kernel_node *k)
{
	return RT_CALL(add_kernel(node, graph, deps, dep_cnt, k));
}

static int exec_kernel(CUgraphExec exec, CUgraphNode node, const struct kernel_node *k)
{
	struct cuda_kernel_node to;
	int r = kernel_parameters(&to, k);

	return r ? r : LEGACY->cuGraphExecKernelNodeSetParams(exec, node, &to);
}

int cudaGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
				     const struct kernel_node *k)
{
	return RT_CALL(exec_kernel(exec, node, k));
}

static int add_memcpy(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
		      const struct rt_copy3d *c)
{
	struct cuda_copy3d to;
	int r = rt_copy3d(&to, c);

	return r ? r : LEGACY->cuGraphAddMemcpyNode(node, graph, deps, dep_cnt, &to, NULL);
}

int cudaGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			   size_t dep_cnt, const struct rt_copy3d *c)
{
	return RT_CALL(add_memcpy(node, graph, deps, dep_cnt, c));
}

int cudaGraphAddMemcpyNode1D(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			     size_t dep_cnt, void *dst, const void *src, size_t bytes, int kind)
{
	return RT_CALL(LEGACY->cuGraphAddMemcpyNode(
		node, graph, deps, dep_cnt,
		(struct cuda_copy3d[]){rt_linear_copy(dst, src, bytes, kind)}, NULL));
}

int cudaGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			   size_t dep_cnt, const struct cuda_memset_node *m)
{
	return RT_CALL(LEGACY->cuGraphAddMemsetNode(node, graph, deps, dep_cnt, m, NULL));
}

int cudaGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt,
			 const struct cuda_host_node *h)
{
	return RT_CALL(LEGACY->cuGraphAddHostNode(node, graph, deps, dep_cnt, h));
}

int cudaGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t dep_cnt)
{
	return RT_CALL(LEGACY->cuGraphAddEmptyNode(node, graph, deps, dep_cnt));
}

#if RUNTIME_MAJOR >= 13
int cudaGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			     const void *edges, size_t cnt)
{
	return RT_CALL(LEGACY->cuGraphAddDependencies(graph, from, to, edges, cnt));
}
#else
int cudaGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			     size_t cnt)
{
	return RT_CALL(LEGACY->cuGraphAddDependencies(graph, from, to, NULL, cnt));
}
#endif

int cudaGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return RT_CALL(LEGACY->cuGraphInstantiateWithFlags(exec, graph, flags));
}

int cudaGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return RT_CALL(LEGACY->cuGraphInstantiateWithFlags(exec, graph, flags));
}

int cudaGraphExecDestroy(CUgraphExec exec)
{
	return RT_CALL(LEGACY->cuGraphExecDestroy(exec));
}

RT_PAIR(cudaGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream),
	DRIVER->cuGraphLaunch(exec, stream))
RT_PAIR(cudaGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream),
	DRIVER->cuGraphUpload(exec, stream))
