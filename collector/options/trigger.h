/*
 * trigger.h - "--trigger 'nvtx:step > 1.5x median'": its text, and the test for its condition.
 *
 *   nvtx:RANGE[@DOMAIN] > LIMIT     a range took so long; @*: in any domain; without a domain also those of --python-step
 *   osrt:FUNCTION > LIMIT           a call into the C library did
 *   cuda:FUNCTION > LIMIT           a call into a GPU library did
 *   gpu-idle > N% [over TIME]       a GPU that was in use did nothing for so much of the last second, or TIME
 *   rank-late[:RANGE[@DOMAIN]] > LIMIT|N% [and TIME] [for N steps]
 *                                   a rank took longer for so many steps in a row, without waiting for others; among the ranks
 *                                   of all nodes, the median of which is meant here, and by TIME at least. RANGE: step@*
 *   hang > TIME                     for so long no call, range or work of a GPU has ended, and threads have hardly run
 *   signal                          a process was killed by any signal
 *   oom                             likewise by the kernel, when memory had run out (the flight recorder looks at that anyway)
 *   exit                            the program ended, however well
 *   exit != 0                       it failed (the flight recorder looks at that anyway)
 *
 * LIMIT is a TIME (100ms, 2.5s, 80us), or a number of medians (1.5x median) of the last TRIGGER_MEDIAN of them. Names
 * may end in *.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIGGER_MAX        16u
#define TRIGGER_MEDIAN     101u
#define TRIGGER_MEDIAN_MIN 5u /* fewer values have no meaningful median */
#define TRIGGER_NAME       128u

/* rank-late of medians, where nothing else is given: noise of a busy machine is no late rank. */
#define TRIGGER_LATE_NS    INT64_C(1000000)
#define TRIGGER_LATE_STEPS 10u

enum trigger_kind {
	TRIGGER_NVTX,
	TRIGGER_OSRT,
	TRIGGER_CUDA,
	TRIGGER_GPU_IDLE,
	TRIGGER_RANK_LATE, /* at most one; compared elsewhere: job/job_late.c */
	TRIGGER_HANG,
	TRIGGER_SIGNAL, /* these three and the last: at the end of a process, flight/flight_request.c */
	TRIGGER_OOM,
	TRIGGER_EXIT,
	TRIGGER_EXIT_BAD,
};

struct trigger {
	enum trigger_kind kind;
	char text[2 * TRIGGER_NAME]; /* as it was written */
	char name[TRIGGER_NAME];
	char domain[TRIGGER_NAME]; /* "": the default one, or --python-step's; "*": any */
	int64_t limit_ns;          /* 0: of medians */
	double medians;
	double idle; /* GPU_IDLE: 0..1 */
	int64_t over_ns;
	struct {
		int64_t floor_ns; /* above the median, where the limit is of medians */
		uint32_t steps;   /* in a row */
		bool is_added;    /* no trigger of the user's: its ranges are steps, too */
	} late;
	/* The last durations, in the order in which they came, and sorted. */
	int64_t last[TRIGGER_MEDIAN], sorted[TRIGGER_MEDIAN];
	uint64_t seen; /* ever */
};

struct triggers {
	struct trigger at[TRIGGER_MAX];
	uint32_t cnt;
};

/*
 * Takes apart a comma separated list ("\," is a comma of a name). 0; else -SL_EXIT_USAGE after one line that names @cmd
 * and the column where it goes wrong.
 */
int triggers_read(struct triggers *ts, const char *text, const char *cmd);

/*
 * Can they ever fire? @trace: SL_TRACE_*; calls into the C library that are shorter than @threshold_ns are not seen one by
 * one. 0; else -SL_EXIT_USAGE after one line.
 */
int triggers_check(const struct triggers *ts, uint32_t trace, int64_t threshold_ns,
		   const char *cmd);

/* Adds what steps are unless rank-late names a range: step@*, for the pace of ranks where there is no rank-late, and *@python-step. */
void triggers_add_steps(struct triggers *ts);

static inline bool triggers_have(const struct triggers *ts, enum trigger_kind kind)
{
	for (uint32_t i = 0; i < ts->cnt; i++)
		if (ts->at[i].kind == kind)
			return true;
	return false;
}

/* @name as @pattern has it, which may end in *. */
bool trigger_matches(const char *pattern, const char *name);
/* Without a domain, a trigger is of ranges of the default one (""), and of those that --python-step makes. */
bool trigger_in_domain(const struct trigger *t, const char *domain);

/*
 * Something took so long. True: longer than it may; then @why has a sentence about it, with the
 * @name that it had. Later durations are compared with this one, too.
 */
bool trigger_duration(struct trigger *t, const char *name, int64_t ns, char *why, size_t why_len);

/* "312.4 ms" */
const char *trigger_time(int64_t ns, char *text, size_t len);

/* "30", "30s", "500ms", "80us", "2m": ns; 0: not a time. *@end: the rest of @text. */
int64_t time_read(const char *text, const char **end);
