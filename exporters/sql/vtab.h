/* vtab.h - common part of computed tables: rows are read from the first to the last. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

struct vtab {
	sqlite3_vtab base;
	sqlite3 *db;
	void *of; /* the module's argument of creation */
};

/* For xConnect: @columns as in CREATE TABLE. */
int vtab_connect(sqlite3 *db, void *of, const char *columns, sqlite3_vtab **out);
int vtab_disconnect(sqlite3_vtab *v);

/* For xOpen: a cursor of @size bytes, all 0; free() takes it. */
int vtab_open(size_t size, sqlite3_vtab_cursor **out);
int vtab_close(sqlite3_vtab_cursor *c);
