/*
 * fold.h - a timeline as stacks, for flame graphs: the slices that open and close on each track, or samples.
 *
 * Of samples and of time, only one can be summed up: where samples are asked for and there are some, they are
 * taken, else the nested ranges and calls. Context switches come alone (time on the CPU, and off it by the
 * reason), as they do not nest with calls.
 */
#pragma once

#include "collector/base/map.h"
#include "exporters/formats/export.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"

#define FOLD_ACTIVITIES                                                                 \
	(TL_ACT_SAMPLE | TL_ACT_NVTX | TL_ACT_LIBRARY | TL_ACT_CUDA_API | TL_ACT_OSRT | \
	 TL_ACT_SYSCALL)
#define FOLD_DEPTH_MAX 1024

struct fold_open {
	int64_t start, end; /* end INT64_MAX: not known */
	int64_t inner;      /* time of the slices inside */
	uint32_t frame;
	uint32_t node; /* of the user's */
};

struct fold_track {
	struct fold_track *next; /* in the order of appearance */
	char *name;              /* "process, thread" */
	uint32_t path[4];        /* frames that stand above all of the track's: process, thread */
	unsigned path_cnt;
	struct fold_open *open;
	size_t open_cnt, open_max;
	int64_t since; /* context switches: when the state began */
	uint32_t state;
	bool has_state, on_cpu;
	uint32_t node; /* of the user's: of the path; 0: none yet */
	void *own;     /* likewise */
};

struct fold {
	struct export_job *job;
	bool samples; /* else time */
	/* frames: texts by number, from 0 on */
	char **frame;
	uint32_t frame_cnt, frame_max;
	struct map by_id, by_hash;
	struct fold_track *tracks, **last;
	int64_t now; /* the latest time */
	bool failed; /* no memory */
	void *self;
	/* The user's; @o is on the track's stack already, or still. */
	void (*on_open)(struct fold *f, struct fold_track *t, struct fold_open *o);
	void (*on_close)(struct fold *f, struct fold_track *t, struct fold_open *o);
	/* Innermost frame last. */
	void (*on_sample)(struct fold *f, struct fold_track *t, const uint32_t *frames,
			  unsigned cnt, int64_t ts);
};

/*
 * Adds up by stack the costs of --flame; warns on stderr of costs without events or without stacks. 0, or -1 after one
 * sentence in @why.
 */
int fold_weigh(struct stack_costs *w, struct export_job *job, char *why, size_t why_len);

/* Sets samples, runs the timeline, closes the slices that are open at its end. 0, or -1 after one sentence in @why. */
int fold_run(struct fold *f, struct export_job *job, char *why, size_t why_len);
void fold_free(struct fold *f);
