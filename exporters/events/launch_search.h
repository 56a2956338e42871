/*
 * launch_search.h - launches.h for one call, or one piece of work: its rows are found in the report's own tables, which have no
 * index by correlation id.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_CALLS "CUPTI_ACTIVITY_KIND_RUNTIME" /* the table of calls */

struct launch_row {
	const char *table;
	int64_t row, start;
};

/* The work that the call in that row started, at most @room rows. Returns how many; 0: errors of SQLite, too. */
unsigned launch_search_work(sqlite3 *db, int64_t call, struct launch_row *found, unsigned room);
/* The call that started the work in that row of a table of gpu_work.def. */
bool launch_search_call(sqlite3 *db, const char *table, int64_t work, struct launch_row *found);

/* About the row at which @column of a table, which ascends about as rows do, reaches a value: by bisection. */
int64_t table_row_near(sqlite3 *db, const char *table, const char *column, int64_t value);
/* How far from there rows are looked for first. */
#define TABLE_ROWS_NEAR 4096
