/*
 * db_symbolize.h - rows of SL_STACKS, SL_FRAMES and of the callchain tables, stack by stack, for db_symbolize_all.c.
 * Only db*.c include it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/report/db_frames.h"
#include "collector/report/db_stack_kinds.h"
#include "preload/wire/frame.h"

struct db;

/* Their callchains are a view, made when a row refers to a stack. */
bool naming_has_view(unsigned kind);

struct naming {
	struct db *db;
	struct db_frames *frames;
	struct stack_part part[2][SL_FRAME_MAX], merged[2 * SL_FRAME_MAX];
};

/* Drops the rows that an attempt before has left. 0 or -errno; freed by naming_free() either way. */
int naming_open(struct db *db, struct naming **n);
void naming_free(struct naming *n);

/* Drops all symbolized rows of the report. */
int naming_drop(struct db *db);

/* Writes the rows of a stack: SL_STACKS, and the callchains of @kinds (bits). 0 or -errno: the rows so far must not stay. */
int naming_add(struct naming *n, const struct db_stack_of *stack, unsigned kinds,
	       const uint64_t *frames, size_t cnt);
