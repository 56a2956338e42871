/*
 * runners.h - code that is called from within: callbacks that block their event loop, so that all others wait, and pools whose only
 * worker does one job after the other.
 */
#pragma once

#include "exporters/why/walk/walk.h"

/* A place that blocked the event loop of a thread. */
struct why_block {
	uint32_t thread, runner; /* enum frame_runner */
	struct why_cause cause;
	int64_t ns, longest, cnt;
};

/* The only worker of a pool, for whose jobs the focus thread waits. */
struct why_pool {
	uint32_t thread, runner;
	uint32_t place; /* with most time of the jobs */
	int64_t ns;     /* of the focus thread's time */
	int64_t jobs;   /* waits of the focus thread that it ended */
};

struct why_runners {
	WHY_LIST(why_block, blocks); /* most time first */
	WHY_LIST(why_pool, pools);
};

struct why;

/* After the walk from the focus. SQLite's result code. */
int why_find_runners(struct why_runners *r, struct why *y);
void why_runners_free(struct why_runners *r);
