/*
 * db_frames.h - frames of stacks, with names, from which db_symbolize_all.c makes SL_STACKS. Only
 * db*.c include it.
 */
#pragma once

#include <stdbool.h>

#include "collector/symbols/stack_merge.h"

struct db;
struct db_frames;

/* Are there to be names? */
bool db_frames_wanted(struct db *db);

/* Reads spaces, modules and code objects of the report, once all are in it. 0 or -errno; to be closed either way. */
int db_frames_open(struct db *db, struct db_frames **f);
void db_frames_close(struct db_frames *f);
/* Files whose symbols could not be read: rows of SL_LOST_EVENTS and messages. */
void db_frames_note_lost(struct db_frames *f);

/* A frame (preload/wire/frame.h) of a stack: its part of the report's frames. Of no role, and empty: see db_frames_error(). */
struct db_stack_of {
	int64_t id, space, since;
};
struct stack_part db_frames_part(struct db_frames *f, const struct db_stack_of *stack,
				 uint64_t frame);

/* Why db_frames_part() returned nothing: -errno. */
int db_frames_error(const struct db_frames *f);

/* SL_FRAMES.id of a part's frame, which is in that table from its first use on: not all parts are. 0: failed. */
int64_t db_frames_use(struct db_frames *f, uint32_t at);

/* Sets the frame's columns CHAIN_* (db.h) in a row of a table of callchains, except for the stack's id and the depth. */
void db_frames_chain(const struct db_frames *f, int64_t id, int64_t *row);
