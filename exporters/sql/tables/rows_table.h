/*
 * rows_table.h - tables for SQL over stretches of rows, each with a number; in a stretch, rows may be in the order of their first
 * word. The rows are made when a statement first reads the table.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/sql/tables/rows.h"

#define ROWS_NULL INT64_MIN /* a word that is NULL */

struct sweeps;

struct rows_stretch {
	int64_t number;
	struct rows *rows;
	size_t first, last; /* not with the last */
};

/* The stretches that a table shows now: none while all is 0. */
struct rows_shown {
	struct rows_stretch *list; /* in the order of numbers */
	size_t cnt;
	unsigned readers; /* open cursors: while there are any, nothing here may change */
};

/* Takes all out, and frees the rows. SQLITE_LOCKED: the table is being read. */
int rows_shown_clear(struct rows_shown *s);
/* Adds a stretch, in its place; rows that it shares with the one before are freed once. SQLite's result code. */
int rows_shown_add(struct rows_shown *s, const struct rows_stretch *stretch);

/* Columns whose constraints cost nothing, -1: there is none. */
struct rows_table {
	const char *name;
	const char *columns; /* as in CREATE TABLE, within the parentheses */
	int number, first,
		other; /* the stretch's number; the first word, in order; the word @other_word */
	int arg;       /* hidden: a value for @fill */
	int at; /* hidden: a value for it takes the last row of a stretch whose first word is at most that value */
	unsigned other_word;
	const char *const *
		names; /* texts of numbers from 0 on, up to NULL; NULL: they are shown as they are */
	size_t rows;   /* about how many */
	/* Makes the rows that are shown, where they are not there yet; @arg may be NULL. SQLite's result code. */
	int (*fill)(const struct rows_table *t, sqlite3_value *arg);
	/* Gives a column other than that of the number. */
	void (*column)(sqlite3_context *out, const struct sweeps *sweeps,
		       const struct rows_stretch *s, const int64_t *record, int column);
	struct sweeps *sweeps;
	struct rows_shown *shown;
};

/* Adds the table to a connection; @t stays until @free is called with it. SQLite's result code. */
int rows_table_register(sqlite3 *db, struct rows_table *t, void (*free)(void *));

/* For rows_table.column: column i is word i. */
void rows_give_words(sqlite3_context *out, const struct sweeps *sweeps,
		     const struct rows_stretch *s, const int64_t *record, int column);

/* A word, or NULL. */
void rows_give(sqlite3_context *out, int64_t word);
