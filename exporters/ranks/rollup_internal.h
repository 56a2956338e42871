/* rollup_internal.h - parts of a roll-up. */
#pragma once

#include "collector/base/saturate.h"
#include "exporters/ranks/rollup.h"
#include "exporters/read/wall.h"

struct rank_step {
	int64_t start, end, no;
	int64_t tid;
};

struct rank {
	int64_t rank, restart, local, world, nccl; /* DATASET_NULL: not known; nccl: rank there */
	int64_t pid;                               /* upper bits of ids: the main process */
	char *source;
	struct rank_step *steps; /* in order, none overlaps another */
	size_t steps_cnt, steps_room;
	bool is_counted; /* their numbers are those of their order, not of their names */
	size_t collectives;
	int64_t first, last; /* times of its events, session axis */
};

struct rank_process {
	int64_t pid; /* upper bits of ids */
	size_t rank; /* index */
};

struct rollup {
	sqlite3 *db;
	struct dataset *d;
	const struct rollup_ask *ask;
	struct rollup_found *found;
	int64_t epoch; /* session time 0, ns since 1970 */
	struct wall wall;
	struct rank *ranks;
	size_t ranks_cnt, ranks_room;
	struct rank_process *processes; /* in order of pid */
	size_t processes_cnt, processes_room;
};

/* A call on a communicator that all of its ranks make, or one side of a message. */
struct collective {
	int64_t tid, start, end; /* the call */
	int64_t comm, bytes;
	char op[24];
	size_t span;  /* whose launches are its own */
	size_t rank;  /* of the rollup */
	int64_t peer; /* of a message: the rank at the other end; -1: of a collective */
	bool is_send;
	size_t comm_at; /* index of the communicator, SIZE_MAX: of MPI */
	/* of the communicator */
	int64_t hash, ranks, comm_rank, seq;
};

struct comm {
	int64_t pid, handle, hash, ranks, rank, start, end;
	int64_t seq; /* collectives so far */
	char name[64];
};

/* rollup_messages.c */

bool message_is(const char *name);
/* The two ranks of a message as a communicator. Its number is that of the shim, which counts both sides alike, or it has none. */
void message_pair(struct collective *x);
/*
 * Is a group (an array) an all-to-all on the communicator of its first member? Then that becomes it: of the number of the message to the first other
 * rank, which is the same on all ranks where they do nothing else with each other.
 */
bool message_is_all_to_all(struct collective *list, size_t cnt, const struct comm *m);
/* The name of the communicator; of a message with sender and receiver, by their ranks in it. NULL: it has none. */
const char *message_comm(const struct collective *x, const struct comm *m, char *to, size_t len);
/* The operation of a function of MPI in NCCL's words, where it has one. */
const char *message_op_of_mpi(const char *name);

/*
 * Runs the statements of a text one after the other, with :rank, :from, :epoch and :range; rows of the last go to @row.
 * SQLite's result code.
 */
typedef int rollup_row(void *ctx, sqlite3_stmt *stmt);
int rollup_sql(struct rollup *r, const char *sql, rollup_row *row, void *ctx);

/* The text rollups/NAME.sql. */
const char *rollup_embedded(const char *name);

/* A whole number of a row; DATASET_NULL: NULL, or something else. */
static inline int64_t rollup_number(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_type(stmt, i) == SQLITE_INTEGER ? sqlite3_column_int64(stmt, i)
							      : DATASET_NULL;
}

/* A time of the report as the dataset has it; the report may have any numbers. */
static inline int64_t rollup_utc(const struct rollup *r, int64_t time)
{
	return sat_add(time, r->epoch);
}

/* The rank of a process; NULL: it has none. */
struct rank *rollup_rank(struct rollup *r, int64_t pid);
/* The step that @time is in; NULL: none. */
const struct rank_step *rollup_step(const struct rank *k, int64_t time);

/* rollup_steps.c, rollup_collectives.c. SQLite's result codes. */
int rollup_find_steps(struct rollup *r);
int rollup_steps(struct rollup *r);
int rollup_collectives(struct rollup *r);
