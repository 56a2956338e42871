/* coverage.h - how much of a run the dataset has, by its manifests: what an answer is an answer about, and why it may be empty. */
#pragma once

#include <stdint.h>

#include "exporters/read/db_read.h"

struct coverage {
	int64_t ranks, world;         /* world 0: not known */
	int64_t first_missing;        /* -1: none */
	int64_t cut;                  /* ranks whose report was cut off */
	int64_t steps, without_steps; /* ranks without steps */
	int64_t collectives;
	int64_t unnamed; /* on communicators that were made before the recording; -1: not known */
};

/* SQLite's result code. @manifests: manifests_read(). */
int coverage_find(sqlite3 *manifests, const char *run, struct coverage *c);
/* Lines for people about a question whose statement is @sql; malloc'd, NULL: no memory. */
char *coverage_text(const struct coverage *c, const char *sql);
