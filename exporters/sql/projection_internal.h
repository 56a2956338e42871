/* projection_internal.h - the projection that projection.c computes and projection_rows.c gives to SQL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/sql/tables/hist_values.h"
#include "exporters/sql/projection.h"
#include "exporters/sql/range_texts.h"
#include "exporters/sql/sweep.h"

/* ---- a range ---- */

enum result {
	/* the order of the table */
	R_FIRST,
	R_START,
	R_LONGER, /* the longer one is in front */
	R_ID,     /* from 1 on, in order of thread, domain, style, start, length */
	R_KEYS,
	R_END = R_KEYS, /* NO_ID: none */
	R_LAST,
	R_N,
	R_STYLE,
	R_TID,
	R_DOMAIN,
	R_TEXT,
	R_TEXT_ID, /* NO_ID: NULL */
	R_LVL,
	R_PARENT, /* its id, 0 none */
	R_CHILDREN,
	R_KIND,
	R_WORDS,
	R_INSIDE = R_N, /* of stacks: time of the ranges directly inside */
};

#define NO_ID INT64_MIN

struct node { /* of an id */
	uint32_t parent, number;
};

enum projection_of {
	WORK,   /* ranges with work on the GPU */
	STACKS, /* all push/pop ranges, also those that never ended */
};

struct projection {
	enum projection_of of;
	struct sorter *results;
	struct texts texts;
	int64_t cnt;
	bool with_kinds;
	struct pool kinds; /* style, process, domain and text, as one number */
	struct node *node; /* numbered only; of a file, as there may be many */
	size_t node_bytes;
};

/*
 * Reads the report. @numbered: results come in order of the table, and nodes have numbers; @kinds: results have
 * kinds. SQLite's result code.
 */
int projection_run(sqlite3 *db, enum projection_of of, bool numbered, bool kinds,
		   struct projection *p);
void projection_free(struct projection *p);

/* ---- how it comes about ---- */

enum stacked {
	S_TID,
	S_DOMAIN,
	S_STYLE,
	S_START,
	S_LONGER, /* the longer one is in front */
	S_SEQ,
	S_KEYS,
	S_END = S_KEYS,
	S_TEXT,
	S_TEXT_ID,
	S_N,
	S_FIRST,
	S_LAST,
	S_WORDS,
};

struct work {
	int64_t n, first, last;
};

static const struct work nothing = {0, INT64_MAX, INT64_MIN};

struct range_reader {
	enum projection_of of;
	struct sorter *ranges; /* of A_WORDS; stacks: of S_WORDS */
	struct sorter *timed;  /* calls of C_WORDS */
	struct texts *texts;
	int64_t seq;
};

/* All return SQLite's result codes. */
int read_ranges_of(sqlite3 *db, struct range_reader *r); /* in order */
int stacked_add(struct sorter *to, const int64_t *range, const struct work *w);

/* Is it NULL? The value is at hand: most are not 0, which spares a look at the type. */
bool is_none(sqlite3_stmt *q, int col, int64_t value);

/* Gives ranges their levels and parents (range_levels.c). */
int add_levels(struct sorter *stacked, struct projection *to);

/* Calls @found for each range that has calls in it (range_slots.c). SQLite's result code. */
int work_of_ranges(struct sorter *ranges, struct sorter *calls,
		   int (*found)(void *ctx, const int64_t *range, const struct work *w), void *ctx);

/* The function sl_range_kernels() (range_kernels.c). */
int range_kernels_register(sqlite3 *db, struct hist_of_db *tables);
/* sl_library_calls() (library_calls.c). */
int library_calls_register(sqlite3 *db, struct hist_of_db *tables);
