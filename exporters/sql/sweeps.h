/*
 * sweeps.h - functions that fill the tables of rules: sl_cuda_sweep(), sl_os_sweep(), sl_gpu_sweep() and sl_sched_sweep().
 *
 * Each reads its events once, in any order, sorts them and goes through them in order of time, which takes a fraction of
 * what window functions take. The tables must be there: the files *_sweep.sql in analyze/rules/shared/ make them.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporters/sql/rows_table.h"

/* A time in which a GPU was busy for a process, as a record of rows: in the order of ends. */
enum busy {
	BUSY_END,
	BUSY_START,
	BUSY_IDLE, /* until the next begins; ROWS_NULL: there is none */
	BUSY_SUM,  /* time that it was busy for the process until the end of this one */
	BUSY_WORDS
};

struct swept_gpu { /* ROWS_NULL: not known */
	int64_t pid, device, context;
};

/* Tables of a connection that are not kept in the database. */
struct sweeps {
	struct swept_gpu *gpu; /* by their number in gpu_busy */
	struct rows_shown busy, cuda_calls, os_calls;
	struct rows_table tables[3];
};

/* Once per connection, however often it is called. SQLite's result code. */
int sweeps_register(sqlite3 *db);

/* Fill the tables. @rows: how many events there were. SQLite's result codes. */
int cuda_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int os_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int gpu_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int sched_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);

/* The tables cuda_calls and os_calls. */
struct rows_table cuda_calls_table(struct sweeps *s);
struct rows_table os_calls_table(struct sweeps *s);
struct rows_table gpu_busy_table(struct sweeps *s);

/* ---- for all ---- */

/* A whole number or NULL. */
struct sweep_id {
	int64_t value;
	bool known;
};

struct sweep_id sweep_id(sqlite3_stmt *stmt, int col);
void sweep_bind(sqlite3_stmt *stmt, int at, struct sweep_id id);
/* The same as a word of a record. */
static inline int64_t sweep_word(struct sweep_id id)
{
	return id.known ? id.value : ROWS_NULL;
}

/* Runs @stmt, which gives no rows, and resets it. */
int sweep_insert(sqlite3_stmt *stmt);
