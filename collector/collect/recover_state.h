/* recover_state.h - restores an earlier collector's memory from SL_STATE. */
#pragma once

#include "collector/collect/arenas.h"
#include "collector/collect/positions.h"

/* Key "session". 0, -ENOENT (finished, or no collector's report), -EPROTO (another version). */
int state_setup(struct db *db, struct saved_setup *s);
/* Had the collector read all rings, so that only stacks are to be symbolized? */
bool state_is_recorded(struct db *db, int64_t *length);
/* Key "position": counters, and the last snapshot as the first of the clock map. */
int state_counters(struct arenas *as);
/* Program images whose rings the earlier collector had not read to the end, and that are not attached. */
uint32_t state_missing(const struct arenas *as);
/* Images, threads and open files of an arena that has been attached again. */
void state_arena(struct arenas *as, struct arena *a);
