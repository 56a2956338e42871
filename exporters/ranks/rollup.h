/*
 * rollup.h - the roll-up of a report into a dataset: the report is read once, its ranks found, and their steps, collectives,
 * kernels, files and calls put into the scratch database.
 */
#pragma once

#include "exporters/ranks/dataset.h"

struct rollup_ask {
	int64_t rank;      /* of all processes of the report; -1: found in it */
	const char *from;  /* where that number is from */
	const char *range; /* NVTX ranges that are the steps; NULL: ranges that look like steps */
	/* Looks at the open report, which has the tables of here.sql, when its rows are in the dataset; SQLite's result code. NULL: nothing does. */
	int (*look)(void *ctx, struct dataset *d, sqlite3 *report, int64_t epoch);
	void *look_ctx;
};

/* Findings besides the rows. */
struct rollup_found {
	size_t ranks, steps, collectives;
	size_t unmatched; /* collectives without a kernel */
	size_t unnamed; /* with a communicator that was made before the recording: in no other report known by this name */
	char job[160]; /* that the launcher gave; "" none */
	char host[256];
};

/* 0, or -1 after one sentence in @why, which does not name the file. */
int rollup_add(struct dataset *d, const char *path, const struct rollup_ask *ask,
	       struct rollup_found *found, char *why, size_t why_len);

/* The processes of some ranks in a report. */
struct rollup_processes {
	int64_t epoch; /* session time 0, ns since 1970 */
	char host[256];
	char *pids; /* "17,18", as --filter-pid takes them; NULL: the report has none of the ranks */
	char *ranks;    /* "3,7": the ranks of the report */
	char *pairs;    /* "(upper bits of ids, rank), ..." */
	bool is_ranked; /* it has ranks at all */
	bool is_merged; /* it was fetched from several */
};
/* @ranks: "3,7". 0, or -1 after one sentence in @why. */
int rollup_processes(const char *path, const struct rollup_ask *ask, const char *ranks,
		     struct rollup_processes *p, char *why, size_t why_len);
void rollup_processes_free(struct rollup_processes *p);
