/* projection_internal.h - what projection.c computes and projection_rows.c gives to SQL. */
#ifndef SL_PROJECTION_INTERNAL_H
#define SL_PROJECTION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/hist_internal.h"
#include "exporters/projection.h"
#include "exporters/sorter.h"

/* ---- texts of ranges, as numbers: few in memory, the rest in a file ---- */

struct texts {
	struct pool pool;
	size_t bytes;
	FILE *file;
	int64_t at; /* end of the file */
	char *buf;
	size_t room;
};

/* What is kept in memory of them. Tests make it small. */
extern size_t texts_bytes_max;

/* 0 stands for NULL. SQLite's result codes. */
int texts_add(struct texts *t, const char *text, size_t len, int64_t *number);
int texts_get(struct texts *t, int64_t number, const char **text, size_t *len);
void texts_free(struct texts *t);

/* ---- a range with work on the GPU ---- */

enum result {
	/* the order of the table */
	R_FIRST,
	R_START,
	R_MINUS_END, /* the longer one is in front */
	R_ID,        /* from 1 on, in order of thread, domain, style, start, length */
	R_KEYS,
	R_LAST = R_KEYS,
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
};

#define NO_ID INT64_MIN

struct node { /* of an id */
	uint32_t parent, number;
};

struct projection {
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
int projection_run(sqlite3 *db, bool numbered, bool kinds, struct projection *p);
void projection_free(struct projection *p);

/* ---- sweep: ranges and calls of a thread, in order of time (sweep.c) ---- */

enum range {
	A_TID, /* in this order they are swept */
	A_START,
	A_SEQ,
	A_KEYS,
	A_END = A_KEYS,
	A_STYLE,
	A_DOMAIN,
	A_TEXT,
	A_TEXT_ID,
	A_WORDS,
};

enum call {
	C_TID,
	C_START,
	C_END,
	C_KEYS,
	C_N = C_KEYS, /* work that it gave the GPU */
	C_FIRST,
	C_LAST,
	C_WORDS,
};

struct work {
	int64_t n, first, last;
};

/* Calls @found for each range that has calls in it. SQLite's result code. */
int sweep(struct sorter *ranges, struct sorter *calls,
	  int (*found)(void *ctx, const int64_t *range, const struct work *w), void *ctx);

#endif
