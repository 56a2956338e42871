/*
 * db_frames.h - frames of stacks, with names: what db_stacks_finish.c makes SL_STACKS of. Only db*.c include it.
 */
#ifndef SL_DB_FRAMES_H
#define SL_DB_FRAMES_H

#include <stdbool.h>

#include "collector/stack_merge.h"

struct db;
struct db_frames;

/* Are there to be names? */
bool db_frames_wanted(struct db *db);

/*
 * Reads spaces, modules and code objects of the report. @in_passing: no file is opened for names that is not yet.
 * 0 or -errno.
 */
int db_frames_open(struct db *db, bool in_passing, struct db_frames **f);
/* Was there one that would have had to be? */
bool db_frames_missed(const struct db_frames *f);
void db_frames_close(struct db_frames *f);

/* A frame (preload/frame.h) of a stack: its part of the report's frames. */
struct db_stack_of {
	int64_t id, space, since;
};
struct stack_part db_frames_part(struct db_frames *f, const struct db_stack_of *stack,
				 uint64_t frame);

/* SL_FRAMES.id of a part's frame, which is in that table from its first use on: not all parts are. 0: failed. */
int64_t db_frames_use(struct db_frames *f, uint32_t at);

/* What a table of callchains has of that frame: sets the columns CHAIN_* (db.h) but for the stack's id and the depth. */
void db_frames_chain(const struct db_frames *f, int64_t id, int64_t *row);

#endif
