/* choose.h - which source samples which GPU. */
#pragma once

#include "collector/probe/source.h"

/*
 * The command line of sl-gpu. Lists are as the user wrote them: checked by the collector's options,
 * except for the GPUs that exist.
 */
struct choose_ask {
	const char *
		devices; /* --gpu-metrics-devices; NULL: not given: GPM alone, where there is one */
	const char *visible;   /* CUDA_VISIBLE_DEVICES of the program; NULL: none */
	const char *set;       /* --gpu-metrics-set, one or one for each device; NULL: not given */
	const char *frequency; /* --gpu-metrics-frequency, likewise */
	int64_t rows;          /* values per second of all GPUs together */
	int64_t health_hz;     /* --gpu-health; 0: none */
	bool is_default;       /* nothing was asked for: a machine without a driver is no news */
};

/* Samples until out_end(); in the calling thread and in others that it starts. */
void choose_run(struct out *o, const struct choose_ask *ask);
/* Events of the driver, in a thread of its own; returns at once. */
struct gpus;
void events_start(struct gpus *g, struct out *o);
