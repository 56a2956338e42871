/* model_internal.h - between the files that read the model. */
#pragma once

#include "collector/base/grow.h"
#include "exporters/why/model.h"

/* Handles a row; false: no memory. */
typedef bool why_row(struct why_model *m, sqlite3_stmt *stmt);
/* Each row of a statement. SQLite's result code. */
int why_rows(sqlite3 *db, const char *sql, why_row *row, struct why_model *m);
/* The number of the id in a column; WHY_NONE for NULL. */
uint32_t why_number(struct id_map *map, sqlite3_stmt *stmt, int column);
/* Rows come in order, nearly always. */
void why_sort(void *list, size_t cnt, size_t size, int (*order)(const void *, const void *));
/* The time in a column, within WALL_FAR. */
int64_t why_time(sqlite3_stmt *stmt, int column);
uint32_t why_model_process(struct why_model *m, int64_t pid);

/* model_near.c: the root, and which processes' calls are read. */
int why_find_near(struct why_model *m, const struct why_scope *scope);
/* @sql with the condition that @id, a globalTid or globalPid, is of a process whose calls are read; sqlite3_free(); NULL: no memory. */
char *why_near_sql(const struct why_model *m, const char *sql, const char *id);
int why_near_rows(struct why_model *m, const char *sql, const char *id, why_row *row);

/* model_objects.c: after the threads are known. */
int why_read_objects(struct why_model *m);
/* model_locks.c: after their calls are. */
int why_find_locks(struct why_model *m);
/* model_calls.c: messages; calls, samples, messages; GPU work. */
int why_read_sends(struct why_model *m);
int why_read_calls(struct why_model *m);
/* model_gpu.c: what GPUs did, after why_add_launch() of each call that may have started it. */
bool why_add_launch(struct why_model *m, uint32_t thread, const struct why_call *c);
int why_read_gpu(struct why_model *m);
