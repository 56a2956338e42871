/* focus.h - the thread and the part of its time to be explained: all, NVTX ranges, steps. */
#pragma once

#include "exporters/why/model/model.h"

#define STEPS_LEAST 5 /* a range that repeats less often is no step, unless it is named */

struct why_ask {     /* all zero: the main thread of the root process, all of its time */
	int64_t tid; /* globalTid or tid; 0: not asked for */
	int64_t pid; /* of a process: its main thread, as long as it lives; 0: not asked for */
	const char
		*nvtx; /* "RANGE" or "DOMAIN:RANGE", % stands for anything; NULL: not asked for */
	const char *
		step; /* NULL: no steps; "": the steps noticed in the report; the number of a step; a range as above */
	bool of_gpu;
	int64_t gpu;             /* device */
	const struct wall *wall; /* of the report and filter, where it is known; NULL: it is read */
};

struct why_span {
	int64_t start, end;
	int64_t no; /* of steps: the number, from 1 on */
};

struct why_focus {
	uint32_t thread;           /* WHY_NONE: the report has none */
	WHY_LIST(why_span, spans); /* in order, none overlaps another */
	int64_t ns;                /* of all spans */
	int64_t from, to;          /* from the first to the last */
	char *name;                /* of the ranges or steps; NULL: all of the time */
	size_t cnt;                /* of the ranges, nested ones included; of all steps */
	bool is_steps;
	int64_t median, min, max; /* of all steps; 0: none */
};

/* 0, or -1 after one sentence in @text. */
int why_find_focus(struct why_focus *f, const struct why_model *m, const struct why_ask *ask,
		   char *text, size_t len);
/* Finds ranges that look like steps, for a line about them; cnt 0: none. SQLite's result code. */
int why_notice_steps(struct why_focus *f, const struct why_model *m);
void why_focus_free(struct why_focus *f);
