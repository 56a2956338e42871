/*
 * sweeps.h - functions that fill the tables of rules: sl_cuda_sweep(), sl_os_sweep(), sl_copies_sweep(), sl_gpu_sweep() and
 * sl_sched_sweep().
 *
 * Each reads its events once, in any order, sorts them and goes through them in order of time, in a fraction of the time of
 * window functions. The tables must be there: the files that call them, in analyze/rules/shared/, make them.
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
	struct rows_shown busy, cuda_calls, os_calls, copies;
	struct rows_table tables[4];
};

/* Words of cuda_calls, and the number there of calls that copy. */
enum {
	SWEPT_NAME,
	SWEPT_START,
	SWEPT_END,
	SWEPT_TID,
	SWEPT_ID
};
#define SWEPT_COPY 4

/* Once per connection, however often it is called. SQLite's result code. */
int sweeps_register(sqlite3 *db);
/* sl_thread_states: once per connection, with sweeps_register(). SQLite's result code. */
int thread_states_register(sqlite3 *db);

/* Fill the tables. @rows: how many events there were. SQLite's result codes. */
int cuda_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int os_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int copies_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int gpu_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);
int sched_sweep(sqlite3 *db, struct sweeps *s, int64_t *rows);

/* The tables cuda_calls, os_calls, copies and gpu_busy. */
struct rows_table cuda_calls_table(struct sweeps *s);
struct rows_table os_calls_table(struct sweeps *s);
struct rows_table copies_table(struct sweeps *s);
struct rows_table gpu_busy_table(struct sweeps *s);

/* ---- for all ---- */

/* A whole number or NULL. */
struct sweep_id {
	int64_t value;
	bool known;
};

static inline struct sweep_id sweep_value(sqlite3_value *v)
{
	bool known = sqlite3_value_type(v) != SQLITE_NULL;

	return (struct sweep_id){known ? sqlite3_value_int64(v) : 0, known};
}
void sweep_bind(sqlite3_stmt *stmt, int at, struct sweep_id id);
/* The same as a word of a record. */
static inline int64_t sweep_word(struct sweep_id id)
{
	return id.known ? id.value : ROWS_NULL;
}

/* The first start and the last end in a table of events. */
struct sweep_span {
	int64_t first, last_start, last_end; /* ROWS_NULL: there is none */
};
#define SWEEP_SPAN_NONE                         \
	(struct sweep_span)                     \
	{                                       \
		ROWS_NULL, ROWS_NULL, ROWS_NULL \
	}
void sweep_span_add(struct sweep_span *s, struct sweep_id start, struct sweep_id end);
/* A row of event_spans. @of_calls: a start may be the last, of a call that never returned. SQLite's result code. */
int sweep_span_write(sqlite3 *db, const char *table, const struct sweep_span *s, bool of_calls);

/* Runs @stmt, which gives no rows, and resets it. */
int sweep_insert(sqlite3_stmt *stmt);
