/*
 * flight.h - the flight recorder (--flight=30s): events are recorded all the time and kept in memory; a dump writes a
 * report of the last 30 s.
 *
 * Calls stay in the rings (flight_ring.h), which are read late: calls younger than --flight are not
 * drained, as long as everything together takes no more than --flight-size. Older calls are drained
 * while no window is open: processes, names and open ranges are kept, events are dropped. Context
 * switches, CPU samples and totals of short calls are in the event store (flight_store.h).
 *
 * A dump is a capture (capture.h) whose window began in the past and ends at once. The next dump begins where it ended.
 * Reasons for a dump: flight_dump(), a process that ended badly, a trigger (trigger.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample.h"

struct collector;
struct profile_options;

/* With the session, where --flight was given; else nothing happens here. 0 or -errno. */
int flight_open(struct collector *c);
/* Chunks that an arena may have (struct sl_session.quota_chunks): more than are let grow old. */
uint32_t flight_quota(const struct profile_options *o);
/* How many stacks of CPU samples are recognized again; 0: there is no recorder. */
size_t flight_sample_most(const struct profile_options *o);
void flight_release(struct collector *c);

/*
 * Requests a report for @reason. @report: absolute path, NULL: the next one by -o. 0: it is being written; 1: another one
 * is, and this one follows; -ENOTSUP: there is no recorder; -ESHUTDOWN: it has ended.
 */
int flight_dump(struct collector *c, const char *reason, const char *report, bool overwrite);

/* ---- called by run/collect.c; captures and the pump use struct capture_recorder, struct event_memory ---- */

/* Once per tick: when the clock has been read, and the rings have not; and when they have. */
void flight_before(struct collector *c);
void flight_after(struct collector *c);
/* As collect_can_wait(), for the rings that the recorder holds back. */
bool flight_can_wait(struct collector *c, int64_t since_tick_ns);
/* Is a report being written? Go on with ticks until it is not, before flight_close(). */
bool flight_is_dumping(const struct collector *c);
/* Steps of ranks, for the trigger rank-late, and their pace are written to @fd (trigger_late.h). False: nothing looks for triggers. */
bool flight_late_to(struct collector *c, int fd);
/* The session ends: a report if there is a reason. Before capture_close(). */
void flight_close(struct collector *c);
