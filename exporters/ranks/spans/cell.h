/* cell.h - one rank in one step of a run: its report, and the time in it. */
#pragma once

#include "exporters/ranks/ask.h"
#include "exporters/ranks/rollup.h"

struct cell {
	int64_t rank, step;
	int64_t start, end; /* ns since 1970, by the clock of its node */
	char *report;       /* path */
	int64_t from, to;   /* ns of the report's clock */
	int64_t pid;        /* a process of the rank, or its only one */
};

/*
 * The cell of @rank and @step; -1: the one whose own time is most above the median of its step. @a names the run, and an engine. 0, or
 * -1 after one line on stderr that begins with @command.
 */
int cell_find(struct cell *c, const char *command, const struct ask *a, int64_t rank, int64_t step);
void cell_free(struct cell *c);
