/*
 * cuda_types.h - the few types and numbers of the CUDA driver and runtime that the stand-ins and the test programs need
 * to be understood by programs compiled against the real headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Driver and runtime number their errors alike. */
enum cuda_error {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_INVALID_CONFIGURATION = 9,
	CUDA_INVALID_DEVICE_FUNCTION = 98,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_FILE_NOT_FOUND = 301,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_PEER_ENABLED = 704,
	CUDA_PEER_NOT_ENABLED = 705,
	CUDA_NOT_SUPPORTED = 801,
	CUDA_CAPTURE_UNSUPPORTED = 900,
	CUDA_CAPTURE_INVALIDATED = 901,
	CUDA_CAPTURE_UNMATCHED = 903,
	CUDA_ILLEGAL_STATE = 401,
};

typedef uint64_t CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef void cuda_host_function(void *data);

/* Handles of streams that were not created. */
#define CUDA_STREAM_LEGACY     ((CUstream)0x1)
#define CUDA_STREAM_PER_THREAD ((CUstream)0x2)

enum {
	CUDA_STREAM_NON_BLOCKING = 1,
	CUDA_EVENT_DISABLE_TIMING = 2,
	CUDA_EVENT_INTERPROCESS = 4
};
/* What one process passes to another of its memory or its event: CUipcMemHandle, CUipcEventHandle and the runtime's. */
struct cuda_ipc_handle {
	char bytes[64];
};
enum cuda_copy_kind { /* cudaMemcpyKind */
	CUDA_HOST_TO_HOST,
	CUDA_HOST_TO_DEVICE,
	CUDA_DEVICE_TO_HOST,
	CUDA_DEVICE_TO_DEVICE,
	CUDA_BY_ADDRESS
};
enum {
	CUDA_MEMORY_HOST = 1,
	CUDA_MEMORY_DEVICE,
	CUDA_MEMORY_ARRAY,
	CUDA_MEMORY_UNIFIED
};

struct cuda_dim3 {
	unsigned x, y, z;
};

/* One end of a copy of planes or boxes, and the copies themselves (CUDA_MEMCPY2D, CUDA_MEMCPY3D). */
struct cuda_copy2d {
	size_t src_x, src_y;
	int src_type;
	const void *src_host;
	CUdeviceptr src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	int dst_type;
	void *dst_host;
	CUdeviceptr dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

struct cuda_copy3d {
	size_t src_x, src_y, src_z, src_lod;
	int src_type;
	const void *src_host;
	CUdeviceptr src_device;
	void *src_array, *reserved0;
	size_t src_pitch, src_height;
	size_t dst_x, dst_y, dst_z, dst_lod;
	int dst_type;
	void *dst_host;
	CUdeviceptr dst_device;
	void *dst_array, *reserved1;
	size_t dst_pitch, dst_height;
	size_t width, height, depth;
};

struct cuda_launch_config { /* CUlaunchConfig */
	struct cuda_dim3 grid, block;
	unsigned shared;
	CUstream stream;
	void *attributes;
	unsigned attribute_cnt;
};

struct cuda_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2; the first version ends before kernel */
	CUfunction function;
	struct cuda_dim3 grid, block;
	unsigned shared;
	void **arguments, **extra;
	CUkernel kernel;
	CUcontext context;
};

struct cuda_memset_node { /* CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams */
	CUdeviceptr dst;
	size_t pitch;
	unsigned value, element_bytes;
	size_t width, height;
};

struct cuda_host_node {
	cuda_host_function *function;
	void *data;
};
