/*
 * db_symbolize.h - stacks get their names: rows of SL_STACKS, SL_FRAMES and of the tables of callchains. While the program
 * runs (db_symbolize_online.c), and for all that is left at the end (db_symbolize_all.c). Only db*.c include it.
 */
#ifndef SL_DB_NAMING_H
#define SL_DB_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/report/db_frames.h"
#include "collector/report/db_map.h"
#include "preload/wire/frame.h"

struct db;

/* Rows that name stacks are of a few kinds (enum db_stack_kind), each with callchains of its own; some have several tables. */
#define NAMING_KINDS  4
#define NAMING_TABLES 4

/* NULL: it has no more. */
const char *naming_table(unsigned kind, unsigned table);
const char *naming_column(unsigned kind);
/* Their callchains are a view, which is there when a row wants it. */
bool naming_has_view(unsigned kind);

struct naming {
	struct db *db;
	struct db_frames *frames;
	bool in_passing;
	struct db_map
		has; /* what stacks have that got their names in passing: kinds as bits, and one more */
	struct stack_part part[2][SL_FRAME_MAX], merged[2 * SL_FRAME_MAX];
};

/*
 * From nothing, whatever an attempt before has left. @in_passing: stacks still come, nothing is waited for, and stacks of
 * which something is not known yet are left alone. 0 or -errno; freed by naming_free() either way.
 */
int naming_open(struct db *db, bool in_passing, struct naming **n);
void naming_free(struct naming *n);

/*
 * Between two times in passing, names rest; at the end what was begun in passing goes on, with all that waits. 0 or -errno;
 * -ESTALE: what has been told since says that a name is wrong, it must be begun anew.
 */
void naming_rests(struct naming *n);
int naming_goes_on(struct naming *n, bool in_passing);

/* Takes away what names are in the report. */
int naming_drop(struct db *db);

/* Has the stack all that rows of @kinds (bits) want of it? */
bool naming_is_done(const struct naming *n, int64_t stack, unsigned kinds);

/*
 * Gives it that. 0; -EAGAIN: in passing, and something about it is not known yet; -errno: what has been written so far
 * must not stay.
 */
int naming_add(struct naming *n, const struct db_stack_of *stack, unsigned kinds,
	       const uint64_t *frames, size_t cnt);

#endif
