/*
 * counters.h - how often events happened (event_list.h), in short intervals: --cpu-core-events and --os-events.
 *
 * perf_event_open's counters, without samples: they are read by us, so a program pays for them with
 * its context switches only. There is one per event and CPU; of a process tree one per thread that
 * is followed, and its threads and children add to that counter, by inheritance. Core events stand
 * in groups, so that their ratios are of the same moments; where the CPU has too few counters for
 * all, groups take turns, and their counts are scaled up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/kernel/perf/event_list.h"
#include "collector/kernel/sched/sched.h"
#include "collector/source/event_source.h"

extern const struct event_source counters_source;

struct db;
struct windows;
struct counters;

/* One event on one CPU, between two readings. */
struct counted {
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* as the kernel has it */
	unsigned per_cent;               /* of the time in which it was counted */
};

/*
 * Scales up counters that did not count all the time: @cell by CPU, every @stride. The enabled time
 * of a thread's counter goes on while the thread is on another CPU than the counter's: so
 * @by_thread, that of one CPU stands against the running times of all. Readings of different CPUs
 * are not of the same moment: 3 per cent are none.
 */
void counted_scale(struct counted *cell, unsigned cpus, unsigned stride, bool by_thread);

/* NULL: none are available. @why: one sentence then, and where something is missing; else "". */
struct counters *counters_open(const struct event_choice *choice, enum sched_mode scope, char *why,
			       size_t why_len);
/*
 * Follows all threads of @pid, and their later threads and children. @at_exec: it waits, and will
 * exec. 0 or -errno; -ESRCH: it is gone.
 */
int counters_follow(struct counters *cs, pid_t pid, bool at_exec);

/* Counting begins and ends; @ns: CLOCK_MONOTONIC. Both are idempotent. */
void counters_begin(struct counters *cs, uint64_t ns);
void counters_end(struct counters *cs, uint64_t ns);
/* Ends an interval and begins the next one. */
void counters_read(struct counters *cs, uint64_t ns);

/*
 * Writes rows of the intervals in @windows; intervals that began at @hold (CLOCK_MONOTONIC) or
 * later wait for the next report. @zero: CLOCK_MONOTONIC at session time 0.
 */
struct event_rows counters_write(struct counters *cs, struct db *db, const struct windows *windows,
				 int64_t zero, int64_t hold);
/* Begins the next report, which has no names of events yet. */
void counters_renew(struct counters *cs);
/* Events of this report that never had their turn; false: there are none. */
bool counters_never(const struct counters *cs, char *names, size_t len);
/* Intervals that there was no memory for; monotonic. */
uint64_t counters_lost(const struct counters *cs);
void counters_close(struct counters *cs);
