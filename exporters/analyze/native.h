/*
 * native.h - shared steps that are made faster than their SQL.
 *
 * rules/shared/ says in SQL what is in the tables that rules share, and that is what the sqlite3 shell runs. What
 * goes through millions of rows in the order of time is done here in one pass instead, for several steps together.
 * Both give the same rows: tests/unit/analyze/rule_steps.c.
 */
#ifndef SL_NATIVE_H
#define SL_NATIVE_H

#include <sqlite3.h>
#include <stdint.h>

struct native_steps {
	const char *names;        /* of the steps that are made together: "gpu_busy,gpu_cover" */
	int (*make)(sqlite3 *db); /* SQLite's result code */
};

/* Those that make the step of this @name; NULL: its SQL does. */
const struct native_steps *native_steps_for(const char *name);

int native_gpu(sqlite3 *db);
int native_sched(sqlite3 *db);

/* A statement, and what comes of its rows: all of them. */
int native_read(sqlite3 *db, const char *sql, int (*row)(void *ctx, sqlite3_stmt *stmt), void *ctx);

/* A whole number or NULL, as columns of ids are. */
struct native_id {
	int64_t value;
	int known;
};

struct native_id native_id(sqlite3_stmt *stmt, int col);
void native_bind(sqlite3_stmt *stmt, int at, struct native_id id);

/* Runs @stmt, which gives no rows, and makes it ready for the next. */
int native_insert(sqlite3_stmt *stmt);

#endif
