/*
 * nvprof.h - databases of nvprof as databases in the shape of schema.sql.
 *
 * Their tables hold CUPTI's records: kernels, copies, fills, waits, calls of runtime and driver, ranges and marks of NVTX, devices,
 * contexts, streams. Other tables that have rows are left out, and named.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

struct nsysrep_progress;

/* Whether the opened database is one of nvprof. */
bool nvprof_is(sqlite3 *db);
/* As nsysrep_convert(). */
int nvprof_convert(const char *path, const char *target, const struct nsysrep_progress *progress,
		   char *notes, char *why);
