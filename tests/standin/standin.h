/*
 * standin.h - how the stand-ins for NVIDIA's libraries connect. They offer the public API alone, so that
 * programs compiled against the real headers run on them without a GPU; what happened "on the GPU" goes to the
 * stand-in for CUPTI through the observer below (the real ones use private tables).
 *
 * Time is CLOCK_MONOTONIC ns. A stream executes one thing after the other; a kernel takes the time that the program
 * asked for (see standin_kernel_ns), a copy bytes / bandwidth. Nothing sleeps: times are computed, synchronising
 * waits until they are over; calls that are slow on a real GPU are as slow here (cuda_time.h).
 *
 * STANDIN_COUNTS=FOLDER: each process that calls a public function of a stand-in writes a file FOLDER/PID there (count.c).
 * It is right at any time, however the process ends. Lines: how often, the function, the caller, and "unsupported"
 * where the stand-in has no more than the name. The caller is "program", or the stand-in out of whose public function
 * the call came: calls of the driver by the runtime name libcudart. Not counted: libcudart_static.a. "work" and "node":
 * what the GPU did (kernel, memcpy, memset, graph), as a part of a graph.
 */
#pragma once

#include <stdint.h>

enum standin_kind {
	STANDIN_KERNEL = 1,
	STANDIN_MEMCPY,
	STANDIN_MEMSET,
	STANDIN_SYNC,
	STANDIN_EVENT,
	STANDIN_GRAPH, /* a whole graph launch; its nodes are reported as kernels and copies with graph_node set */
	STANDIN_ALLOC,
	STANDIN_FREE,
	STANDIN_CONTEXT, /* made */
	STANDIN_STREAM, /* made; value: priority, sync_type: 0 plain, 1 does not block, 2 the default stream */
	STANDIN_GRAPH_NODE, /* made */
	STANDIN_MODULE,     /* loaded: start, end of the loading (overhead) */
	STANDIN_COMPILE,    /* PTX became machine code */
	STANDIN_POOL,       /* of memory; value: 1 made, 2 destroyed, 3 trimmed to bytes */
};

/* Fields that a kind does not have are 0; enumerations are those of CUPTI's public headers. */
struct standin_activity {
	enum standin_kind kind;
	uint64_t start, end;
	uint32_t correlation; /* of the call that asked for it */
	uint32_t device, context, stream;
	const char *name; /* kernels: mangled */
	uint32_t grid[3], block[3], shared, registers;
	uint64_t bytes, address;
	uint32_t value; /* memset */
	uint8_t copy_kind, src_kind, dst_kind, memory_kind;
	uint32_t sync_type, event;
	uint64_t graph_node, original_node;
	uint32_t graph, graph_exec;
	struct {
		uint64_t address, size, used, threshold; /* address 0: none */
	} pool;
};

struct standin_observer {
	/* A public function is entered or left, outermost or not. @name: as the library exports it. @correlation: one
	 * per call that is not inside another; calls inside it have the outer's. */
	void (*api)(int is_exit, int is_driver, const char *name, uint32_t correlation, int result);
	/* Reported when its end is known, by the thread that asked for it, before the API call returns. */
	void (*activity)(const struct standin_activity *a);
};

/*
 * Exported by the stand-in libcuda.so.1. observe: NULL takes the observer away; 0 or -1 when there is one already.
 * api: the stand-in runtime reports its calls through this one; returns the correlation id in force.
 */
int standin_observe(const struct standin_observer *observer);
uint32_t standin_api(int is_exit, int is_driver, const char *name, uint32_t correlation,
		     int result);

/* Reports the contexts that exist, as if they were made now; not inside of a call. */
void standin_dump_contexts(void);

/* The driver's exit handler has run, which was registered by the first cuInit(). */
int standin_driver_is_over(void);
int standin_driver_is_up(void); /* cuInit() has succeeded */

/*
 * How long the next kernels of this thread take: kernels of the stand-in have no code. A kernel whose mangled name
 * holds "_us<N>_" takes N microseconds, others standin_kernel_ns (default 5,000).
 */
extern uint64_t standin_kernel_ns;

/*
 * The next kernel of this thread waits for others: @end is called with its begin at once, and later again, until it returns
 * the kernel's end; 0: not known yet. The time in its name is the least. Taken when the stream is waited for.
 */
typedef uint64_t standin_end(void *data, uint64_t start);
void standin_next_ends(standin_end *end, void *data);
