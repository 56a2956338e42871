/*
 * dataset.h - the files of a dataset: rows are gathered in a scratch database, then written in order, one Parquet file per
 * table and node, aside, and renamed when all of them are whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/read/db_read.h"

#define DATASET_VERSION      1
#define DATASET_MANIFEST_MAX (64 << 20) /* bytes */

enum dataset_kind {
	DATASET_INT,
	DATASET_TEXT,
};
struct dataset_column {
	const char *name;
	enum dataset_kind kind;
};
struct dataset_table {
	const char *name, *order; /* columns, the first that of the files' rows */
	const struct dataset_column *columns;
	size_t cnt;
};
enum dataset_number {
#define TABLE(name, order) DATASET_##name,
#include "exporters/ranks/tables.def"
	DATASET_TABLES
};
extern const struct dataset_table dataset_tables[DATASET_TABLES];

struct dataset {
	sqlite3 *db; /* scratch */
	sqlite3_stmt *insert[DATASET_TABLES];
	int64_t misfits; /* values that their column cannot hold: NULL is written */
};

/* A part of a dataset: the place of its files, and the facts in its manifest. */
struct dataset_part {
	const char *folder, *run, *node; /* run and node: letters, digits and -_.+ only */
	const char *job;                 /* name that the launcher gave the job; NULL: none */
	bool force;                      /* also where the folder has another job under this run */
};

/* SQLite's result codes. */
int dataset_begin(struct dataset *d);
/* A row from the columns of @from, in the order of the table's. */
int dataset_row(struct dataset *d, enum dataset_number table, sqlite3_stmt *from);
/* A row of numbers and texts by position; which of the two a column is, is the table's. */
union dataset_value {
	int64_t number; /* DATASET_NULL: NULL */
	const char *text;
};
#define DATASET_NULL INT64_MIN
int dataset_values(struct dataset *d, enum dataset_number table, const union dataset_value *values);
/* Writes the files. 0, or -1 after one sentence in @why; then nothing of the dataset has changed but for the folders. */
int dataset_write(struct dataset *d, const struct dataset_part *part, char *why, size_t why_len);
void dataset_end(struct dataset *d);

/*
 * One table of the part anew: for a table computed from the dataset itself, whose size the manifest does not have. Likewise a
 * text in a file. 0, or -1 after one sentence in @why.
 */
int dataset_write_table(struct dataset *d, const struct dataset_part *part,
			enum dataset_number table, char *why, size_t why_len);
int dataset_write_text(const char *folder, const char *path, const char *text, char *why,
		       size_t why_len);

/*
 * Puts the files in place of a part whose writer was stopped between the first and the last of them: they are all whole then.
 * 0, or -1 with errno.
 */
int dataset_finish(const char *folder, const char *run, const char *node);

/*
 * Takes the run with all of its parts out of the dataset. 0 with the number of files, or -1 after one sentence in @why: there is no such run, or
 * something of it stays.
 */
int dataset_remove(const char *folder, const char *run, int64_t *files, char *why, size_t why_len);

/* Is the word fit to be a run or node? */
bool dataset_word(const char *word);
/* ".../TABLE/run=RUN/node=NODE/part-0.parquet", ".../_nodes/run=RUN/node=NODE.json"; malloc'd, NULL: no memory. */
char *dataset_file(const char *folder, const char *table, const char *run, const char *node);
char *dataset_manifest(const char *folder, const char *run, const char *node);
/* ".../_clock/run=RUN.json", likewise: the rows of SL_CLOCK_FIT, for readers without an engine. */
char *dataset_clocks(const char *folder, const char *run);
/* ".../_ends/run=RUN/node=NODE.json", likewise: how its ranks ended (autopsy/). */
char *dataset_ends(const char *folder, const char *run, const char *node);
