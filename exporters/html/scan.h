/*
 * scan.h - data of the summary from a report's events, collected in one pass over each table.
 *
 * Rows are taken as they lie in the tables, which is nearly in the order of time; where that turns
 * out not to hold, the pass begins again with sorted rows. So no figure rests on the order.
 */
#pragma once

#include <stdbool.h>

#include "exporters/read/db_read.h"
#include "exporters/read/wall.h"
#include "exporters/html/curve.h"
#include "exporters/read/id_map.h"

#define SCAN_WHY 512

struct gpu {
	int64_t id; /* TARGET_INFO_GPU.id where the report has it, else the CUDA ordinal */
	char name[64];
	struct curve kernels, copies; /* ns per bin in which at least one was running */
	/* ns, exact as long as they stay below 104 days: together, overlaps counted once */
	double kernel_ns, copy_ns, busy_ns; /* busy: either of them */
	int64_t kernel_end, copy_end, busy_end;
	uint64_t kernel_cnt;
	struct level *memory; /* bytes allocated; NULL: not recorded */
};

struct process {
	int64_t pid; /* with the ids of machine and VM above it: globalPid >> 24 */
	double cpu_ns, kernel_ns;
	struct curve cpu; /* ns per bin */
};

struct scan {
	sqlite3 *db;
	const struct db_filter *filter; /* NULL: none */
	bool has_tree;                  /* of processes */
	bool part; /* only a part is looked at: the session is none of our business */
	struct axis axis;
	struct wall wall;   /* the time that shares refer to */
	int64_t session_ns; /* ANALYSIS_DETAILS.duration; 0: not known */

	struct gpu *gpus; /* in the order of their ids */
	size_t gpu_cnt;
	bool has_gpu_work, has_memory;
	struct histogram kernel_time;
	uint64_t copy_cnt, graph_cnt; /* graphs: launches with one row for all their nodes */
	double copy_bytes;
	double kernel_sum_ns; /* of all kernels, overlaps counted each */

	struct process *processes;
	size_t process_cnt;
	struct id_map pids;
	bool has_cpu;
	double cpu_ns;
	int cpu_cnt; /* processors of the machine; 0: not known */

	bool has_io;                          /* there is something to draw */
	bool io_known;                        /* the figures mean something */
	struct curve read_curve, write_curve; /* bytes per bin */
	struct histogram read_size, write_size;
	double read_bytes, write_bytes, read_calls, write_calls;
	double read_stdio, write_stdio; /* of the calls, those on a stream's buffer */

	char why[SCAN_WHY];
};

/* All of it. 0, or -1 after one sentence in why. */
int scan_report(struct scan *s);
void scan_free(struct scan *s);

/* ---- for the parts of it ---- */

/* Finds or makes; NULL: out of memory. @gpid: globalPid >> 24 */
struct process *scan_process(struct scan *s, int64_t gpid);
/* NULL after one sentence in why. */
sqlite3_stmt *scan_prepare(struct scan *s, const char *sql);
/* One number out of a query; @none without a row or for NULL. -1 after a sentence in why. */
int scan_number(struct scan *s, const char *sql, int64_t none, int64_t *value);
/*
 * A time out of a row. Nonsense from a broken or hostile file is cut to a range that can be added and subtracted; times of
 * nsys may be ns since 1970.
 */
int64_t scan_time(sqlite3_stmt *stmt, int column);
/* sqlite3_step() returned neither ROW nor DONE, or memory ran out (0). Always -1. */
int scan_fail(struct scan *s, int rc);

int scan_gpu(struct scan *s);
int scan_cpu(struct scan *s);
int scan_io(struct scan *s);
