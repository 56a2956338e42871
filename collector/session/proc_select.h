/* proc_select.h - processes that run already: permission to follow them, their names, their descendants. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct running {
	uint32_t pid, parent;
	int64_t start_ns; /* CLOCK_MONOTONIC, to a hundredth of a second; may lie before the machine's start */
};

/* Checks whether @pid can be followed. 0, or -errno and a sentence without its end in @why that names a remedy. */
int running_check(uint32_t pid, char *why, size_t why_len);
/* All processes, but this one. malloc'd; the number, or -errno. */
int running_all(struct running **list);
/* The session's directory that @pid found in its environment. False: it has none, or none may look. */
bool running_session(uint32_t pid, char *dir, size_t size);
