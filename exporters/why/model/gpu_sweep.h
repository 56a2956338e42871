/* gpu_sweep.h - the operation that a GPU runs at each time: kernels before copies, as copies may run beside kernels. */
#pragma once

#include "exporters/why/model/model.h"

struct gpu_sweep {
	const struct why_model *m;
	uint32_t process, device;           /* WHY_NONE: all of them */
	size_t next;                        /* the first operation that has not begun */
	const struct why_op *kernel, *copy; /* the last to end of the begun ones; NULL: none */
};

/* From @time on; times may only grow. */
void gpu_sweep_begin(struct gpu_sweep *s, const struct why_model *m, uint32_t process,
		     uint32_t device, int64_t time);
/* The operation that runs at @time, NULL: none; the same until *@until. */
const struct why_op *gpu_sweep_at(struct gpu_sweep *s, int64_t time, int64_t *until);
/* While the GPU is idle: the next operation, NULL: none. */
const struct why_op *gpu_sweep_next(const struct gpu_sweep *s);
