/* slice.h - the shared header of the sqlite exporter: a copy of a report, table by table, row by row. */
#pragma once

#include "collector/base/map.h"
#include "exporters/formats/anonymize.h"
#include "exporters/formats/export.h"
#include "exporters/timeline/timeline.h"
#include "exporters/timeline/tl_tables.h"

#define SLICE_COLS_MAX 64

enum slice_role { /* of a column of numbers */
	SLICE_PLAIN,
	SLICE_STRING,  /* -> StringIds.id */
	SLICE_PATH,    /* likewise, and the text is a path */
	SLICE_PROCESS, /* globalPid or globalTid */
	SLICE_CHAIN,   /* -> a table of callchains, or SL_STACKS.id */
	SLICE_STACK,   /* -> SL_STACKS.id */
	SLICE_COUNTED, /* -> PMU_EVENT_COUNTERS.id */
	SLICE_FRAME,   /* -> SL_FRAMES.id */
	SLICE_SPACE,   /* -> SL_SPACES.id */
};

struct slice_column {
	char name[64];
	enum slice_role role;
	enum anonymize_how how;
};

struct slice_table {
	const char *name;
	const char *sql; /* CREATE TABLE */
	int cols;
	struct slice_column col[SLICE_COLS_MAX];
	bool keyed;        /* StringIds, processes, stacks: rows without a reference are left out */
	bool settings;     /* names and values */
	bool made;         /* in the copy */
	sqlite3_stmt *get; /* column 0 is the rowid where there is one */
	sqlite3_stmt *put;
	uint64_t rows, lost;
	bool lost_more; /* the number of rows after the damage is not known */
};

struct slice {
	struct export_job *job;
	sqlite3 *dst;
	bool filtered;        /* the views of the source show a part */
	bool prune_strings;   /* keep only strings that rows refer to */
	bool prune_processes; /* likewise */
	struct map strings, paths, processes, chains, frames, spaces;
	int chain; /* kind of callchains that the current table has to do with; 0: none */
	struct anonymizer *anon;
	uint64_t rows, total;
	uint64_t lost;
	char *why;
	size_t why_len;
};

/*
 * Copies one table, as far as it can be read; makes it in the copy when it is due. 0, or -1 after one
 * sentence in @why.
 */
int slice_table(struct slice *s, const char *name, const char *sql);
/* Makes an empty table of the name in the copy; an existing table stays. */
int slice_make(struct slice *s, const char *name, const char *sql);
/* Makes an empty table by a text of the source's schema, which may be forged: one CREATE TABLE. */
int slice_make_foreign(struct slice *s, const char *name, const char *sql);
/* Does the table have frames of stacks? */
bool slice_is_chains(const char *table);
int slice_exec(struct slice *s, const char *sql);
/* The role of a column, by its name and by the text that made the table. */
enum slice_role slice_role_of(const char *table, const char *sql, const char *column);
/* 0: no time; 1: a time; 2: a time, but 0 means none. */
int slice_time_of(const char *table, const char *column);
/* Keeps the message of the copy's @error. -1. */
int slice_fail_dst(struct slice *s);

static inline bool slice_is_used(struct map *m, int64_t id)
{
	return map_at(m, (uint64_t)id, false) != NULL;
}
