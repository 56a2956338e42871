/* gpu_sweep.h - what a GPU does from one time to the next: kernels before copies, as those may run beside them. */
#pragma once

#include "exporters/why/model.h"

struct gpu_sweep {
	const struct why_model *m;
	uint32_t process, device; /* WHY_NONE: all of them */
	size_t next;              /* the first operation that has not begun */
	const struct why_op *kernel,
		*copy; /* of those that have begun, the ones that end last; NULL: none */
};

/* From @time on; times may only grow. */
void gpu_sweep_begin(struct gpu_sweep *s, const struct why_model *m, uint32_t process,
		     uint32_t device, int64_t time);
/* What runs at @time, NULL: nothing; the same until *@until. */
const struct why_op *gpu_sweep_at(struct gpu_sweep *s, int64_t time, int64_t *until);
/* While nothing runs: what begins next, NULL: nothing. */
const struct why_op *gpu_sweep_next(const struct gpu_sweep *s);
