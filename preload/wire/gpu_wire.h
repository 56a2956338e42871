/*
 * gpu_wire.h - GPU activity as libtrace-cuda.so records it: payload of SL_SHAPE_GPU records (hook field: enum
 * sl_gpu_record).
 *
 * The record's own start is the tick at which it was written; the times in here are CLOCK_MONOTONIC ns (CUPTI's
 * timestamp callback is set to that), 0 = unknown to CUPTI. Strings are ids of SL_META_STRING records, which come
 * earlier in the same ring. Enumerations are CUPTI's own; the collector maps them to nsys's (see
 * ENUM_CUDA_MEM_KIND: CUPTI's minus one). correlation is CUPTI's: unique in the process, joins with GPU_API.
 *
 * Structures are multiples of 8 bytes, copied as they are. Change: raise SL_WIRE_VERSION.
 */
#pragma once

#include <stdint.h>

#define SL_GPU_NONE UINT32_MAX

enum sl_gpu_record {
	SL_GPU_REC_API = 1,  /* struct sl_gpu_api */
	SL_GPU_REC_KERNEL,   /* struct sl_gpu_kernel */
	SL_GPU_REC_MEMCPY,   /* struct sl_gpu_memcpy */
	SL_GPU_REC_MEMSET,   /* struct sl_gpu_memset */
	SL_GPU_REC_SYNC,     /* struct sl_gpu_sync */
	SL_GPU_REC_EVENT,    /* struct sl_gpu_event */
	SL_GPU_REC_GRAPH,    /* struct sl_gpu_graph */
	SL_GPU_REC_MEMORY,   /* struct sl_gpu_memory */
	SL_GPU_REC_POOL,     /* struct sl_gpu_pool */
	SL_GPU_REC_OVERHEAD, /* struct sl_gpu_overhead */
	SL_GPU_REC_JIT,      /* struct sl_gpu_jit */
	SL_GPU_REC_UM,       /* struct sl_gpu_um */
	SL_GPU_REC_DEVICE,   /* struct sl_gpu_device */
	SL_GPU_REC_CONTEXT,  /* struct sl_gpu_context */
	SL_GPU_REC_STREAM,   /* struct sl_gpu_stream */
	SL_GPU_REC_NODE,     /* struct sl_gpu_node */
	SL_GPU_REC_FLUSHED,  /* struct sl_gpu_flushed */
	SL_GPU_REC_STATUS,   /* struct sl_gpu_status */
	SL_GPU_REC_COMM,     /* struct sl_gpu_comm */
	SL_GPU_REC_CNT
};

/* CUPTI's RUNTIME and DRIVER kinds: a call, as CUPTI timed it. */
struct sl_gpu_api {
	uint64_t start, end;
	uint32_t correlation;
	uint32_t thread; /* system thread id, as the process sees it */
	uint32_t name;   /* string: cudaLaunchKernel_v7000, cuLaunchKernel */
	int32_t result;
	uint32_t is_driver; /* 0 runtime, 1 driver */
	uint32_t reserved;
};

struct sl_gpu_kernel {
	uint64_t start, end;
	uint64_t grid_id;
	uint64_t graph_node; /* 0 none */
	uint64_t local_total;
	uint32_t device, context, stream, correlation;
	uint32_t name;  /* string: mangled; the collector demangles */
	uint32_t graph; /* graph id, 0 none */
	int32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared, shared_executed;
	uint32_t local_per_thread;
	uint16_t registers;
	uint8_t cache_config, shared_limit, launch_type; /* CUPTI's; launch_type 0 regular */
	uint8_t cluster_policy;
	uint16_t reserved;
	uint32_t cluster[3];
	uint32_t max_cluster, max_active_clusters;
	uint32_t reserved2;
};

struct sl_gpu_memcpy {
	uint64_t start, end, bytes, graph_node;
	uint32_t device, context, stream, correlation;
	uint8_t kind, src_kind, dst_kind, is_peer; /* CUPTI's */
	uint32_t src_device, src_context, dst_device,
		dst_context; /* peer copies; else SL_GPU_NONE */
	uint32_t copies;     /* in one record, normally 1 */
	uint32_t graph, reserved;
};

struct sl_gpu_memset {
	uint64_t start, end, bytes, graph_node;
	uint32_t device, context, stream, correlation;
	uint32_t value, memory_kind, graph, reserved;
};

struct sl_gpu_sync {
	uint64_t start, end;
	uint32_t device, context, stream, correlation; /* stream SL_GPU_NONE: all of the context */
	uint32_t type, event; /* CUpti_ActivitySynchronizationType; event id or SL_GPU_NONE */
	uint64_t event_sync;
};

struct sl_gpu_event {
	uint64_t timestamp; /* on the device; 0 not collected */
	uint32_t device, context, stream, correlation;
	uint32_t event, reserved;
	uint64_t event_sync;
};

struct sl_gpu_graph { /* one launch of a whole graph */
	uint64_t start, end;
	uint32_t device, context, stream, correlation;
	uint32_t graph, graph_exec;
};

struct sl_gpu_memory { /* MEMORY2: an allocation or a release */
	uint64_t time, address, bytes, pc;
	uint64_t pool_address, pool_threshold, pool_size, pool_used;
	uint32_t device, context, stream, correlation;
	uint8_t operation; /* CUPTI: 1 allocation, 2 release */
	uint8_t kind, is_async, pool_type;
	uint32_t process;        /* imported pools: the exporting process */
	uint32_t name, reserved; /* string, 0 none */
};

struct sl_gpu_pool {
	uint64_t time, address, min_bytes_to_keep, size, used, threshold;
	uint32_t device, process, correlation;
	uint8_t operation, type; /* CUPTI's */
	uint16_t reserved;
};

struct sl_gpu_overhead {
	uint64_t start, end;
	uint32_t kind; /* CUPTI's: 0 unknown, 1 compiler, 1 << 16 buffer flush, 2 << 16 ... */
	uint32_t thread, correlation, reserved;
};

struct sl_gpu_jit {
	uint64_t start, end, cache_bytes;
	uint32_t entry, operation, device, correlation, operation_correlation;
	uint32_t thread, cache_path, reserved; /* cache_path: string */
};

struct sl_gpu_um {                           /* unified memory: a transfer or page faults */
	uint64_t start, end, address, value; /* value: bytes, or number of faults */
	uint32_t kind;                       /* CUpti_ActivityUnifiedMemoryCounterKind */
	uint32_t src, dst, stream, process;
	uint32_t flags; /* CUPTI's: migration cause or access type, by kind */
};

/* Once per device, before all activity on it. */
struct sl_gpu_device {
	uint64_t memory_bytes, memory_bandwidth /* kB/s */, l2_bytes;
	uint8_t uuid[16];
	uint32_t id, name; /* name: string */
	uint32_t major, minor, sm_cnt, core_clock_khz, warp_size;
	uint32_t max_threads_per_block, max_blocks_per_sm, max_warps_per_sm,
		max_registers_per_block;
	uint32_t max_shared_per_block, const_bytes, memory_clock_khz, bus_width_bits, ecc;
	uint32_t pci_domain, pci_bus, pci_device;
	uint32_t copy_engines;
};

struct sl_gpu_context {
	uint64_t time;
	uint32_t id, device, null_stream, compute_api;
	uint32_t is_green, parent;
};

struct sl_gpu_stream {
	uint64_t time;
	uint32_t context, id, priority, flag; /* CUPTI's CUpti_ActivityStreamFlag */
};

/* --cuda-graph-trace=node: a node was created; graph_id and original from CUPTI's resource callbacks. */
struct sl_gpu_node {
	uint64_t time, node, original; /* 0 none */
	uint32_t graph, kind; /* kind: 0 node, 1 graph created, 2 graph cloned, 3 instantiated */
	uint32_t original_graph, graph_exec;
	uint32_t thread, reserved;
};

/* All activity of this process that ended before @until has been recorded. */
struct sl_gpu_flushed {
	uint64_t until;   /* CLOCK_MONOTONIC ns */
	uint64_t dropped; /* records that CUPTI lost since the last such record */
	uint32_t is_last;
	uint32_t
		incomplete; /* buffers that CUPTI did not complete: at least as many records are lost */
};

/*
 * A communicator of NCCL, by the shim itself (gpu_comms.c): when it is made, at its first call in each window, and again after a
 * while, for windows of the flight recorder.
 */
enum {
	SL_GPU_COMM_HAS_HASH = 1,
	SL_GPU_COMM_HAS_PARENT = 2,
	SL_GPU_COMM_HAS_RANKS = 4, /* and rank */
	SL_GPU_COMM_IS_MPI = 8,
	SL_GPU_COMM_HAS_WORLD = 16,
};
#define SL_GPU_COMM_NAME 64u
struct sl_gpu_comm {
	uint64_t
		made; /* CLOCK_MONOTONIC ns; of one that was made before the shim knew NCCL: its first call */
	uint64_t handle, hash, parent; /* parent: its hash */
	uint32_t flags;                /* SL_GPU_COMM_HAS_* */
	uint32_t ranks, rank;
	uint32_t world;              /* own rank in MPI_COMM_WORLD */
	char name[SL_GPU_COMM_NAME]; /* ncclConfig_t.commName with its NUL, cut; "": none */
};

enum sl_gpu_status_code {
	SL_GPU_STATUS_ON = 0,     /* CUPTI delivers; text: library and version */
	SL_GPU_STATUS_NO_LIBRARY, /* no libcupti found */
	SL_GPU_STATUS_NO_LAYOUT,  /* a version whose record layouts are not known */
	SL_GPU_STATUS_TAKEN,      /* another tool is subscribed to CUPTI; text: which */
	SL_GPU_STATUS_TOO_OLD,    /* the driver is too old for this CUPTI */
	SL_GPU_STATUS_NO_PERMISSION,
	SL_GPU_STATUS_KIND_FAILED, /* an activity kind could not be enabled; text: which, why */
	SL_GPU_STATUS_LOST_SLOT,   /* another tool took the subscription over */
	SL_GPU_STATUS_OTHER,
	SL_GPU_STATUS_AVOIDED, /* a bug of this CUPTI is avoided; text: what that means for the report */
	SL_GPU_STATUS_LIMITED, /* CUPTI delivers, but some records are lost or wrong; text: which */
	SL_GPU_STATUS_BACK,    /* the tool of LOST_SLOT has ended: CUPTI delivers again */
};
struct sl_gpu_status {
	uint32_t code;    /* enum sl_gpu_status_code */
	uint32_t detail;  /* CUptiResult, or 0; of BACK: graphs are recorded as wholes */
	uint32_t text;    /* string: one sentence for the user, with the remedy */
	uint32_t version; /* of CUPTI's API, 0 unknown */
	uint64_t since;   /* CLOCK_MONOTONIC ns from when on it holds, 0: from the record on */
};
