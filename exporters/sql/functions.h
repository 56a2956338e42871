/* functions.h - the SQL functions and table functions called sl_*, on a connection. */
#pragma once

#include <sqlite3.h>

struct percentiles;

/*
 * Adds all of them. @p: the percentiles of sl_stats_rows(), may be NULL. Called again, it frees the tables that were counted
 * before. SQLite's result code.
 */
int sql_functions(sqlite3 *db, const struct percentiles *p);
