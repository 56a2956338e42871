/*
 * sweeps.h - relations that rules ask for, as tables of SQL. Pids are the upper bits of globalTids (globalTid >> 24).
 *
 *   sl_event_spans(name, first, last): of the tables of calls and GPU work the first start and the last end
 *   sl_thread_calls(name, globalTid, n): how many rows of a table of calls are of a thread
 *   sl_cuda_calls(what, nameId, start, end, globalTid, correlationId): calls of CUDA that rules look for, in the order of the report
 *     within each what: 'sync', 'alloc', 'load', 'copy', 'set'; names of each: calls_sweep.c
 *   sl_cuda_launch(pid, ns): the average time of launching a kernel in a process
 *   sl_os_calls(what, nameId, start, end, globalTid, returnValue, pathId): calls into the C library likewise: 'lock', 'condition',
 *     'barrier', 'join', 'create', 'library', 'sync', by SL_FUNCTION_KINDS
 *   sl_copies(globalPid, deviceId, contextId, greenContextId, streamId, start, end, bytes, kind, srcKind, dstKind, srcDeviceId,
 *     dstDeviceId, callStart, callEnd, globalTid, nameId, blocking): the copies of GPUs (kind: copyKind), in the order of the report,
 *     and the call that asked for each (events/launches.h); blocking: 1 the call returns when the copy is done, 0 it may return before
 *   sl_fills(globalPid, deviceId, contextId, greenContextId, streamId, start, end, bytes, kind, callStart, callEnd, globalTid, nameId,
 *     blocking): the fills of GPUs (kind: memKind) likewise; only calls that block are known
 *   sl_gpu_busy(gpu, globalPid, deviceId, contextId, start, end, next, idle, busy, at): when a process kept a GPU busy: the union of its
 *     operations (work that has an end), so rows of one process and GPU neither overlap nor touch; next is when the one after it
 *     starts, NULL for the last; idle is the time until then, busy the sum of all up to end. gpu numbers pairs of process and GPU from
 *     0 on, in their order. contextId is NULL where a process uses several on the GPU. In order of gpu, end, by which rows are found at
 *     once; gpu = x AND at = y is the last row of x whose end is at most y
 *   sl_gpu_life(gpu, globalPid, deviceId, contextId, start, end): of each gpu the first start and the last end
 *   sl_gpu_cover(what, globalPid, deviceId, n, ns, total, start, end): how many operations of a kind a process had on a GPU, the time in
 *     which at least one of them went on, that of all together, the first start, the last end. what: 'all'; 'kernel' (graphs are
 *     kernels), 'compute' (the same without NCCL's, in which ranks wait for each other), 'nccl', 'not nccl', 'host copy' (from or to
 *     the host), 'not host copy'. Kinds that did not occur have no row
 *   sl_gpu_sums(globalPid, deviceId, contextId, streamId, what, detail, n, ns, bytes, first, last, small): operations by stream, kind
 *     and detail: how many, their time and bytes, the first start, the last end; of kernels also how many took less time than it takes
 *     to launch one in their process. what: 'kernel', 'memcpy', 'memset', 'graph'; detail: of kernels shortName, of copies copyKind
 *
 * The states of threads between context switches (sl_thread_states), added up; where wake-ups were not recorded, waiting after a
 * sleep counts as part of it. States whose end was not seen are left out, save the last run of a thread, which lasts until the
 * argument @until, or the end of the session:
 *
 *   sl_sched_threads(globalTid, runs, ran, waited, preempted, first, last): for each thread how often it ran, for how long; how long it
 *     waited, able to run, and how often because it had to give up the CPU; when it first ran or waited, and when it last did
 *   sl_sched_level(threads, running, ns): for how long so many threads were able to run, and so many of them ran
 *   sl_sched_disk(globalTid, start, end): sleeps in the state that the kernel calls uninterruptible
 *   sl_sched_cpus(cpu): CPUs on which one of these threads ran
 *
 * One pass over events makes the rows of several of these tables, in any order of the events: it sorts them and goes through
 * them in the order of time, in a fraction of the time of window functions. The connection keeps the rows from the first statement
 * that reads a table on, until the database changes.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporters/sql/tables/rows_table.h"

/* A time in which a GPU was busy for a process, as a record of rows: in the order of ends. */
enum busy {
	BUSY_END,
	BUSY_START,
	BUSY_IDLE, /* until the next begins; ROWS_NULL: there is none */
	BUSY_SUM,  /* time that it was busy for the process until the end of this one */
	BUSY_WORDS
};

struct swept_gpu { /* ROWS_NULL: not known */
	int64_t pid, device, context;
};

enum swept_table {
	SWEPT_SPANS,
	SWEPT_THREADS,
	SWEPT_CUDA_CALLS,
	SWEPT_CUDA_LAUNCH,
	SWEPT_OS_CALLS,
	SWEPT_COPIES,
	SWEPT_FILLS,
	SWEPT_GPU_BUSY,
	SWEPT_GPU_LIFE,
	SWEPT_GPU_COVER,
	SWEPT_GPU_SUMS,
	SWEPT_SCHED_THREADS,
	SWEPT_SCHED_LEVEL,
	SWEPT_SCHED_DISK,
	SWEPT_SCHED_CPUS,
	SWEPT_TABLES
};

/* The passes, each after those that it needs. */
enum sweep_pass {
	SWEEP_CUDA,
	SWEEP_OS,
	SWEEP_GPU,
	SWEEP_COPIES,
	SWEEP_FILLS,
	SWEEP_SCHED,
	SWEEP_PASSES
};

/* What a connection keeps. */
struct sweeps {
	sqlite3 *db;
	unsigned done;         /* passes, as bits */
	int failed;            /* SQLite's result code of the last pass, if it failed */
	unsigned version;      /* of the data at that time */
	int64_t until;         /* of SWEEP_SCHED: ROWS_NULL: the end of the session */
	struct swept_gpu *gpu; /* by their number in sl_gpu_busy */
	struct rows_shown shown[SWEPT_TABLES];
	struct rows_table table[SWEPT_TABLES];
};

/* Words of sl_cuda_calls, and the numbers there of calls that copy and fill. */
enum {
	SWEPT_NAME,
	SWEPT_START,
	SWEPT_END,
	SWEPT_TID,
	SWEPT_ID
};
#define SWEPT_COPY 4
#define SWEPT_SET  5

/* Once per connection, however often it is called. SQLite's result code. */
int sweeps_register(sqlite3 *db);
/* sl_thread_states: once per connection, with sweeps_register(). SQLite's result code. */
int thread_states_register(sqlite3 *db);

/* The passes: each adds to the tables that show its rows. SQLite's result codes. */
int cuda_sweep(struct sweeps *s);
int os_sweep(struct sweeps *s);
int copies_sweep(struct sweeps *s);
int fills_sweep(struct sweeps *s);
int gpu_sweep(struct sweeps *s);
int sched_sweep(struct sweeps *s);

/* ---- columns of tables whose records are not words alone ---- */

typedef void sweep_column(sqlite3_context *out, const struct sweeps *sweeps,
			  const struct rows_stretch *s, const int64_t *record, int column);
sweep_column sweep_call_column, sweep_launch_column, sweep_busy_column, sweep_cover_column,
	sweep_sum_column, sweep_fill_column;
/* Texts of what, up to NULL. */
extern const char *const sweep_cuda_kinds[], *const sweep_os_kinds[];

/* ---- for all passes ---- */

/* A whole number or NULL. */
struct sweep_id {
	int64_t value;
	bool known;
};

static inline struct sweep_id sweep_value(sqlite3_value *v)
{
	bool known = sqlite3_value_type(v) != SQLITE_NULL;

	return (struct sweep_id){known ? sqlite3_value_int64(v) : 0, known};
}
/* The same as a word of a record. */
static inline int64_t sweep_word(struct sweep_id id)
{
	return id.known ? id.value : ROWS_NULL;
}

/* The first start and the last end in a table of events. */
struct sweep_span {
	int64_t first, last_start, last_end; /* ROWS_NULL: there is none */
};
#define SWEEP_SPAN_NONE                         \
	(struct sweep_span)                     \
	{                                       \
		ROWS_NULL, ROWS_NULL, ROWS_NULL \
	}
void sweep_span_add(struct sweep_span *s, struct sweep_id start, struct sweep_id end);

/* The tables of events that passes read: numbers of sl_event_spans and sl_thread_calls. */
enum swept_events {
	SWEPT_RUNTIME,
	SWEPT_OSRT,
	SWEPT_WORK /* those of gpu_work.def from here on */
};
/* The row of sl_event_spans. @of_calls: a start may be the last, of a call that never returned. SQLite's result code. */
int sweep_show_span(struct sweeps *s, unsigned events, const struct sweep_span *span,
		    bool of_calls);

/*
 * Shows all @rows in a table, as the stretch @number, unless @rc, the result code of filling them, is an error. Takes the rows
 * in any case. SQLite's result code.
 */
int sweep_show(struct sweeps *s, enum swept_table table, int64_t number, struct rows *rows, int rc);
