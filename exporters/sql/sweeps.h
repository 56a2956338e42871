/*
 * sweeps.h - functions that fill the tables of rules: sl_gpu_sweep() and sl_sched_sweep().
 *
 * Each reads its events once, in any order, sorts them and goes through them in order of time, which takes a fraction of
 * what window functions take. The tables must be there: analyze/rules/shared/gpu_sweep.sql and sched_sweep.sql make them.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* SQLite's result code. */
int sweeps_register(sqlite3 *db);

/* Fill the tables. @rows: how many events there were. SQLite's result codes. */
int gpu_sweep(sqlite3 *db, int64_t *rows);
int sched_sweep(sqlite3 *db, int64_t *rows);

/* ---- for both ---- */

/* A whole number or NULL. */
struct sweep_id {
	int64_t value;
	bool known;
};

struct sweep_id sweep_id(sqlite3_stmt *stmt, int col);
void sweep_bind(sqlite3_stmt *stmt, int at, struct sweep_id id);

/* Runs @stmt, which gives no rows, and resets it. */
int sweep_insert(sqlite3_stmt *stmt);
