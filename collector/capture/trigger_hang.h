/*
 * trigger_hang.h - the trigger "hang > 30s": for so long no call, range or work of a GPU has ended in the program, and its threads have
 * hardly run.
 *
 * Calls that wait with a time limit, as threads that look around make them, are no progress, nor is their CPU time: up to 2 % of the time.
 */
#pragma once

#include <stdint.h>

#include "collector/capture/trigger_watch.h"

struct model;
struct trigger_hang;

/* NULL: no memory. @ts stays the caller's. */
struct trigger_hang *trigger_hang_new(struct triggers *ts, trigger_fire_fn *fire, void *to);
void trigger_hang_free(struct trigger_hang *h);
/* A record: enum sl_shape, and its field for the hook. */
void trigger_hang_record(struct trigger_hang *h, unsigned shape, unsigned hook);
/* Once a round; reads the processes' CPU time once a second. */
void trigger_hang_round(struct trigger_hang *h, const struct model *m);
/* The same with what it reads: CLOCK_MONOTONIC, CPU time of all processes so far, ns, and how many there are. */
void trigger_hang_judge(struct trigger_hang *h, int64_t now, int64_t cpu_ns, uint32_t processes);
