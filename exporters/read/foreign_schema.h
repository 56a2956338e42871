/* foreign_schema.h - making the tables, indexes and views of another database, whose schema may hold any text. */
#pragma once

#include <sqlite3.h>

/*
 * Runs @sql, a text of another database's sqlite_master, in @db: one CREATE TABLE, CREATE INDEX or CREATE VIEW in "main" with nothing
 * behind it. SQLITE_OK, SQLITE_AUTH for any other text, or another error code of SQLite. @db has no authorizer afterwards.
 */
int foreign_schema_make(sqlite3 *db, const char *sql);
