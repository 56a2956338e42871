/*
 * host.h - counters of the machine (--host-counters): processors, memory, pressure (PSI), the program's cgroup, disks,
 * network, energy, clocks.
 *
 * Files of /proc and /sys are opened once and read at each tick; the program is not touched. A
 * running sum of the kernel becomes the difference to the reading before, so no event between two
 * ticks is missed. Where a file is not there, or not permitted, its counters are missing, and a
 * sentence has the reason where there is something to do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/source/event_source.h"

extern const struct event_source host_source;

struct db;
struct windows;
struct host;

#define HOST_HZ_MOST 100

struct host_ask {
	const char *root; /* in front of /proc and /sys; "": this machine */
	int64_t hz; /* ticks per second; ticks of processors have 10 ms, so these are read twice a second at most */
	int64_t keep_ns; /* samples outside of all windows are kept so long (flight recorder); 0: not at all */
};

/* NULL: no memory. */
struct host *host_open(const struct host_ask *ask);
/* Counters of the cgroup of @pid, and of its network namespace, from now on. */
void host_follow(struct host *h, pid_t pid);
/* Returns the next sentence about missing counters, each once; false: no more. */
bool host_why(struct host *h, char *why, size_t why_len);

/* Reading begins and ends; both are idempotent, and both read. */
void host_begin(struct host *h);
void host_end(struct host *h);
void host_tick(struct host *h);

/*
 * Writes rows of the samples in @windows; samples at @hold (CLOCK_MONOTONIC) or later wait for the
 * next report. @zero: CLOCK_MONOTONIC at session time 0.
 */
struct event_rows host_write(struct host *h, struct db *db, const struct windows *windows,
			     int64_t zero, int64_t hold);
/* Reports follow each other: the next one has no samples yet. */
void host_renew(struct host *h);
/* Samples that there was no memory for; monotonic. */
uint64_t host_lost(const struct host *h);
void host_close(struct host *h);
