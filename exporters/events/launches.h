/*
 * launches.h - which CUDA call started which work of a GPU.
 *
 * Work belongs to the call of its process that has its correlation id. Ids are unique within a process only, and 0 is none. Of
 * several calls with one id (of the runtime and, below it, of the driver) it is the one that began first. Work is of the
 * process that SL_GPU_WORK gives for it. A graph's work has the id of the
 * call that launched the graph. Migrations of unified memory, and work whose call was lost, have no call; most calls have no work.
 *
 *   SL_LAUNCHES(the columns of SL_GPU_WORK, callStart, callEnd, globalTid, nameId)
 *   SL_LAUNCH_CALLS(process, correlationId, start, end, globalTid, nameId)
 *   SL_LAUNCH_STACKS(process, correlationId, start, end, globalTid, nameId, stack)
 *
 * are the same in SQL: all work with its call, or NULL; the calls that work can belong to; these with their stacks
 * (read/stack_views.c), also calls that a filter hides: the work that they launched may be shown. A reader that searches calls takes
 * them in the order of process (globalPid >> 24), correlationId and start into a table with the first two as its key, by INSERT OR
 * IGNORE: the first to begin stays.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_NONE INT64_MIN          /* a value that is NULL in the report */
#define LAUNCH_OPEN (INT64_C(1) << 62) /* the end of a call that did not return */

static inline bool launch_is_id(int64_t id)
{
	return id != 0 && id != LAUNCH_NONE;
}

/* Adds these views and SL_GPU_WORK, once per connection. SQLite's result code. */
int launches_register(sqlite3 *db);

struct launch_call {
	int64_t tid, start, end; /* globalTid; ns */
	int64_t name;            /* nameId, of calls that a reader adds itself */
};

/* Calls and work that wait for each other: in memory, or in files where they are many. */
struct launches;

/* Each piece of work has so many @words of its own, at most 4. NULL: no memory. */
struct launches *launches_new(unsigned words);
void launches_free(struct launches *l);

/* The functions below return SQLite's result codes, and those of the callbacks. */
int launches_add_call(struct launches *l, int64_t id, const struct launch_call *call);
/* @pid: its globalPid, or LAUNCH_NONE: then all calls must have been added. Without an id it has no call. */
int launches_add_work(struct launches *l, int64_t pid, int64_t id, const int64_t *words);

/* All CUDA calls of the report. */
int launches_read_calls(struct launches *l, sqlite3 *db);
/* The work of the kinds whose bits (1 << GPU_WORK_KERNEL ...) are set; after the calls. Its words: @columns of SL_GPU_WORK. */
int launches_read_work(struct launches *l, sqlite3 *db, unsigned kinds, const char *columns,
		       const char *where);

struct launch_reader {
	/* A piece of work and its call. */
	int (*work)(void *ctx, const struct launch_call *call, const int64_t *words);
	/* That was all the work of the call; may be NULL. */
	int (*done)(void *ctx, const struct launch_call *call);
};

/* Once, after all was added: the work that has a call, in order of process and id; of one id in the order it was added. */
int launches_join(struct launches *l, const struct launch_reader *reader, void *ctx);
