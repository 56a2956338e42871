/*
 * db_frames.h - frames of stacks, with names: what db_symbolize_all.c makes SL_STACKS of. Only db*.c include it.
 */
#ifndef SL_DB_FRAMES_H
#define SL_DB_FRAMES_H

#include <stdbool.h>

#include "collector/symbols/stack_merge.h"

struct db;
struct db_frames;

/* Are there to be names? */
bool db_frames_wanted(struct db *db);

/*
 * Reads spaces, modules and code objects of the report. @in_passing: no file is opened for names that is not yet, and what
 * has not been told of may still be. 0 or -errno; to be closed either way.
 */
int db_frames_open(struct db *db, bool in_passing, struct db_frames **f);
void db_frames_close(struct db_frames *f);

/* What was opened in passing: naming_rests(), naming_goes_on() (db_symbolize.h). */
/* Has a frame got its name by it, in passing? */
bool db_frames_has_code(const struct db_frames *f, int64_t code);
void db_frames_rest(struct db_frames *f);
int db_frames_go_on(struct db_frames *f, bool in_passing);

/* A frame (preload/wire/frame.h) of a stack: its part of the report's frames. Of no role, and empty: see db_frames_error(). */
struct db_stack_of {
	int64_t id, space, since;
};
struct stack_part db_frames_part(struct db_frames *f, const struct db_stack_of *stack,
				 uint64_t frame);

/* -EAGAIN: in passing, and what the last frame is cannot be said for good yet. -errno. */
int db_frames_error(const struct db_frames *f);

/* SL_FRAMES.id of a part's frame, which is in that table from its first use on: not all parts are. 0: failed. */
int64_t db_frames_use(struct db_frames *f, uint32_t at);

/* What a table of callchains has of that frame: sets the columns CHAIN_* (db.h) but for the stack's id and the depth. */
void db_frames_chain(const struct db_frames *f, int64_t id, int64_t *row);

#endif
