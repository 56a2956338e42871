/*
 * cupti.h - interface of libtrace-cuda.so, which libtrace.so loads (dlopen, RTLD_LOCAL) at the first CUDA call, and which
 * alone uses CUPTI. It links with libc only and finds libcupti by dlopen.
 *
 * Rules: nothing here may call the CUDA runtime or driver from inside a hook or a CUPTI callback, hold a lock while
 * calling CUPTI, or do anything in a forked child. Every failure is one SL_GPU_REC_STATUS record, never an abort.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/gpu_wire.h"

/*
 * Bound for the delay between the end of an activity and its record, as a thread may be off-CPU in between: activity that
 * ended this long before a flush was delivered by it.
 */
#define SL_CUDA_SLACK_NS 100000000u

/*
 * A program that uses CUPTI itself: what it registered, which CUPTI gets back whenever it is lent. CUPTI keeps one of each
 * per process.
 */
struct sl_cuda_client {
	void *requested,
		*completed;      /* buffer callbacks, NULL none: the host's, around the program's */
	uint64_t (*clock)(void); /* timestamp callback, NULL: CUPTI's default */
	uint32_t is_subscribed;
	uint32_t buffers_out; /* atomic: CUPTI has so many of the program's */
	char name[56];        /* of the object that called CUPTI first */
};

/* Services of libtrace.so, for any thread at any time; none blocks longer than the session's --on-full. */
struct sl_cuda_host {
	uint32_t bytes;        /* of this structure */
	uint32_t wire_version; /* SL_WIRE_VERSION: both libraries come from one build */
	uint32_t flags;        /* SL_CUDA_* (session.h) */
	uint32_t flush_ms;
	uint32_t recording; /* 0: GPU activity is recorded from record(true) on */
	uint32_t
		has_runtime; /* the program's CUDA runtime is a shared library: hooks see its calls */
	const struct sl_cuda_client
		*client; /* uses CUPTI already: it is lent from the start; or NULL */
	/* Writes a SL_SHAPE_GPU record into the calling thread's ring; @bytes: multiple of 8. */
	void (*record)(enum sl_gpu_record kind, const void *payload, size_t bytes);
	/* Records a text and returns its new id. Does not intern: the same text gets another id. 0: no room. */
	uint32_t (*string)(const char *text, size_t len);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC ns */
	/* The path of a libcupti that the process has loaded already, or NULL. */
	const char *(*loaded_cupti)(void);
	/* Takes a buffer of the program's, completed while CUPTI was not lent. */
	void (*completed)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid);
	/* The real dlopen and dlsym, which are not recorded: in older glibc they are in libdl, which this library does not
	 * link with. */
	void *(*load)(const char *path, int flags);
	void *(*symbol)(void *handle, const char *name);
	/* CUPTI has requested its first buffer. May be NULL. */
	void (*begun)(void);
};

struct sl_cuda_guest {
	/*
	 * Delivers the records that CUPTI buffers; @final: the process is about to end, or to exec. No-op in a forked child.
	 * CUPTI's own worker delivers full buffers only: to be called every flush_ms, and once after the first call
	 * (unified memory counters cannot be enabled before cuInit).
	 */
	void (*flush)(bool final);
	/*
	 * Work that is launched from now on is recorded, or not. Devices, contexts and streams are recorded in any case. May
	 * be called before any call of the program: disables nothing, which can block. One caller at a time, also of rest().
	 */
	void (*record)(bool on);
	/* Disables what nothing needs while nothing is recorded. By a thread that the program does not wait for. */
	void (*rest)(void);
	/* CUPTI is not called any more, not even by the other functions. No thread is in one of them. */
	void (*end)(void);
	const char *library; /* path of the libcupti in use */
	/*
	 * The program is about to use CUPTI itself (torch.profiler, ...): delivers the buffered records, gives back all that
	 * was set, and unsubscribes. True: the slot is free now. One caller at a time, as for resume().
	 */
	bool (*yield)(const struct sl_cuda_client *client);
	/* The program has ended its use: records again. False: not lent, or CUPTI refuses. */
	bool (*resume)(const struct sl_cuda_client *client);
	/* Takes a buffer that came while CUPTI was lent. False: it is the program's. */
	bool (*completed)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid);
	bool (*owns)(const uint8_t *buffer);
	/* The program sets an attribute that is set otherwise until yield(). True: it gets this value then. */
	bool (*attribute)(int attribute, size_t bytes, const void *value);
};

/* Exported by libtrace-cuda.so. Zero: CUPTI delivers; else a STATUS record has the reason. */
int sl_cuda_start(const struct sl_cuda_host *host, struct sl_cuda_guest *guest);
typedef int sl_cuda_start_fn(const struct sl_cuda_host *host, struct sl_cuda_guest *guest);
