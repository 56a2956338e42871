/* hist_values.h - tables of keys with the values of each: filled by hist.c, read by hist_rows.c. */
#pragma once

#include <stdbool.h>

#include "collector/base/slots.h"
#include "exporters/sql/tables/hist.h"

#define HIST_KEYS 8

/* ---- a key: a number, or the number of a text in the pool; two are equal when number and type are ---- */

enum value_type {
	V_NULL,
	V_INT,
	V_REAL,
	V_TEXT,
	V_BLOB
};

struct pool { /* texts, numbered from 0 on */
	struct text {
		char *data;
		uint32_t len;
	} * text;
	uint32_t cnt, room;
	struct slots by_text;
};

struct hist {
	struct hist *next;
	int64_t number;
	struct hist_of_db *of;
	unsigned keys;
	int64_t *key;   /* keys per row */
	uint32_t *type; /* 4 bits per key */
	uint32_t cnt, room;
	struct slots by_key;
	struct pool pool;
	struct group *group; /* one per row */
	uint32_t groups;
};

struct group {               /* the values of a row */
	int64_t n, nulls;    /* n counts NULL, too */
	int64_t extra;       /* a second count, for the function that fills the table */
	int64_t least, most; /* of sl_sums(), whose nulls are those of extra */
	int64_t sum;
	double real_sum;
	bool real;
	bool taken; /* merged into another group: no values are left */
	struct pair {
		int64_t value; /* or the bits of a double */
		int64_t n;
	} * pair;
	size_t cnt, room;
	size_t sorted;         /* the first so many are in order, each once */
	uint32_t *slot, slots; /* where a value is, + 1; NULL: not kept */
};

/* State of a connection: its tables, the percentiles of sl_stats_rows(). */
struct hist_of_db {
	struct hist *first;
	int64_t last_number;
	struct percentiles percent;
};

/* A table to be filled from C; NULL without memory. */
struct hist *hist_new(struct hist_of_db *of, unsigned keys);
/* Adds a value (HIST_NULL: NULL) to a key that is a number. @group is valid until the next call. SQLite's result code. */
int hist_add_value(struct hist *h, int64_t key, int64_t value, struct group **group);
#define HIST_NULL INT64_MIN
/* Ends filling; the table's number. */
int64_t hist_done(struct hist *h);

/* SQLite's result code. */
int hist_pool_add(struct pool *p, const char *data, uint32_t len, int64_t *number);
void hist_pool_free(struct pool *p);

/* Makes the SQL function fail with this result code; SQLITE_ERROR: with the message of the connection. */
void hist_fail(sqlite3_context *out, int rc);

void hist_give_value(sqlite3_context *out, const struct pool *p, int64_t number, unsigned type);
double hist_real(int64_t bits);

/* ---- hist_group.c; SQLite's result codes ---- */

int hist_group_add(struct group *g, sqlite3_value *value);
int hist_group_whole(struct group *g, int64_t value);
/* Moves all values of @from, once. */
int hist_group_take(struct group *to, struct group *from);
void hist_group_sort(struct group *g);

/* The column hist of sl_hist_rows(), as a blob. */
#define HIST_VALUES INT64_C(0x5365756c61564c53)
struct hist_values {
	int64_t magic, number, row;
};

/* The histogram that such a blob stands for; NULL: it is none. */
struct group *hist_find_values(const struct hist_of_db *of, sqlite3_value *value);

extern const sqlite3_module hist_rows_module, hist_stats_module, hist_values_module;
