/* look.h - a report of a look at processes that run, what each of their threads waits for, with stacks; or of samples of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/waits/open_samples.h"

#define LOOK_PIDS_MAX 256

struct look_ask {
	const char *report; /* absolute path of a new file */
	bool overwrite;
	uint32_t pid[LOOK_PIDS_MAX];
	size_t cnt;
	bool children;              /* also of the processes that they have started */
	struct samples_ask samples; /* every_ns 0: one look */
};

/* Nothing is done to the processes. 0, or -errno and a sentence in @why. */
int look_write(const struct look_ask *ask, char *why, size_t why_len);
