/*
 * gpu.h - the time of each GPU between the first launch and the last completion: kernels, only copies, idle. Idle time is due to
 * the thread that launches the next operation, by its walk until the launch; then to the launch itself, and to the time until the
 * operation begins.
 */
#pragma once

#include "exporters/why/model/focus.h"
#include "exporters/why/walk/walk.h"

struct why_gpu {
	uint32_t device;
	uint32_t thread; /* the thread that launched most; WHY_NONE: not known */
	size_t ops, votes;
	int64_t from, to; /* first launch, last completion; within the wall time */
	int64_t kernel, copy, latency, launch, host, unknown; /* ns; the sum is to - from */
	struct walk walk;                                     /* leaves of the whole time */
};

struct why_gpus {
	WHY_LIST(why_gpu, list); /* in order of device */
};

/* Lists the GPUs that worked in the wall time, without partitions. SQLite's result code; why_gpus_free() in any case. */
int why_list_gpus(struct why_gpus *g, const struct why_model *m);
/* Partitions the time of each GPU, each with a walk of its own. SQLite's result code. */
int why_find_gpus(struct why_gpus *g, const struct why_model *m);
void why_gpus_free(struct why_gpus *g);

/* Adds the leaves of [@from, @to) of a GPU to a walk. */
void why_gpu_cover(struct walk *w, const struct why_gpu *g, int64_t from, int64_t to);
