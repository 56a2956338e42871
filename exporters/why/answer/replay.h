/*
 * replay.h - the recording once more, with something changed: when would the focus thread have come to the end?
 *
 * Events are taken in their recorded order; each thread and each stream of a GPU has a time of its own for each edit. A span
 * on a CPU, a timer, a disk, a remote peer add their lengths; a wake-up makes the woken thread as late as its waker; work of
 * a GPU begins when its launch and the work before it in its stream allow. With no edit, each time is the recorded one.
 */
#pragma once

#include "exporters/why/answer/why.h"

#define REPLAY_EDITS 32 /* at most, the one that changes nothing included */
#define REPLAY_ANY   UINT32_MAX

/* A change of the recording; kernels of a GPU stay as they are. Zeroed but for @keep = 1 and @sync = REPLAY_ANY: none. */
struct replay_edit {
	uint64_t culprits; /* a bit for each index of why.culprits */
	double keep;       /* share of their spans that stays */
	bool only_lines; /* spans at each culprit's own line alone, without the lines joined with it */
	const double *of_thread; /* share by thread, instead of @keep; NULL: none */
	int64_t from,
		to; /* of messages: in this time @keep applies to what each of them costs, in all threads; 0: none */
	bool with_imports;      /* the culprits' imports belong to their spans */
	bool without_cpu_waits; /* the waits for a CPU that belong to the spans go with them */
	bool without_tracer;    /* the tracer takes no time */
	bool keeps_order; /* of the threads that wait for a lock; else each such wait keeps its length */
	bool keeps_jobs; /* a sleep lasts until the jobs are done that others do for the thread meanwhile, a poll until
			  * the recorded event has come, if an event from outside ended it */
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
		int64_t looks; /* sleeps and polls */
		int64_t timed,
			asked; /* ns of them; of these, while another thread worked for this one */
	} * sums;
	size_t culprits; /* the number of culprits with sums */
	/* Where the focus thread waited for its GPU in calls that bring nothing back; by place, malloc'd. */
	WHY_LIST(replay_sync, syncs);
};

/* Replays [y->from, y->to). @r: zeroed but for edits, cnt and culprits. SQLite's result code. */
int replay_run(struct why *y, struct replay *r);
void replay_free(struct replay *r);
