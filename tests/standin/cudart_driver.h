/*
 * cudart_driver.h - inside the stand-in for the CUDA runtime: the driver as it finds it (one dlopen, one dlsym, the
 * rest by name and version from cuGetProcAddress_v2, as the real one does), and how a public function begins and ends.
 *
 * Compiled as libcudart.so.13, libcudart.so.12 (RUNTIME_MAJOR 12) and libcudart_static.a.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/standin/cuda_types.h"

#ifndef RUNTIME_MAJOR
#define RUNTIME_MAJOR 13
#endif

/* name, version asked for, arguments */
#define RT_DRIVER(F)                                                                               \
	F(cuInit, 2000, (unsigned))                                                                \
	F(cuDriverGetVersion, 2020, (int *))                                                       \
	F(cuDeviceGetCount, 2000, (int *))                                                         \
	F(cuDeviceGetName, 2000, (char *, int, int))                                               \
	F(cuDeviceGetUuid, 11040, (void *, int))                                                   \
	F(cuDeviceTotalMem, 3020, (size_t *, int))                                                 \
	F(cuDeviceGetAttribute, 2000, (int *, int, int))                                           \
	F(cuDeviceGetPCIBusId, 4010, (char *, int, int))                                           \
	F(cuDeviceCanAccessPeer, 4000, (int *, int, int))                                          \
	F(cuCtxEnablePeerAccess, 4000, (CUcontext, unsigned))                                      \
	F(cuCtxDisablePeerAccess, 4000, (CUcontext))                                               \
	F(cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *, int))                                 \
	F(cuDeviceGetMemPool, 11020, (CUmemoryPool *, int))                                        \
	F(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, int))                                      \
	F(cuDevicePrimaryCtxReset, 11000, (int))                                                   \
	F(cuDevicePrimaryCtxSetFlags, 11000, (int, unsigned))                                      \
	F(cuCtxSetCurrent, 4000, (CUcontext))                                                      \
	F(cuCtxSynchronize, 2000, (void))                                                          \
	F(cuCtxGetFlags, 7000, (unsigned *))                                                       \
	F(cuCtxGetStreamPriorityRange, 5050, (int *, int *))                                       \
	F(cuMemAlloc, 3020, (CUdeviceptr *, size_t))                                               \
	F(cuMemAllocPitch, 3020, (CUdeviceptr *, size_t *, size_t, size_t, unsigned))              \
	F(cuMemAllocManaged, 6000, (CUdeviceptr *, size_t, unsigned))                              \
	F(cuMemFree, 3020, (CUdeviceptr))                                                          \
	F(cuMemHostAlloc, 2020, (void **, size_t, unsigned))                                       \
	F(cuMemFreeHost, 2000, (void *))                                                           \
	F(cuMemHostRegister, 6050, (void *, size_t, unsigned))                                     \
	F(cuMemHostUnregister, 4000, (void *))                                                     \
	F(cuMemHostGetDevicePointer, 3020, (CUdeviceptr *, void *, unsigned))                      \
	F(cuMemGetInfo, 3020, (size_t *, size_t *))                                                \
	F(cuPointerGetAttribute, 4000, (void *, int, CUdeviceptr))                                 \
	F(cuMemAllocAsync, 11020, (CUdeviceptr *, size_t, CUstream))                               \
	F(cuMemAllocFromPoolAsync, 11020, (CUdeviceptr *, size_t, CUmemoryPool, CUstream))         \
	F(cuMemFreeAsync, 11020, (CUdeviceptr, CUstream))                                          \
	F(cuMemPoolCreate, 11020, (CUmemoryPool *, const void *))                                  \
	F(cuMemPoolDestroy, 11020, (CUmemoryPool))                                                 \
	F(cuMemPoolTrimTo, 11020, (CUmemoryPool, size_t))                                          \
	F(cuMemPoolSetAttribute, 11020, (CUmemoryPool, int, void *))                               \
	F(cuMemPoolGetAttribute, 11020, (CUmemoryPool, int, void *))                               \
	F(cuMemPrefetchAsync, 12020, (CUdeviceptr, size_t, uint64_t, unsigned, CUstream))          \
	F(cuMemAdvise, 12020, (CUdeviceptr, size_t, int, uint64_t))                                \
	F(cuMemcpy, 4000, (CUdeviceptr, CUdeviceptr, size_t))                                      \
	F(cuMemcpyHtoD, 3020, (CUdeviceptr, const void *, size_t))                                 \
	F(cuMemcpyDtoH, 3020, (void *, CUdeviceptr, size_t))                                       \
	F(cuMemcpyDtoD, 3020, (CUdeviceptr, CUdeviceptr, size_t))                                  \
	F(cuMemcpyAsync, 4000, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                       \
	F(cuMemcpyHtoDAsync, 3020, (CUdeviceptr, const void *, size_t, CUstream))                  \
	F(cuMemcpyDtoHAsync, 3020, (void *, CUdeviceptr, size_t, CUstream))                        \
	F(cuMemcpyDtoDAsync, 3020, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                   \
	F(cuMemcpyPeer, 4000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t))            \
	F(cuMemcpyPeerAsync, 4000,                                                                 \
	  (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))                      \
	F(cuMemcpy2DUnaligned, 3020, (const struct cuda_copy2d *))                                 \
	F(cuMemcpy2DAsync, 3020, (const struct cuda_copy2d *, CUstream))                           \
	F(cuMemcpy3D, 3020, (const struct cuda_copy3d *))                                          \
	F(cuMemcpy3DAsync, 3020, (const struct cuda_copy3d *, CUstream))                           \
	F(cuMemsetD8, 3020, (CUdeviceptr, unsigned char, size_t))                                  \
	F(cuMemsetD8Async, 3020, (CUdeviceptr, unsigned char, size_t, CUstream))                   \
	F(cuMemsetD2D8, 3020, (CUdeviceptr, size_t, unsigned char, size_t, size_t))                \
	F(cuMemsetD2D8Async, 3020, (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream)) \
	F(cuStreamCreate, 2000, (CUstream *, unsigned))                                            \
	F(cuStreamCreateWithPriority, 5050, (CUstream *, unsigned, int))                           \
	F(cuStreamDestroy, 4000, (CUstream))                                                       \
	F(cuStreamSynchronize, 2000, (CUstream))                                                   \
	F(cuStreamQuery, 2000, (CUstream))                                                         \
	F(cuStreamWaitEvent, 3020, (CUstream, CUevent, unsigned))                                  \
	F(cuStreamGetPriority, 5050, (CUstream, int *))                                            \
	F(cuStreamGetFlags, 5050, (CUstream, unsigned *))                                          \
	F(cuStreamGetId, 12000, (CUstream, unsigned long long *))                                  \
	F(cuStreamGetDevice, 12080, (CUstream, int *))                                             \
	F(cuStreamBeginCapture, 10010, (CUstream, int))                                            \
	F(cuStreamEndCapture, 10000, (CUstream, CUgraph *))                                        \
	F(cuStreamIsCapturing, 10000, (CUstream, int *))                                           \
	F(cuStreamGetCaptureInfo, 12030,                                                           \
	  (CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, const void **, size_t *)) \
	F(cuThreadExchangeStreamCaptureMode, 10010, (int *))                                       \
	F(cuLaunchHostFunc, 10000, (CUstream, cuda_host_function *, void *))                       \
	F(cuEventCreate, 2000, (CUevent *, unsigned))                                              \
	F(cuEventDestroy, 4000, (CUevent))                                                         \
	F(cuEventRecord, 2000, (CUevent, CUstream))                                                \
	F(cuEventRecordWithFlags, 11010, (CUevent, CUstream, unsigned))                            \
	F(cuEventSynchronize, 2000, (CUevent))                                                     \
	F(cuEventQuery, 2000, (CUevent))                                                           \
	F(cuEventElapsedTime, 2000, (float *, CUevent, CUevent))                                   \
	F(cuIpcGetMemHandle, 4010, (struct cuda_ipc_handle *, CUdeviceptr))                        \
	F(cuIpcOpenMemHandle, 11000, (CUdeviceptr *, struct cuda_ipc_handle, unsigned))            \
	F(cuIpcCloseMemHandle, 4010, (CUdeviceptr))                                                \
	F(cuIpcGetEventHandle, 4010, (struct cuda_ipc_handle *, CUevent))                          \
	F(cuIpcOpenEventHandle, 4010, (CUevent *, struct cuda_ipc_handle))                         \
	F(cuModuleGetLoadingMode, 11070, (int *))                                                  \
	F(cuLibraryLoadData, 12000,                                                                \
	  (CUlibrary *, const void *, void *, void **, unsigned, void *, void **, unsigned))       \
	F(cuLibraryUnload, 12000, (CUlibrary))                                                     \
	F(cuLibraryGetKernel, 12000, (CUkernel *, CUlibrary, const char *))                        \
	F(cuKernelGetFunction, 12000, (CUfunction *, CUkernel))                                    \
	F(cuKernelGetName, 12030, (const char **, CUkernel))                                       \
	F(cuKernelGetAttribute, 12000, (int *, int, CUkernel, int))                                \
	F(cuKernelSetAttribute, 12000, (int, int, CUkernel, int))                                  \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000,                              \
	  (int *, CUfunction, int, size_t, unsigned))                                              \
	F(cuLaunchKernel, 4000,                                                                    \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
	   CUstream, void **, void **))                                                            \
	F(cuLaunchCooperativeKernel, 9000,                                                         \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
	   CUstream, void **))                                                                     \
	F(cuLaunchKernelEx, 11060,                                                                 \
	  (const struct cuda_launch_config *, CUfunction, void **, void **))                       \
	F(cuGraphCreate, 10000, (CUgraph *, unsigned))                                             \
	F(cuGraphDestroy, 10000, (CUgraph))                                                        \
	F(cuGraphClone, 10000, (CUgraph *, CUgraph))                                               \
	F(cuGraphGetNodes, 10000, (CUgraph, CUgraphNode *, size_t *))                              \
	F(cuGraphNodeGetType, 10000, (CUgraphNode, int *))                                         \
	F(cuGraphAddKernelNode, 12000,                                                             \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct cuda_kernel_node *))  \
	F(cuGraphAddMemcpyNode, 10000,                                                             \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct cuda_copy3d *,        \
	   CUcontext))                                                                             \
	F(cuGraphAddMemsetNode, 10000,                                                             \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct cuda_memset_node *,   \
	   CUcontext))                                                                             \
	F(cuGraphAddHostNode, 10000,                                                               \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const struct cuda_host_node *))    \
	F(cuGraphAddEmptyNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t))       \
	F(cuGraphAddDependencies, 12030,                                                           \
	  (CUgraph, const CUgraphNode *, const CUgraphNode *, const void *, size_t))               \
	F(cuGraphInstantiateWithFlags, 11040, (CUgraphExec *, CUgraph, unsigned long long))        \
	F(cuGraphExecDestroy, 10000, (CUgraphExec))                                                \
	F(cuGraphExecKernelNodeSetParams, 12000,                                                   \
	  (CUgraphExec, CUgraphNode, const struct cuda_kernel_node *))                             \
	F(cuGraphLaunch, 10000, (CUgraphExec, CUstream))                                           \
	F(cuGraphUpload, 11010, (CUgraphExec, CUstream))

struct rt_driver {
#define RT_FIELD(name, version, parameters) int(*name) parameters;
	RT_DRIVER(RT_FIELD)
#undef RT_FIELD
};
/* [0] with the legacy default stream, [1] with one per thread */
extern struct rt_driver rt_driver[2];
extern int (*rt_proc)(const char *name, void **address, int version, uint64_t flags, int *status);

/*
 * A public function is RT_CALL(what it does); RT_PAIR makes it and its twin. DRIVER: the driver as the function's
 * default stream wants it. RT_EARLY needs no device.
 */
void rt_enter(const char *name);
int rt_leave(const char *name, int result);
/* The driver is there and initialised. */
int rt_up(void);
/* ... and the thread has its device's primary context. */
int rt_ready(void);
#define RT_RUN(check, expression)                  \
	({                                         \
		int rt_result_;                    \
		rt_enter(__func__);                \
		rt_result_ = (check);              \
		if (!rt_result_)                   \
			rt_result_ = (expression); \
		rt_leave(__func__, rt_result_);    \
	})
#define RT_CALL(expression)  RT_RUN(rt_ready(), expression)
#define RT_EARLY(expression) RT_RUN(rt_up(), expression)
#define DRIVER               (&rt_driver[per_thread])
#define RT_PAIR(name, twin, parameters, expression) \
	int name parameters                         \
	{                                           \
		const bool per_thread = false;      \
		(void)per_thread;                   \
		return RT_CALL(expression);         \
	}                                           \
	int name##twin parameters                   \
	{                                           \
		const bool per_thread = true;       \
		(void)per_thread;                   \
		return RT_CALL(expression);         \
	}
/* For functions without a twin. */
#define LEGACY (&rt_driver[0])

/* The current device of the thread. */
extern __thread int rt_device;

/* ---- cudart_launch.c ---- */
/* The kernel of a host function (or of a handle that is one already); 0 or the error. */
int rt_kernel(CUkernel *kernel, const void *function);
/* All that is registered, where nothing is to be loaded later. */
int rt_load_eagerly(void);
/* The device memory of a registered variable. */
int rt_symbol(CUdeviceptr *address, size_t *bytes, const void *symbol);

/* ---- cudart_memory.c ---- */
struct rt_copy3d { /* cudaMemcpy3DParms */
	void *src_array;
	size_t src_x, src_y, src_z;
	struct rt_pitched {
		void *ptr;
		size_t pitch, width, height;
	} src;
	void *dst_array;
	size_t dst_x, dst_y, dst_z;
	struct rt_pitched dst;
	size_t width, height, depth;
	int kind;
};
int rt_copy3d(struct cuda_copy3d *to, const struct rt_copy3d *from);
struct cuda_copy3d rt_linear_copy(void *dst, const void *src, size_t bytes, int kind);
