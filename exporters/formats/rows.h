/*
 * rows.h - a report table by table, as it is: for formats that have no time line.
 *
 * The options --tables, --lazy, --include-json, --include-blobs and --ts-shift take effect here.
 */
#pragma once

#include "exporters/formats/export.h"

struct rows_sink {
	/* A table begins; @stmt has its columns. */
	int (*begin)(void *self, const char *table, sqlite3_stmt *stmt, int cols);
	int (*row)(void *self, sqlite3_stmt *stmt, int cols);
	int (*end)(void *self);
};

/* 0, or -1 after one sentence in @why ("" when the sink stopped it). Counts rows in job->events. */
int rows_run(struct export_job *job, const struct rows_sink *sink, void *self, char *why,
	     size_t why_len);
