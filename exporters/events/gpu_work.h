/*
 * gpu_work.h - the work of GPUs, of all kinds: kernels, graphs, copies, fills.
 *
 *   SL_GPU_WORK(kind, globalPid, deviceId, contextId, greenContextId, streamId, start, end, correlationId, graphNodeId,
 *               shortName, demangledName, mangledName, copyKind, bytes, srcKind, dstKind, process)
 *   SL_GPU_KERNELS(the columns of CUPTI_ACTIVITY_KIND_KERNEL, process)
 *
 * are views: the first of all tables of gpu_work.def, in their order. kind: 'kernel', 'graph', 'memcpy', 'memset'; columns that a kind
 * or the report does not have are NULL. process: globalPid >> 24; work in old reports does not say whose it is: it is of the process
 * with the least number that calls CUDA. srcKind of a fill: the kind of memory that is filled. start and end are nanoseconds of the
 * report's clock; end is NULL or before start where it was not recorded.
 *
 * An aggregate or window function over a union makes SQLite read all columns; (SELECT start, end FROM SL_GPU_WORK LIMIT -1) reads
 * these two. Readers in C take one table after the other: the same rows, without the cost of a union.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

enum gpu_work_kind {
#define GPU_WORK(kind, name, table, columns) GPU_WORK_##kind,
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
	GPU_WORK_KINDS
};

/* By kind: its word in SL_GPU_WORK, and the table, for readers of a row by its number. */
extern const struct gpu_work_table {
	const char *kind, *name;
} gpu_work_tables[GPU_WORK_KINDS];

/*
 * "(SELECT ...)", the rows of one kind with the columns of SL_GPU_WORK, as text for FROM, for sqlite3_free(); without rows where the
 * report has no such table. NULL: no memory.
 */
char *gpu_work_of(sqlite3 *db, enum gpu_work_kind kind);

/*
 * Calls @row with the @columns of each row of a kind; @where: what may follow FROM, or "". SQLite's result code, @row's among them.
 */
int gpu_work_values(sqlite3 *db, enum gpu_work_kind kind, const char *columns, const char *where,
		    int (*row)(void *ctx, sqlite3_value **values), void *ctx);

/* The process of work that does not say whose it is; GPU_WORK_NONE: no process calls CUDA. */
#define GPU_WORK_NONE INT64_MIN
int64_t gpu_work_unsaid(sqlite3 *db);

/* Adds these views, once per connection. SQLite's result code. */
int gpu_work_register(sqlite3 *db);
