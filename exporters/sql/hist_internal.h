/* hist_internal.h - what hist.c counts and hist_rows.c reads out. */
#ifndef SL_HIST_INTERNAL_H
#define SL_HIST_INTERNAL_H

#include <stdbool.h>
#include <stdio.h>

#include "exporters/sql/hist.h"

#define HIST_KEYS 8

/* ---- values: a number, or the number of a text; two are equal when both fields are ---- */

enum value_type {
	V_NULL,
	V_INT,
	V_REAL,
	V_TEXT,
	V_BLOB
};

struct pool { /* texts, numbered */
	struct text {
		char *data;
		uint32_t len;
	} * text;
	uint32_t cnt, room;
	uint32_t *slot, slots;
};

struct hist {
	struct hist *next;
	int64_t number;
	struct hist_of_db *of;
	unsigned keys;
	int64_t *key;   /* keys per row */
	uint32_t *type; /* 4 bits per key */
	uint32_t *count;
	uint32_t cnt, room;
	uint32_t *slot, slots;
	struct pool pool;
	FILE *spilled; /* rows that did not fit: keys, types, count */
	int64_t spilled_cnt;
	struct group *group; /* of figures: one per row */
	uint32_t groups;
};

struct group {
	int64_t calls, nulls; /* calls counts those without a value too */
	int64_t extra;        /* what else is counted by who fills it */
	int64_t sum;
	double real_sum;
	bool real;
	bool taken; /* by another: it has no values left */
	struct pair {
		int64_t value; /* or the bits of a double */
		int64_t n;
	} * pair;
	size_t cnt, room;
	size_t sorted;         /* the first so many are in order, each once */
	uint32_t *slot, slots; /* where a value is, + 1; NULL: not kept */
};

/* What a connection has: its tables, the percentiles that are wanted. */
struct hist_of_db {
	struct hist *first;
	int64_t last_number;
	struct percentiles percent;
};

/* What a table may take in memory; the rows beyond go to a file. Tests make it small. */
extern size_t hist_bytes_max;

/* A table of a connection, to be filled by other than SQL; NULL without memory. */
struct hist *hist_new(struct hist_of_db *of, unsigned keys);
/* One value more of a key that is a number (HIST_NULL: none); its group, until the next. SQLite's result code. */
int hist_add_figure(struct hist *h, int64_t key, int64_t value, struct group **group);
#define HIST_NULL INT64_MIN
/* Its number, when all are counted. */
int64_t hist_done(struct hist *h);

/* SQLite's result code. */
int hist_pool_add(struct pool *p, const char *data, uint32_t len, int64_t *number);
void hist_pool_free(struct pool *p);

/* For a function that ends with this result code. */
void hist_fail(sqlite3_context *out, int rc);

void hist_give_value(sqlite3_context *out, const struct pool *p, int64_t number, unsigned type);
double hist_real(int64_t bits);
int64_t hist_bits(double d);

/* One value more, of as many (hist_group.c). SQLite's result codes. */
int hist_group_add(struct group *g, sqlite3_value *value, int64_t n);
int hist_group_whole(struct group *g, int64_t value, int64_t n);
/* All values of another, once. */
int hist_group_take(struct group *to, struct group *from);
void hist_group_sort(struct group *g);

/* What stands for the values of a row, as a blob. */
#define HIST_VALUES INT64_C(0x5365756c61564c53)
struct hist_values {
	int64_t magic, number, row;
};

/* The tables of rows, as modules. */
extern const sqlite3_module hist_rows_module, hist_figures_module;

#endif
