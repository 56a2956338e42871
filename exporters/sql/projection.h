/*
 * projection.h - NVTX ranges, their stacks and the GPU's work in them, in one pass over sorted ranges and calls.
 *
 * Reports say in SQL what they take, between the comments [projection] (or [numbers], [stacks], [range-kernels])
 * and [end]. Where these lines are those of the binary's own reports, a table of ours stands in for them that has the
 * same rows (and a test that compares them); lines that somebody changed run as they stand.
 */
#ifndef SL_PROJECTION_H
#define SL_PROJECTION_H

#include <sqlite3.h>

struct hist_of_db;

/* Tables and functions; @tables: what hist_register() gave. SQLite's result code. */
int projection_register(sqlite3 *db, struct hist_of_db *tables);

/* The SQL to run for a report's; malloc'd, NULL without memory. */
char *projection_rewrite(const char *sql);

#endif
