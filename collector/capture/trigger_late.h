/*
 * trigger_late.h - a rank's own time in each of its steps, for the trigger rank-late: a step's time
 * less that of NCCL's kernels in it, which wait for the other ranks. The ranks are compared
 * elsewhere (job/job_late.c).
 */
#pragma once

#include "collector/capture/rank_pace.h"
#include "collector/collect/arenas.h"

struct trigger_late;

/* NULL: no memory. */
struct trigger_late *trigger_late_new(void);
/*
 * Lines are written to @fd: of each step NAME\tSTEP\tNS, if @has_steps; every RANK_PACE_NS of each rank "@" and its pace
 * (job_pace_write()).
 */
void trigger_late_to(struct trigger_late *l, int fd, bool has_steps);
/* Of the thread that makes the steps of its process; NULL: it does not. */
struct rank_pace *trigger_late_pace(struct trigger_late *l, const struct arena *a,
				    const struct thread *t);
/* A range that is a step has ended on a thread; ticks. */
void trigger_late_step(struct trigger_late *l, const struct arenas *as, const struct arena *a,
		       const struct thread *t, uint64_t start, uint64_t ticks);
/* SL_META_RANK of a process. */
void trigger_late_rank(struct trigger_late *l, const struct arena *a, const struct thread *t,
		       const char *bytes, size_t len);
/* A SL_SHAPE_GPU record. */
void trigger_late_gpu(struct trigger_late *l, struct arena *a, const struct thread *t,
		      const struct call *c);
/* Writes the steps of which all is known. @now: CLOCK_MONOTONIC ns. */
void trigger_late_round(struct trigger_late *l, int64_t now);
void trigger_late_free(struct trigger_late *l);
