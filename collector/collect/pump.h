/* pump.h - moves events into the report: the steps of a collection's tick. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/collect/collector.h"

#define ROWS_PER_ROUND  65536u /* of the rings, at a time */
#define ROWS_PER_COMMIT 65536u /* at most: they are in memory until then */

/* Age of the oldest record in the spool that is no row yet, ns; 0: none waits there. */
int64_t pump_behind(struct collector *c);

/* Brings c->clocks.now up to date; the snapshot also the map from ticks, up to which records are taken. */
void pump_now(struct collector *c);
void pump_snapshot(struct collector *c);
/* The same, and writes all clocks into the report. */
void pump_clocks(struct collector *c);

/* Takes events of all sources, but the youngest. Returns the number of events that do not go into the report by themselves. */
int pump_poll(struct collector *c);
/* Takes all records up to this moment. */
void pump_drain(struct collector *c);
/*
 * Has every process that began before @mono (CLOCK_MONOTONIC) been reported by the kernel? True also 100 ms after @mono: while one
 * report gives way to the next, events that are younger than its end wait.
 */
bool pump_knows_processes(const struct collector *c, int64_t mono);
void pump_commit(struct collector *c);
/* Kernel events and counters in commits that failed: into SL_LOST_EVENTS. */
void pump_lost_rows(struct collector *c);
/* The same, unless another program has the report locked: then rows wait for the next try. */
void pump_try_commit(struct collector *c);
/* At the end of a recording: commits wait for that program, a minute at most. */
void pump_be_patient(struct collector *c);
