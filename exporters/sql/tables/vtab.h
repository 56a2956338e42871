/* vtab.h - computed tables: rows are read from the first to the last; arguments are hidden columns. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct vtab {
	sqlite3_vtab base;
	sqlite3 *db;
	void *of; /* the module's argument of creation */
};

/* For xConnect: @columns as in CREATE TABLE. */
int vtab_connect(sqlite3 *db, void *of, const char *columns, sqlite3_vtab **out);
int vtab_disconnect(sqlite3_vtab *v);
/* For xFilter: @rc; the connection's message goes with SQLITE_ERROR. */
int vtab_fail(sqlite3_vtab *v, int rc);

/* For xOpen: a cursor of @size bytes, all 0; free() takes it. */
int vtab_open(size_t size, sqlite3_vtab_cursor **out);
int vtab_close(sqlite3_vtab_cursor *c);

/* ---- tables without a module of their own ---- */

struct vtab_cursor {
	sqlite3_vtab_cursor base;
	int64_t row;   /* from 1 on; 0: at the end */
	unsigned used; /* a bit for each of the first columns that the statement reads */
};

#define VTAB_ARGS 2

struct vtab_table {
	const char *columns;    /* as in CREATE TABLE; the arguments are the last */
	int first_arg, arg_cnt; /* column of the first; at most VTAB_ARGS */
	int order, order_cnt;   /* rows are in the order of so many columns from that one on */
	int64_t rows;           /* about how many */
	size_t cursor_size;     /* of a struct that begins with a struct vtab_cursor */
	/* All functions return SQLite's result codes. @args: NULL where one is not given. */
	int (*begin)(struct vtab_cursor *c, sqlite3 *db, sqlite3_value *const *args);
	int (*next)(struct vtab_cursor *c); /* SQLITE_ROW: it stands on a row; SQLITE_DONE */
	int (*column)(struct vtab_cursor *c, sqlite3_context *out, int column);
	void (*end)(struct vtab_cursor *c); /* also before it begins again */
};

/* @t stays. */
int vtab_register(sqlite3 *db, const char *name, const struct vtab_table *t);
