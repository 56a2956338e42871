/*
 * projection.h - NVTX ranges as the GPU saw them, computed in one go over sorted ranges and calls.
 *
 * Reports say in SQL what they take, between the comments [projection] and [end], and number it between
 * [numbers] and [end]. Where these lines are those of the binary's own reports, a table of ours stands in for
 * them that has the same rows (and a test that compares them); lines that somebody changed run as they stand.
 */
#ifndef SL_PROJECTION_H
#define SL_PROJECTION_H

#include <sqlite3.h>

/* The table. SQLite's result code. */
int projection_register(sqlite3 *db);

/* The SQL to run for a report's; malloc'd, NULL without memory. */
char *projection_rewrite(const char *sql);

#endif
