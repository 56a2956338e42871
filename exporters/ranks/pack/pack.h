/*
 * pack.h - packs a run: writes a file per table beside the parts, then one manifest (packs.h), whose rename is the commit; then the
 * packed parts' own files go. A process that is killed before the rename leaves the run as it was, one behind it leaves a packed
 * run and files that do not count, which the next packing removes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "exporters/ranks/run_choice.h"

struct packed {
	size_t parts; /* in the pack */
	size_t fresh; /* of them, that had files of their own; 0: nothing was written */
	int64_t bytes;
	size_t removed; /* files */
};

/* The run that @a names, by DuckDB. An exit status, after one line on stderr where it is not 0. */
int pack_run(const char *command, const struct ask *a, struct packed *done);
