/* tl_tables.h - the tables of a timeline, and the ids in them: for readers of the same tables beside a timeline. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exporters/read/db_read.h"

/* Packed ids: pid and tid are 24 bits each. */
#define TL_TID(global)        ((global)&0xFFFFFF)
#define TL_PID(global)        ((global) >> 24 & 0xFFFFFF)
#define TL_PROCESS_OF(global) ((global) & ~(int64_t)0xFFFFFF)

#define TL_SYNC_STREAM (-2) /* of a context: all waits */

enum tl_place {
	TL_AT_THREAD,
	TL_AT_CALL, /* likewise, with a stack */
	TL_AT_CUDA_CALL,
	TL_AT_NVTX,
	TL_AT_STREAM,
	TL_AT_SYNC,
	TL_AT_PROJECTED,
	TL_AT_SCHED,
	TL_AT_SAMPLE,
	TL_AT_MEMORY,
	TL_AT_METRIC,
	TL_AT_COUNTED,
	TL_AT_COUNTER,
	TL_AT_PROCESS,
	TL_AT_LOST,
	TL_AT_IO,
	TL_AT_MADE,
};

struct tl_source_def {
	const char *table;
	uint32_t activity;
	enum tl_place place;
	const char *category, *times, *keys, *correlation, *name, *args;
};
extern const struct tl_source_def tl_source_defs[]; /* ends with a NULL table */

bool tl_has_column(sqlite3 *db, const char *table, const char *column);
/* 1: the rows lie in the order of the timeline (@end may be NULL), 0: they do not, -1: failed. */
int tl_in_order(sqlite3 *db, const char *table, const char *start, const char *end);
/* About how many rows there are: row numbers cost nothing to ask for. */
uint64_t tl_rows_cnt(sqlite3 *db, const char *table);

/* Reads a number with one access to the column instead of two: accesses add up. */
static inline bool tl_number(sqlite3_stmt *stmt, int col, int64_t *num)
{
	sqlite3_value *v = sqlite3_column_value(stmt, col);

	if (sqlite3_value_type(v) == SQLITE_NULL)
		return false;
	*num = sqlite3_value_int64(v);
	return true;
}
