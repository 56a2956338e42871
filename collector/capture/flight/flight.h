/*
 * flight.h - the flight recorder (--flight=30s): everything is recorded all the time, nothing is written, until there
 * is a reason; then a report of the last 30 s.
 *
 * Calls are recorded always and the rings are read late (flight_ring.h): what is younger than --flight stays in them, as
 * long as all of it together takes no more than --flight-size. Older calls are read while no window is open: who is
 * who, names, and which ranges are open are kept, events are dropped. Context switches wait in flight_sched.h,
 * CPU samples in flight_sample.h.
 *
 * A dump is a capture (capture.h) whose window began in the past and ends at once. What it has written is not in the
 * next one. Reasons: flight_dump(), a process that ended badly, a trigger (trigger.h).
 */
#ifndef SL_FLIGHT_H
#define SL_FLIGHT_H

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
/* Stacks of CPU samples that are known again; 0: there is no recorder. */
size_t flight_sample_most(const struct profile_options *o);
void flight_release(struct collector *c);

/*
 * Somebody wants a report: @reason says who. @report: absolute path, NULL: the next one by -o. 0: it is being written;
 * 1: one is, and this one follows; -ENOTSUP: there is no recorder; -ESHUTDOWN: it has ended.
 */
int flight_dump(struct collector *c, const char *reason, const char *report, bool overwrite);

/* ---- called by collect.c ---- */

/* Once per tick: when the clock has been read, and the rings have not; and when they have. */
void flight_before(struct collector *c);
void flight_after(struct collector *c);
/* As sched_poll(): switches wait here. */
int flight_poll(struct collector *c);
/* As collect_samples(): they wait here, too. */
void flight_poll_samples(struct collector *c, bool all);
/* Of the samples that reports so far have. */
struct sample_losses flight_sample_losses(const struct collector *c);
/* As collect_can_wait(), of what holds the rings back. */
bool flight_can_wait(struct collector *c, int64_t since_tick_ns);
/* The session ends: a report if there is a reason. Before capture_close(). */
void flight_close(struct collector *c);

/* ---- called by capture.c ---- */

/* Has everything come in, up to the end of the window? */
bool flight_is_read(const struct collector *c);
/* Puts into the report what is not in the rings. */
void flight_contents(struct collector *c);

#endif
