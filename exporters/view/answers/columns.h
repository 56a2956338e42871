/* columns.h - texts for the numbers in a column, by the comments of the schema. */
#pragma once

#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"
#include "exporters/view/answers/js.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a value of @column; malloc'd, NULL: none. */
char *view_column_text(sqlite3 *db, const char *table, const char *column, sqlite3_value *value);
/* A text of StringIds; malloc'd, NULL: none. */
char *view_string(sqlite3 *db, int64_t id);

/* ---- stacks ---- */

/* Are stacks numbered once for all kinds of events? */
bool view_has_own_stacks(sqlite3 *db);
/* Else the kind of the stacks of a table: 0 samples, 1 libc, 2 CUDA, 3 system calls. */
int view_stack_kind(const char *table);
/* Frames of stack ?1, the innermost first: symbol, module, file (StringIds), line, of the kernel, of Python, inlined. */
sqlite3_stmt *view_frames_open(sqlite3 *db, int kind);

/* ---- args.c ---- */

/* "args": the arguments of a row's event in the timelines of exports. */
void view_put_args(struct writer *b, sqlite3 *db, const char *table, int64_t row);
/* The lock that the call in row @row of OSRT_API waited for: object, owner (may be NULL), start and thread of the call. NULL: none. */
sqlite3_stmt *view_lock_open(sqlite3 *db, int64_t row);
