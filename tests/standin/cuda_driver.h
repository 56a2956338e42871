/*
 * cuda_driver.h - inside the stand-in for the CUDA driver: objects, time, and how a public function begins and ends.
 *
 * One lock guards everything (enter and leave take it); what happened "on the GPU" goes to the observer after it is
 * released. Device memory is memory of the process: copies are made at once, times are computed (see standin.h).
 *
 * Environment: STANDIN_DEVICES number of devices (1; 0: none), STANDIN_DRIVER_VERSION the version it reports.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/standin/cuda_time.h"
#include "tests/standin/cuda_types.h"
#include "tests/standin/standin.h"

/* Compiled with RUNTIME_MAJOR 12 it is the last driver of CUDA 12. */
#if defined(RUNTIME_MAJOR) && RUNTIME_MAJOR == 12
#define DRIVER_VERSION 12090
#else
#define DRIVER_VERSION 13000
#endif
#define DEVICE_MAX   8
#define DEVICE_BYTES (16ull << 30)

enum object_kind {
	OBJECT_CONTEXT = 1,
	OBJECT_STREAM,
	OBJECT_EVENT,
	OBJECT_MODULE,
	OBJECT_LIBRARY,
	OBJECT_FUNCTION,
	OBJECT_KERNEL,
	OBJECT_GRAPH,
	OBJECT_NODE,
	OBJECT_EXEC,
	OBJECT_POOL,
	OBJECT_LINK,
	OBJECT_PHYSICAL,
	OBJECT_ARRAY,
	OBJECT_TEXTURE,
};

/* First member of whatever has a handle. A handle is the address; it is valid while the object is in the table. */
struct object {
	enum object_kind kind;
	struct object *next;
};

struct CUctx_st {
	struct object object;
	uint32_t id;
	int device;
	unsigned flags;
	bool primary;
	unsigned users; /* of a primary context */
	unsigned attached;
	struct CUstream_st *null, *streams;
};

/* A kernel that waits for others: its end is not known when it is launched. */
struct gate {
	standin_end *end; /* NULL: the stream has none */
	void *data;
	uint64_t least; /* of its end */
	struct standin_activity kernel;
};

struct CUstream_st {
	struct object object;
	struct CUstream_st *next; /* in the context */
	struct CUctx_st *context;
	uint32_t id;
	unsigned flags;
	int priority;
	uint64_t end;          /* when all that was asked for is over */
	unsigned host_pending; /* host functions that have not returned */
	struct gate
		gate; /* of the last kernel; what comes behind it is only taken when its end is known */
	/* Capture: what is asked for becomes nodes of this graph, each after the ones in @tails. */
	struct CUgraph_st *capture;
	struct CUgraphNode_st **tails;
	size_t tail_cnt;
	bool capture_origin;
	uint64_t capture_id;
};

struct CUevent_st {
	struct object object;
	struct CUctx_st *context;
	uint32_t id;
	unsigned flags;
	bool recorded;
	uint64_t time;
	struct CUstream_st *stream;
	struct CUgraph_st *capture; /* recorded in a stream that captured */
	struct CUgraphNode_st **tails;
	size_t tail_cnt;
	/* Of two processes (cuda_ipc.c): where they find its time. */
	uint64_t *shared_time;
	int file; /* descriptor + 1 */
	bool is_foreign;
};

struct CUfunc_st { /* a function, and a kernel: the same thing to us */
	struct object object;
	struct CUfunc_st *next, *other;
	void *owner;            /* module or library */
	struct cuda_dim3 block; /* cuFuncSetBlockShape */
	unsigned shared;
	char name[];
};

struct CUmod_st { /* a module, and a library */
	struct object object;
	struct CUfunc_st *functions;
	struct image_symbol *symbols;
	bool is_known; /* nothing else is in there */
};

struct CUmemPoolHandle_st {
	struct object object;
	int device;
	uint64_t threshold, used, high;
	uint64_t reserved; /* grows by POOL_STEP, and falls when it is trimmed */
};

enum node_kind {
	NODE_KERNEL = 0,
	NODE_MEMCPY = 1,
	NODE_MEMSET = 2,
	NODE_HOST = 3,
	NODE_EMPTY = 5
};

/* One piece of work, of a stream or of a graph. */
struct work {
	enum node_kind kind;
	struct cuda_kernel_node kernel;
	struct cuda_copy3d copy;
	struct cuda_memset_node memset;
	struct cuda_host_node host;
	const char *name;  /* kernel */
	uint64_t duration; /* kernel: fixed when it was asked for */
};

struct CUgraphNode_st {
	struct object object;
	struct CUgraphNode_st *next;
	struct CUgraph_st *graph;
	uint64_t id, original;
	struct work work;
	struct CUgraphNode_st **deps;
	size_t dep_cnt;
	uint64_t end; /* of the last launch */
};

struct CUgraph_st { /* a graph, and an executable one: a copy of it */
	struct object object;
	uint32_t id, original;
	uint32_t node_cnt;
	struct CUgraphNode_st *nodes, **last;
	bool capturing;
};

struct CUgraphExec_st {
	struct CUgraph_st graph;
};

/* ---- cuda_core.c ---- */

extern struct driver {
	bool up, forked;
	int device_cnt;
	uint32_t next_context, next_stream, next_event, next_graph;
	struct CUctx_st *primary[DEVICE_MAX];
	uint64_t used[DEVICE_MAX];
} driver;

/*
 * A public function is CALL(what it does), under the lock; CALL_EARLY where it works before cuInit.
 * PAIR makes a function and its twin for per-thread default streams; STREAM(handle) is the stream meant.
 */
uint32_t enter(const char *name);
int leave(const char *name, uint32_t correlation, int result);
int ready(void);
#define CALL_EARLY(expression)                                    \
	({                                                        \
		uint32_t call_correlation_ = enter(__func__);     \
		leave(__func__, call_correlation_, (expression)); \
	})
#define CALL(expression)                                      \
	CALL_EARLY(({                                         \
		int ready_result_ = ready();                  \
		ready_result_ ? ready_result_ : (expression); \
	}))
#define PAIR(name, twin, parameters, expression) \
	int name parameters                      \
	{                                        \
		const bool per_thread = false;   \
		(void)per_thread;                \
		return CALL(expression);         \
	}                                        \
	int name##twin parameters                \
	{                                        \
		const bool per_thread = true;    \
		(void)per_thread;                \
		return CALL(expression);         \
	}
#define STREAM(handle) stream_find(handle, per_thread)

void driver_unlock(void);
void driver_lock(void);
/* To be reported once the lock is released; correlation is set here. */
void tell(const struct standin_activity *a);
uint64_t now(void);
/* Releases the lock meanwhile. */
void wait_until(uint64_t when);

/* Zeroed memory in the table of handles. drop frees it. */
void *object_make(enum object_kind kind, size_t bytes);
void *object_find(const void *handle, enum object_kind kind);
void object_drop(void *object);

/* ---- cuda_context.c ---- */
struct CUctx_st *context_current(void);
int context_sync(struct CUctx_st *context);
int context_destroy(struct CUctx_st *context);
int device_attribute(int *value, int attribute, int device);

/* ---- cuda_stream.c ---- */
struct CUstream_st *stream_find(CUstream handle, bool per_thread);
struct CUstream_st *stream_make(struct CUctx_st *context, unsigned flags, int priority,
				uint32_t id);
void stream_free(struct CUstream_st *stream);
/* When the next thing in the stream may begin. */
static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
uint32_t told_correlation(void); /* of the call that this thread is in */
uint64_t stream_begin(const struct CUstream_st *stream);
/* Waits for everything in it, host functions too. */
void stream_wait(struct CUstream_st *stream);
/* Is the end of the stream's work known? @wait: comes back when it is, or the stream is gone. */
bool stream_gate(struct CUstream_st *stream, bool wait);
void host_call(struct CUstream_st *stream, uint64_t when, const struct cuda_host_node *what);

/* ---- cuda_memory.c ---- */
struct memory {
	uint64_t address, bytes;
	int type;    /* CUDA_MEMORY_*: where it lies */
	bool pinned; /* host memory known to the driver */
	int device;
	struct CUmemPoolHandle_st *pool;
	void *physical; /* cuMemMap */
	unsigned flags; /* cuMemHostAlloc */
	/* cuda_ipc.c */
	int file;                      /* descriptor + 1, of what others may open */
	unsigned opened;               /* another process's: how often */
	struct cuda_ipc_handle handle; /* by which */
};
/* The allocation that holds the address; NULL: not ours, pageable host memory. */
const struct memory *memory_find(uint64_t address);

/* Memory of the device that no call asked for by itself: variables of modules, mapped memory. */
int memory_make(uint64_t *address, size_t bytes);
void memory_drop(uint64_t address);
void memory_map(uint64_t address, size_t bytes, int device, void *physical);
void memory_unmap(uint64_t address);
void memory_is_array(uint64_t address);
/* Another process's memory that was opened by this handle, or NULL. */
struct memory *memory_opened(const struct cuda_ipc_handle *handle);

/* ---- cuda_ipc.c: of events that two processes share ---- */
void event_tell(struct CUevent_st *event);
void event_hear(struct CUevent_st *event);
void event_unshare(struct CUevent_st *event);

/* ---- cuda_work.c: what streams and nodes do ---- */
/* In the stream: at once, or a node when it captures. @wait: come back when it is over. */
int work_submit(struct CUstream_st *stream, const struct work *w, bool wait);
/* Does it and reports it; @node: NULL outside a graph. Returns its end. */
uint64_t work_run(struct CUstream_st *stream, const struct work *w, uint64_t start,
		  const struct CUgraphNode_st *node);
struct work work_linear_copy(uint64_t dst, uint64_t src, size_t bytes, int dst_type, int src_type);
uint64_t kernel_duration(const char *name);

/* ---- cuda_graph.c ---- */
struct CUgraph_st *graph_make(void);
struct CUgraphNode_st *node_add(struct CUgraph_st *graph, const struct work *w,
				struct CUgraphNode_st *const *deps, size_t dep_cnt);

/* ---- cuda_capture.c ---- */
int capture_add(struct CUstream_st *stream, const struct work *w);
void capture_record(struct CUstream_st *stream, struct CUevent_st *event);
int capture_wait(struct CUstream_st *stream, struct CUevent_st *event);

/* ---- cuda_proc.c ---- */
int proc_get(const char *name, void **address, int version, uint64_t flags, int *status);

/* ---- cuda_module.c ---- */
/* The name of a function or kernel; NULL: no such handle. */
const char *function_name(const void *handle);
int function_launch(struct CUstream_st *stream, const void *function, struct cuda_dim3 grid,
		    struct cuda_dim3 block, unsigned shared);
enum {
	JIT_LOG_BYTES = 4,
	JIT_ERROR_BYTES = 6
};
void jit_answer(unsigned cnt, const int *options, void **values);

/* ---- cuda_array.c ---- */
/* Where it lies; false: no such array. */
bool array_place(const void *handle, uint64_t *address, size_t *pitch, size_t *height);

/* ---- cuda_link.c ---- */
/* The whole file with a 0 behind it, to be freed, or NULL. */
char *file_read(const char *path, size_t *bytes);
