/*
 * hangs.h - waits that had not ended when the recording did, or when the process was killed: what a program that hangs waits for, and
 * threads that wait for each other.
 */
#pragma once

#include "exporters/why/walk/walk.h"

#define WHY_HANG_LEAST 1000000000 /* ns */

struct why_hang {
	uint32_t thread;
	struct why_cause cause;
	int64_t ns; /* up to the end; of a thread without switches, the whole recording; of a look: not known */
	uint32_t owner;   /* the thread that has the lock, or is to end; WHY_NONE: not known */
	uint32_t cycle;   /* threads with the same number wait for each other; 0: none */
	uint32_t waiters; /* threads that wait for this one, also by others */
	bool is_killed;   /* the wait ended when the process was killed */
};

struct why_hangs {
	WHY_LIST(
		why_hang,
		list); /* those of cycles first, in the order of the cycle; then those that most threads wait for; then the longest */
	uint32_t cycles;
};

struct why;

/* After the walk is open. SQLite's result code. */
int why_find_hangs(struct why_hangs *h, struct why *y);
/* Is this the wait of a culprit that never ended? No change of the program that runs on wins its time. */
bool why_hangs_at(const struct why_hangs *h, uint32_t thread, const struct why_cause *cause);
void why_hangs_free(struct why_hangs *h);
