/*
 * replay.h - the recording once more, with something changed: when would the focus thread have come to the end?
 *
 * Events are taken in their recorded order; each thread and each stream of a GPU has a time of its own for each edit. A span
 * on a CPU, a timer, a disk, a remote peer add their lengths; a wake-up makes the woken thread as late as its waker; work of
 * a GPU begins when its launch and the work before it in its stream allow. With no edit, each time is the recorded one.
 */
#pragma once

#include "exporters/why/why.h"

#define REPLAY_EDITS 32 /* at most, the one that changes nothing included */
#define REPLAY_ANY   UINT32_MAX

/* What is changed, kernels of a GPU never. Zeroed but for @keep = 1 and @sync = REPLAY_ANY: nothing. */
struct replay_edit {
	uint64_t culprits; /* a bit for each index of why.culprits */
	double keep;       /* share of their spans that stays */
	bool only_lines; /* spans of the lines alone that culprits are called by, not of those joined with them */
	const double *of_thread; /* the same by thread, instead of @keep; NULL: none */
	bool with_imports;       /* what the culprits import belongs to their spans */
	bool without_cpu_waits;  /* the waits for a CPU that belong to the spans go with them */
	bool without_tracer;     /* what records the program takes no time */
	bool keeps_order; /* of those that wait for a lock; else each wait for a lock keeps its length */
	bool keeps_jobs; /* a sleep lasts until the jobs are done that others do for the thread meanwhile, a poll until
			  * what ended it has come, if that was from outside */
	uint32_t sync; /* a place: its waits for the GPU do not happen; REPLAY_ANY: none */
};

/* Calls of the focus thread that wait for the GPU, at one place. */
struct replay_sync {
	uint32_t place;
	int64_t ns; /* while the GPU worked */
};

struct replay {
	const struct replay_edit *edits; /* the first changes nothing */
	size_t cnt;
	int64_t end
		[REPLAY_EDITS]; /* when the focus thread, or GPU, comes to why.to, all between spans left out */
	/* Of the spans of each culprit, without waits for others or a CPU; by culprit and thread, malloc'd. */
	struct replay_sum {
		int64_t ns, waits, first, last, cnt;
	} * sums;
	size_t culprits; /* so many have sums */
	/* Where the focus thread waited for its GPU in calls that bring nothing back; by place, malloc'd. */
	WHY_LIST(replay_sync, syncs);
};

/* Replays [y->from, y->to). @r: zeroed but for edits, cnt and culprits. SQLite's result code. */
int replay_run(struct why *y, struct replay *r);
void replay_free(struct replay *r);
