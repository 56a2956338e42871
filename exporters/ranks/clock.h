/*
 * clock.h - how far the clocks of a run's nodes are apart: an engine reads the ends of collectives, lines are put through them
 * (clock_fit.h), and written as the table SL_CLOCK_FIT and as DATASET/_clock/run=RUN.json.
 */
#pragma once

#include <stdio.h>

#include "exporters/ranks/clock_fit.h"

struct clock_node {
	char *name;
	int64_t start; /* DATASET_NULL: not known */
	int64_t bound; /* of its clock's error by the kernel, ns; DATASET_NULL: not known */
	uint64_t ends; /* collectives */
};

struct clock_nodes { /* in order of name */
	struct clock_node *list;
	size_t cnt, room;
};

/* Rows: number of a collective, node, end. At most some 1,000 collectives of each minute, spread over it. */
extern const char clock_ends_sql[];

/* Rows of an engine; separators are commas or tabs. -1: no memory. */
int clock_read(FILE *in, struct clock_nodes *nodes, struct clock_end **ends, size_t *cnt);
/* 0, or -1 after one sentence in @why. */
int clock_write(const char *folder, const char *run, const struct clock_nodes *nodes,
		const struct clock_fit *fit, char *why, size_t why_len);
