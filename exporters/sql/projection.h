/*
 * projection.h - NVTX ranges, their stacks and the GPU's work in them, in one pass over sorted ranges and calls.
 *
 * sl_projection and sl_range_stacks are tables (projection_rows.c). sl_range_kernels(COLUMN) and sl_library_calls(SIZES)
 * are functions that give a number for sl_stats_rows() and fill a temporary table of keys (range_kernels.c,
 * library_calls.c).
 */
#pragma once

#include <sqlite3.h>

struct hist_of_db;

/* Adds these tables and functions; @tables: from hist_register(). SQLite's result code. */
int projection_register(sqlite3 *db, struct hist_of_db *tables);
