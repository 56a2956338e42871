/* attach_options.h - what `sightline attach` was asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/options/profile_options.h"

#define ATTACH_PIDS_MAX 256

struct attach_options {
	struct profile_options o;
	bool inject;
	bool asks_kernel; /* for something that a session does not record by itself */
	uint32_t pid[ATTACH_PIDS_MAX];
	size_t cnt;
};

/* 0, or an exit status + 1 after a line for the user, or after the help. */
int attach_options_read(int argc, char **argv, struct attach_options *to);
