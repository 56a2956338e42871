/* look.h - a report of one look at processes that run: what each of their threads waits for, with stacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOK_PIDS_MAX 256

struct look_ask {
	const char *report; /* absolute path of a new file */
	bool overwrite;
	uint32_t pid[LOOK_PIDS_MAX];
	size_t cnt;
	bool children; /* also of the processes that they have started */
};

/* Nothing is done to the processes. 0, or -errno and a sentence in @why. */
int look_write(const struct look_ask *ask, char *why, size_t why_len);
