/*
 * rank_pace.h - where the time of a rank's thread goes that makes its steps, over the last seconds: for `sightline ranks top`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/job/job.h"

#define RANK_PACE_NS      INT64_C(2000000000) /* between two samples */
#define RANK_PACE_SAMPLES 6u
#define RANK_PACE_RECENT  512u

struct rank_pace {
	struct job_pace sum;                       /* since it began */
	struct job_pace sample[RANK_PACE_SAMPLES]; /* sum, in a ring; span: CLOCK_MONOTONIC ns */
	unsigned cnt;                              /* samples ever */
	uint32_t tid;                              /* of the samples */
	/* Calls that count, in a ring: a call into a GPU library may turn out to be around them. */
	struct {
		uint64_t start; /* ticks */
		int64_t ns;
		enum job_part part;
	} recent[RANK_PACE_RECENT];
	unsigned recent_next, recent_cnt;
};

/* A step took @step_ns, of which @own_ns without kernels of NCCL. */
void rank_pace_step(struct rank_pace *p, int64_t step_ns, int64_t own_ns);
/* A call of the thread into the C library, SL_H_*, that began at @start (ticks). */
void rank_pace_call(struct rank_pace *p, unsigned hook, uint64_t start, int64_t ns);
/* A call into a GPU library that began then has ended: what it called itself is the GPU's time. */
void rank_pace_gpu_call(struct rank_pace *p, uint64_t start);
/* Takes a sample of the thread. True: @last has what it did since the oldest sample. */
bool rank_pace_sample(struct rank_pace *p, uint32_t pid, uint32_t tid, int64_t now,
		      struct job_pace *last);
