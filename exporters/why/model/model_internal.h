/* model_internal.h - between the files that read the model. */
#pragma once

#include "collector/base/grow.h"
#include "exporters/events/big_array.h"
#include "exporters/why/model/model.h"

/* Handles a row of many (sql_values()). SQLite's result code. */
typedef int why_values(void *model, sqlite3_value **v);
/* Handles a row of few; false: no memory. */
typedef bool why_row(struct why_model *m, sqlite3_stmt *stmt);
/* Each row of a statement. SQLite's result code. */
int why_rows(sqlite3 *db, const char *sql, why_row *row, struct why_model *m);
/* The number of an id; WHY_NONE for NULL. */
uint32_t why_number(struct id_map *map, sqlite3_value *id);
/* As qsort() and qsort_r(). Rows come in order, nearly always. */
void why_sort_with(void *list, size_t cnt, size_t size,
		   int (*order)(const void *, const void *, void *), void *ctx);
void why_sort(void *list, size_t cnt, size_t size, int (*order)(const void *, const void *));
/* Within WALL_FAR. */
int64_t why_time(sqlite3_value *time);
uint32_t why_model_process(struct why_model *m, int64_t pid);

/* model_near.c: the root, and the processes whose calls are read. */
int why_find_near(struct why_model *m, const struct why_scope *scope);
/* As sql_values(); only rows of processes whose calls are read, by @id, a globalTid or globalPid. @from has a WHERE. */
int why_near_rows(struct why_model *m, const char *columns, const char *from, const char *id,
		  why_values *row);

/* model_objects.c: after the threads are known. */
int why_read_objects(struct why_model *m);
/* model_locks.c: after the calls are read. */
int why_find_locks(struct why_model *m);
/* model_uses.c: after the objects of calls are read, in reports without wakers. */
int why_read_uses(struct why_model *m);
/* model_calls.c: messages; calls, samples. */
int why_read_sends(struct why_model *m);
int why_read_calls(struct why_model *m);
/* Of a list in order: is call @i not inside of one of the @kept first, which are not inside of others? */
static inline bool why_is_outermost(const struct why_call *list, size_t i, size_t kept)
{
	return !kept || list[i].end > list[kept - 1].end;
}
/* model_calls.c: the last call, if it never returned, has the rest of the time. */
void why_end_calls(struct why_call *list, size_t cnt);
/* model_ranges.c: NVTX ranges; after calls and samples are read. */
int why_read_ranges(struct why_model *m);
void why_free_ranges(struct why_model *m);
/* model_gpu.c: GPU work, and the calls that started it; after all calls are read. */
int why_read_gpu(struct why_model *m);
