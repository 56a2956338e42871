/*
 * inject.h - brings libtrace.so into a running process, and waits until it has left.
 *
 * One thread of the process is stopped for a millisecond or two, in which it maps two pages and starts a thread (call.h, stub.h); that one
 * opens the library and attends to the session (preload/core/late.c). It leaves by itself when the session's socket closes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inject {
	pid_t pid;
	uint64_t data;      /* address of its stub_data in the process */
	int64_t stopped_ns; /* for which one thread was stopped, the longest time */
	uint32_t tries;     /* threads that were stopped */
};

/*
 * Whether process @pid can be entered by @library (an absolute path), as far as that can be seen without touching it. 0, or -errno and
 * a sentence in @why that names a remedy.
 */
int inject_check(pid_t pid, const char *library, char *why, size_t why_len);
/*
 * Enters; @variable: the value of SIGHTLINE_SESSION. Returns when the calls of the process are led to the library, while the session's
 * gate is closed. 0, or -errno and a sentence; then the process goes on as if nothing had been.
 */
int inject_enter(struct inject *in, pid_t pid, const char *library, const char *variable, char *why,
		 size_t why_len);
/* After the session's socket is closed: waits until the process has left, for @limit_ms at most. False: it has not. */
bool inject_wait_left(const struct inject *in, int limit_ms);

/* The first gate of a session that running processes enter: later than those of earlier sessions (late.h), and closed. */
uint32_t inject_first_gate(void);
