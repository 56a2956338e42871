/* rank_labels.h - in a report that is a part of others: which process is which rank, for readers and for the order of rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exporters/ranks/rollup.h"

/*
 * Names the processes of ranks "rank 3, g077: python3" and puts them into SL_RANK_PROCESSES, where that is not done. @cpus: one
 * more than the largest number of a CPU in the report. 0, or -1 after one sentence in @why.
 */
int label_report(const char *path, const struct rollup_processes *p, int64_t *cpus, char *why,
		 size_t why_len);

/* CREATE TABLE as the schema has it; sqlite3_free(), NULL: no memory. */
char *label_table(const char *name);
