/*
 * db_spaces.h - which file was mapped at an address, by SL_SPACES and SL_MODULES of a report. Private to collector/report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct db;
struct db_spaces;
struct symbols;
struct symbols_module;

struct db_module {
	uint32_t number; /* row of SL_MODULES */
	bool has_file;
	int64_t space;
	uint64_t start, end, bias;
	uint64_t until; /* the largest end of it and those before, in its space */
	int64_t since, path_id;
	const char *path;
	struct symbols_module *symbols; /* NULL: no names */
};

/* Reads them. @symbols NULL: names are not wanted. 0 or -errno; to be closed either way. */
int db_spaces_open(struct db *db, struct symbols *symbols, struct db_spaces **out);
void db_spaces_close(struct db_spaces *all);

/*
 * The module at @address at the time @ns; NULL: none known. A forked process has the modules of its parent until its own
 * are recorded. One that was recorded a little later is better than none.
 */
const struct db_module *db_spaces_module(const struct db_spaces *all, int64_t space,
					 uint64_t address, int64_t ns);

/* The process whose space it is; 0: not known. */
int64_t db_spaces_pid(const struct db_spaces *all, int64_t space);
