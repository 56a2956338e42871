/* db_views.h - the parts of db_views.c that db_read.c uses. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* Does the file itself have the table or view (@column NULL), or a column of it? */
bool db_read_has_column(sqlite3 *db, const char *table, const char *column);

/* SQLite's result code. */
int db_read_add_views(sqlite3 *db);
/* Adds views of stacks and of their events (stack_views.c). */
int db_read_add_stack_views(sqlite3 *db);
