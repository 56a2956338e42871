/* tables.h - the database that is written: its tables, made with their first row, in the shape of one release of nsys. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporters/read/nsysrep/wire.h"

enum nr_table_id {
#define TABLE(name, since, until) NR_##name,
#define COLUMN(...)
#define OLD(...)
#define EITHER(...)
#define END
#include "exporters/read/nsysrep/tables.def"
#undef TABLE
#undef COLUMN
#undef OLD
#undef EITHER
#undef END
	NR_TABLE_CNT,
	NR_NOWHERE = NR_TABLE_CNT,
	NR_NO_CHAINS,
};

/* Fields of a message by number. Of one that occurs several times: the first. */
struct nr_fields {
	uint64_t has, is_bytes; /* by number */
	uint64_t repeats;       /* occurs more than once */
	bool has_large;         /* a number of 64 or more, up to 99 */
	struct wire_field
		part; /* the first message from 100 on, which decides the kind; its number 0: none */
	uint64_t value[64];
	struct {
		const uint8_t *data;
		size_t len;
	} bytes[64];
};

/* What a row is made of. */
struct nr_row {
	const struct nr_fields *payload, *part;
	int64_t kind, number;
	int64_t chain; /* 0: none */
};

struct nr_tables;

/*
 * An empty database at @path, in the shape of @release. NULL with @why. Rows are written as pages of the file; SQLite takes it over
 * with nr_tables_end_pages(), and its list of tables is filled in the order in which they are entered or made.
 */
struct nr_tables *nr_tables_open(const char *path, unsigned release, char *why);
int nr_tables_end_pages(struct nr_tables *t);
int nr_tables_enter(struct nr_tables *t, enum nr_table_id id);
/* All others that have rows, in the order of their first rows. */
int nr_tables_enter_all(struct nr_tables *t);
sqlite3 *nr_tables_db(struct nr_tables *t);
/* Whether nsys of that release has the table. */
bool nr_tables_has(const struct nr_tables *t, enum nr_table_id id);
/* 0, or -1: nr_tables_why(). */
/* The table even where it has no row. */
int nr_tables_make(struct nr_tables *t, enum nr_table_id id);
int nr_tables_add(struct nr_tables *t, enum nr_table_id id, const struct nr_row *row);
int64_t nr_tables_rows(const struct nr_tables *t, enum nr_table_id id);
/* The fields that the columns take: bits by number. */
uint64_t nr_tables_known(enum nr_table_id id, bool of_part);
/* What schema.sql, or enums.sql, has of a table, malloc'd. NULL: neither has it. */
char *nr_section_of(const char *name);
/* Makes table @name of schema.sql as it is there, with the rows it has there. */
int nr_tables_copy(struct nr_tables *t, const char *name);
int nr_tables_exec(struct nr_tables *t, const char *sql);
const char *nr_tables_why(struct nr_tables *t);
/* Commits and closes. 0, or -1 with @why. */
int nr_tables_close(struct nr_tables *t, char *why);
void nr_tables_drop(struct nr_tables *t);
