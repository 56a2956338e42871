/* drain_pacing.h - when the rings are looked at, and whether their records become rows at once or wait in the spool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collector/collect/collector.h"

/* Records wait in the spool: the program has all processors, there is room, and nothing needs rows now. */
bool pace_defers(const struct collector *c);
/* Looks at the rings: copies full chunks. True: collect_tick() is due. */
bool pace_look(struct collector *c);
/* Milliseconds until the next look; @rows: of the tick just made. */
int pace_next(struct collector *c, bool has_ticked, size_t rows);
