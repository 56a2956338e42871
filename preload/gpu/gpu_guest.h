/* gpu_guest.h - libtrace-cuda.so as the shim uses it: gpu_cupti.c loads it, gpu_worker.c calls it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/cupti/cupti.h"

#pragma GCC visibility push(hidden)

extern struct sl_gpu_guest {
	struct sl_cuda_guest call;
	uint32_t pid; /* of the process that loaded it; differs in a forked child */
	bool is_on;   /* CUPTI delivers, or is lent to the program */
} sl_gpu_guest;

/* Prepares this thread's ring where necessary. CUPTI's threads have one, and the program's with SL_COOKIE_QUIET may. */
bool sl_gpu_ring_is_ready(void);

/* ---- gpu_worker.c ---- */

void sl_gpu_start_worker(void);
/* The first buffer was requested: by CUPTI, on any thread, inside a call of the program. */
void sl_gpu_work_begun(void);

#pragma GCC visibility pop
