/*
 * stacks.h - stacks of records: kept by arena, written to the report raw (SL_RAW_STACKS, SL_MODULES, SL_CODES)
 * when they come, and again into each report that refers to them. Names are found there
 * (db_stacks.h).
 *
 * Numbers: a stack of an arena is arena id << 32 | its id there, so nothing has to be remembered for recover. Stacks of
 * samples are numbered by their taker, as if of arena 0.
 */
#pragma once

#include "collector/model/arena.h"

/* SL_META_CHAIN, STACK, MODULE, CODE and CODE_LINES. */
extern const struct record_family stack_records;

/* For the row of a call that began at @start (ticks): its stack, or 0. To be asked once for each record. */
int64_t stacks_take(struct arenas *as, struct thread *t, uint64_t start);

/* Executable of the arena's processes, as they see it. */
void stacks_exe(struct arena *a, const char *path);
