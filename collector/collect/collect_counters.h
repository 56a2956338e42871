/* collect_counters.h - event counters of a collection (--cpu-core-events, --os-events), if there are any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/collect/collector.h"

void collect_counters_open(struct collector *c);
void collect_counters_follow(struct collector *c, uint32_t root, bool is_child);
/* Recording begins, and ends. @mono: CLOCK_MONOTONIC, 0: now. */
void collect_counters_begin(struct collector *c, int64_t mono);
void collect_counters_end(struct collector *c, int64_t mono);
/* Writes rows of what was read. */
void collect_counters(struct collector *c);
/* Notes what this report lacks. */
void collect_counters_say(struct collector *c);
/* The next report begins. */
void collect_counters_renew(struct collector *c);
void collect_counters_close(struct collector *c);
