/*
 * cupti.h - between libtrace.so and libtrace-cuda.so, which is loaded (dlopen, RTLD_LOCAL) by the first call into CUDA
 * and holds whatever touches CUPTI. It links with libc alone and finds libcupti by dlopen.
 *
 * Rules: nothing here may call the CUDA runtime or driver from inside a hook or a CUPTI callback, hold a lock while
 * calling CUPTI, or do anything in a forked child. Every failure is one SL_GPU_REC_STATUS record, never an abort.
 */
#ifndef SL_CUPTI_H
#define SL_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/gpu_wire.h"

/*
 * Between the end of something and its record lies the time that a thread may have been off the CPU: what ended so long
 * before a flush has been handed over with it.
 */
#define SL_CUDA_SLACK_NS 100000000u

/* What libtrace.so offers; from any thread, at any time; nothing blocks for longer than the session's --on-full. */
struct sl_cuda_host {
	uint32_t bytes;        /* of this structure */
	uint32_t wire_version; /* SL_WIRE_VERSION: both libraries come from one build */
	uint32_t flags;        /* SL_CUDA_* (session.h) */
	uint32_t flush_ms;
	uint32_t recording; /* 0: what the GPU does is wanted from record(true) on */
	uint32_t reserved;
	/* Writes a SL_SHAPE_GPU record into the calling thread's ring; @bytes: multiple of 8. */
	void (*record)(enum sl_gpu_record kind, const void *payload, size_t bytes);
	/* Tells a text under a new id. The same text again is another id: intern before. 0: no room. */
	uint32_t (*string)(const char *text, size_t len);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC ns */
	/* The path of libcupti that the process has loaded already, or NULL. */
	const char *(*loaded_cupti)(void);
	/* dlopen and dlsym, past our own hooks: in older glibc they are in a library of their own, and there is no
	 * linking with that here. */
	void *(*load)(const char *path, int flags);
	void *(*symbol)(void *handle, const char *name);
};

struct sl_cuda_guest {
	/*
	 * Hands over what CUPTI has; @final: the process is about to exit normally. Does nothing in a forked child.
	 * CUPTI's own worker hands over full buffers only: to be called whenever flush_ms have passed, and once after
	 * the first call (unified memory counters cannot be enabled before cuInit).
	 */
	void (*flush)(bool final);
	/*
	 * From now on what the GPU does is wanted, or not: work that is launched later. What exists (devices, contexts,
	 * streams) is told of in any case. Off: hands over what there is. One caller at a time.
	 */
	void (*record)(bool on);
	/* The program is about to subscribe itself (torch.profiler, ...): give the slot up. True: it is free now. */
	bool (*yield)(void);
};

/* Exported by libtrace-cuda.so. Zero: CUPTI delivers; else a STATUS record has said why not. */
int sl_cuda_start(const struct sl_cuda_host *host, struct sl_cuda_guest *guest);
typedef int sl_cuda_start_fn(const struct sl_cuda_host *host, struct sl_cuda_guest *guest);

#endif
