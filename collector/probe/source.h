/*
 * source.h - sources of samples of a GPU, and how they hand them on: the parts of sl-gpu.
 *
 * A source is opened for one GPU by the thread that then polls it and closes it at last. Which
 * source a GPU gets is decided in choose.c: the best one that opens. Sources load libraries by
 * dlopen() and print nothing: samples and messages go through out.h's functions, declared here.
 */
#pragma once

#include "collector/probe/frame.h"

#include <stdbool.h>
#include <stdio.h>

struct nvml;
struct out;

struct probe_gpu {
	struct probe_gpu_info info;
	unsigned
		index; /* of NVML: in the order of PCI addresses; of a MIG instance that of its GPU */
	const struct nvml *nvml;
	void *device; /* nvmlDevice_t; of a MIG instance its own */
	void *parent; /* of a MIG instance: the GPU's */
};

/* The request for one GPU. */
struct source_want {
	const char *set; /* --gpu-metrics-set: alias or "file:PATH"; NULL: the first that fits */
	int64_t hz;      /* --gpu-metrics-frequency */
	int64_t rows; /* values per second at most: a source that would give more lowers its rate (stream.reason) */
	const char *
		reason; /* why this source and no better one, for stream.reason; NULL: it is the best */
};

#define SOURCE_WHY 384
_Static_assert(sizeof(((struct probe_stream *)0)->reason) == SOURCE_WHY, "a reason is a stream's");
/* Why a source could not be opened, or ended. */
struct source_why {
	char text
		[SOURCE_WHY]; /* one line without a full stop: the failure, then a remedy for the user */
	bool is_final; /* no other source need be tried: the GPU is gone, or the set is not known */
};

struct source {
	const char *name; /* pm, gpm, nvml */
	/*
	 * Begins to sample: describes its stream(s), then frames may come. NULL: it cannot, see
	 * @why. Slow work (loading a driver) stands between out_patience() calls.
	 */
	void *(*open)(struct probe_gpu *gpu, const struct source_want *want, struct out *out,
		      struct source_why *why);
	/*
	 * Hands on the samples so far. Returns CLOCK_MONOTONIC of the next call; -1: the source has
	 * ended (@why), and only close() follows.
	 */
	int64_t (*poll)(void *source, struct source_why *why);
	void (*close)(void *source);
};

extern const struct source source_pm, source_gpm, source_nvml;
/* Prints one line for each value of --gpu-metrics-set, as nsys does: "NAME: METRICS for CHIPS (any frequency)". */
void source_pm_print_sets(FILE *to);
/* Can PM sampling sample this GPU at all, whatever the permissions? Its chip (may be ""), or why not. */
bool source_pm_supports(struct probe_gpu *gpu, char chip[16], char *why, size_t why_len);

/* ---- writing functions for sources (out.c). All may be called from any thread. ---- */

/* The clock of PROBE_MONOTONIC, ns. */
int64_t out_now(void);

/* A moment of another clock, and out_now() then. */
struct out_pair {
	int64_t its, mono;
};
/* Reads both clocks together: of several tries the closest, since a thread may lose its CPU between two reads. */
struct out_pair out_pair(int64_t (*read)(const void *ctx), const void *ctx);

/* A number for a stream that is new; @stream's number is set, its names follow it. False: there are too many. */
bool out_stream(struct out *o, struct probe_stream *stream, const struct probe_name *name,
		unsigned cnt);
/* False: no room in the ring; the frame is counted as dropped, and a gap is written before the next one that fits. */
bool out_values(struct out *o, unsigned stream, int64_t t0, int64_t t1, const double *value,
		unsigned cnt);
void out_gap(struct out *o, unsigned stream, int64_t t0, int64_t t1, enum probe_why why);
/* The pair of a stream's clock. */
void out_clock(struct out *o, unsigned stream, struct out_pair pair);
void out_event(struct out *o, const struct probe_event *event);
void out_note(struct out *o, unsigned severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The calling thread lives. Called by the thread's loop around poll(); a source with a long poll calls it, too. */
void out_beat(struct out *o);
/* The calling thread may be silent for @ms from here on (0: as usual, PROBE_PATIENCE_MS). */
#define PROBE_PATIENCE_MS 2000
void out_patience(struct out *o, unsigned ms);
/* The collector is gone, or wants an end: sources return as soon as they can. */
bool out_is_over(const struct out *o);
