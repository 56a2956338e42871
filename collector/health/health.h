/*
 * health.h - samples of GPUs, from sl-gpu (collector/probe/frame.h) to rows: GPU_METRICS,
 * SL_COUNTER_SAMPLES and their tables of names.
 *
 *   health.c          starts sl-gpu, watches it, ends it
 *   health_intake.c   its messages: GPUs, streams, events, notes
 *   health_ring.c     its frames, into queues, one for each stream; times on the collector's clock (health_clock.h)
 *   health_rows.c     from the queues to rows, in the order of time
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/event_loop.h"
#include "collector/options/health_options.h"
#include "collector/source/event_source.h"

extern const struct event_source health_source;

struct db;
struct health;
struct probe_gpu_info;
struct windows;

struct health_ask {
	struct health_options options; /* texts are copied */
	const char *visible;           /* CUDA_VISIBLE_DEVICES of the program; NULL: none */
	struct loop *loop;
	/* TARGET_INFO_GPU.id of a GPU; -1: there is no room. */
	int64_t (*number)(void *ctx, const uint8_t uuid[16], const struct probe_gpu_info *info);
	/* Writes its row there, unless the report has it. */
	void (*gpu)(void *ctx, int64_t id, const struct probe_gpu_info *info);
	/* A line for the user. */
	void (*say)(void *ctx, int severity, const char *text);
	void *ctx;
	int64_t keep_ns; /* samples are kept so long for a window in the past (flight recorder); 0: not */
	size_t keep_bytes; /* and take so much memory at most; 0: the usual */
};

/* Is there anything to be sampled on this machine, or was it asked for in words? Else sl-gpu is not started. */
bool health_is_wanted(const struct health_options *o);
/* Starts sl-gpu. NULL: it cannot be (a line was given to say()). */
struct health *health_open(const struct health_ask *ask);
/* Waits until its sources have begun, @ms at most: so that the program's first moments are sampled. */
void health_wait_ready(struct health *h, int ms);
/* True: it was started with the options @o. */
bool health_is_as_asked(const struct health *h, const struct health_options *o);

/*
 * Writes rows of the samples in @windows; samples at @hold (CLOCK_MONOTONIC) or later wait for the
 * next report. @zero: CLOCK_MONOTONIC at session time 0. @all: also samples that an earlier one may
 * still precede.
 */
struct event_rows health_write(struct health *h, struct db *db, const struct windows *windows,
			       int64_t zero, int64_t hold, bool all);
/* CLOCK_MONOTONIC up to which all hardware metrics have come; INT64_MAX: there are none. */
int64_t health_is_read_to(const struct health *h);
/* Reports follow each other: the next one does not know the streams yet. */
void health_renew(struct health *h);
/* The recording is over: takes the last samples of sl-gpu, and ends it. health_write() gives the rows. */
void health_end(struct health *h);
void health_close(struct health *h);
