/* sql_rows.h - statements that are run once: prepared, stepped through, finalized. */
#pragma once

#include "exporters/read/db_read.h"

/* Takes a row of a statement. SQLite's result code: any but SQLITE_OK ends the statement. */
typedef int sql_row(void *ctx, sqlite3_stmt *stmt);

/* All rows of @sql. SQLite's result code. */
int sql_rows(sqlite3 *db, const char *sql, sql_row *row, void *ctx);
/* @sql on its first row, for sqlite3_finalize(); NULL: it has none, or there is an error. */
sqlite3_stmt *sql_first(sqlite3 *db, const char *sql);
/* sql_first() with ?1 = @id. */
sqlite3_stmt *sql_first_of(sqlite3 *db, const char *sql, int64_t id);
/* The first column of the first row; @otherwise where there is none, or NULL. */
int64_t sql_number(sqlite3 *db, const char *sql, int64_t otherwise);

/*
 * Calls @row with the @columns of each row of @from, a table and any further text that may follow FROM: as an aggregate
 * function, sl_read(), which takes half the time that stepping from row to row does. SQLite's result code, @row's among them.
 */
int sql_values(sqlite3 *db, const char *columns, const char *from,
	       int (*row)(void *ctx, sqlite3_value **values), void *ctx);
