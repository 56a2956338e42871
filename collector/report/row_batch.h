/*
 * row_batch.h - rows of numbers on their way into the report: db_row() encodes them as pages of a SQLite database in
 * memory, row_batch_flush() has SQLite copy the cells.
 *
 * row_batch.c is the only file that knows SQLite's file format. The gain: 6.8 M rows per second of
 * the collector's CPU, against 4.9 M by INSERT ... SELECT from a virtual table
 * (tests/bench/README.md).
 */
#pragma once

#include <sqlite3.h>

#include "collector/report/db.h"
#include "collector/report/db_map.h"

#define DB_ROW_COLS 44 /* room of a row, >= columns of any table that takes batches */

/* One table's rows since the last commit. */
struct row_batch_table {
	int64_t row[DB_ROW_COLS]; /* the row being filled by the caller */
	bool row_open;
	uint8_t *page;        /* leaf being filled, NULL none */
	uint32_t page_no;     /* its number */
	uint32_t cells, at;   /* in it; where it goes on */
	uint32_t leaves;      /* before it */
	uint32_t root_at;     /* where the root page names the last of them */
	uint64_t rows;        /* in the image */
	sqlite3_stmt *stmt;   /* INSERT INTO table SELECT * FROM image */
	uint64_t not_null;    /* bit per column */
	unsigned ints;        /* columns before those of type REAL */
	unsigned stack_at;    /* column that names a stack, from 1 on; 0: none */
	struct db_map stacks; /* named by rows since the report was opened */
};

struct row_batch {
	struct row_batch_table table[DB_TABLE_CNT];
	uint8_t *image;  /* a database with all tables */
	uint32_t pages;  /* of it, in use */
	uint32_t change; /* its version, for SQLite's page cache */
};

int row_batch_init(struct db *db);
/* Rows that are not flushed. */
size_t row_batch_pending(const struct db *db);
/* For rows of another second or so. */
bool row_batch_has_room(const struct db *db);
/* The stacks that rows of the table have named; NULL: its rows are not counted here, or were not all. */
const struct db_map *row_batch_stacks(const struct db *db, const char *table);
/* Copies the rows into the report, in the open transaction. 0 or -errno. */
int row_batch_flush(struct db *db);
/* Forgets the rows: they are committed, or lost. */
void row_batch_drop(struct db *db);
/* Before the connection is closed, and after. */
void row_batch_finalize(struct db *db);
void row_batch_free(struct db *db);
