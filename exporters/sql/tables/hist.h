/*
 * hist.h - SQL functions for histograms and statistics.
 *
 * The query of a report of sums, as in osrt_sum.sql:
 *
 *   SELECT key, n, total, median FROM sl_stats_rows((SELECT sl_stats(nameId, end - start) FROM OSRT_API))
 *
 * sl_stats_rows: key, n (values, NULL counts), total, min, max, mean, median, stddev (sample, n - 1; 0 for one), p0, p1, ...
 * (percentiles in the order they were asked for, by nearest rank: the smallest value that so many per cent of all do not
 * exceed), extra.
 */
#pragma once

#include <sqlite3.h>

#include "exporters/sql/tables/percentiles.h"

struct hist_of_db;

/* @p may be NULL. @tables: for functions that fill tables from C. SQLite's result code. */
int hist_register(sqlite3 *db, const struct percentiles *p, struct hist_of_db **tables);
