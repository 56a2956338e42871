/*
 * gpu_internal.h - structures and functions that the files of decode/gpu share; gpu.h lists the files.
 */
#pragma once

#include "collector/report/db.h"
#include "collector/report/db_map.h"
#include "collector/decode/gpu/gpu.h"
#include "preload/wire/gpu.h"
#include "preload/wire/gpu_wire.h"

#define GPU_THREADS 64u /* hash of a process's threads */
/* Rows of a thread that late records can refer to: more than a GPU queues. */
#define GPU_WRITTEN  4096u
#define GPU_ALIASES  (1u << 19)   /* aliases, of the younger half */
#define GPU_RUNS     64u          /* of ids of a process, see gpu_ids.c */
#define GPU_PENDING  (192u << 20) /* bytes that may wait, of an arena */
#define GPU_CLOCK_NS 2000         /* by which CUPTI's times and the hooks' may differ */
#define GPU_SLACK_NS 250000000ll  /* a driver call is inside a runtime call that returns so soon */
#define GPU_GRACE_NS \
	1000000000ll /* after a process's first call without a record of CUPTI: CUPTI is off */
#define GPU_CONTEXTS   64u
#define GPU_DEVICES    64u
#define GPU_FOREVER_NS 60000000000ll /* longest wait where CUPTI has no flush interval */

/* A growing buffer of records of several sizes, taken from the front. */
struct gpu_queue {
	char *at;
	size_t begin, len, cap; /* records lie in [begin, len) */
};

/* A call, as its hook recorded it. */
struct gpu_hook {
	uint64_t logged; /* number in the pending log, 0: not there yet */
	uint32_t bytes;  /* of this record, with the words */
	uint16_t function;
	uint8_t level, words;
	int64_t start, end;
	int64_t stack; /* STACK_ID(), 0 none */
	int32_t result;
	bool is_done;
	uint64_t word[];
};

/* A call, as CUPTI reported it. */
struct gpu_api {
	uint64_t logged; /* number in the pending log, 0: not there yet */
	int64_t start, end;
	uint32_t correlation, name;
	int32_t result;
	bool is_driver, is_done;
};

/* Work of the GPU: a waiting record; the payload follows. */
struct gpu_work {
	uint64_t logged; /* number in the pending log, 0: not there yet */
	uint32_t bytes;  /* of this record, with the payload */
	uint32_t kind;   /* enum sl_gpu_record */
	int64_t end;     /* when it was over, session time; INT64_MIN: the time does not matter */
	int64_t arrived; /* session time */
};

/* A row of RUNTIME that was written. */
struct gpu_written {
	int64_t start, end, id; /* id 0: it has no row after all */
	uint32_t canon;
	bool is_reported; /* CUPTI has reported it */
};

struct gpu_thread {
	struct gpu_thread *next;
	uint32_t ns_tid;
	int64_t global_tid;
	struct gpu_queue hooks;
	struct gpu_api *api;
	size_t api_cnt, api_cap;
	size_t open_at;  /* in hooks: calls before it are nested in no call that has not returned */
	int64_t used_at; /* session time */
	int64_t oldest;  /* end of the oldest that waits, INT64_MAX none */
	bool is_changed; /* since the last tick that checked it */
	struct gpu_written *written;
	uint32_t written_cnt;
};

enum gpu_cupti {
	GPU_CUPTI_UNKNOWN, /* no record of it so far */
	GPU_CUPTI_ON,
	GPU_CUPTI_OFF, /* not there, or given up */
};

struct gpu_alias_table {
	uint32_t *key;
	int64_t *id;
	uint32_t cnt, cap;
};

struct gpu_lent_event {
	int64_t ns, calls;
	bool is_end;
};

/* gpu_lent_graphs.c */
struct gpu_lent_graphs {
	struct gpu_graph_call *call; /* in no order */
	size_t call_cnt, call_cap;
	uint64_t *late; /* instances that CUPTI does not report */
	size_t late_cnt, late_cap;
	bool is_whole; /* CUPTI reports graphs as wholes */
	/* As those below, but kept: the row of a call can come after the report of its time. */
	struct gpu_lent_event *event;
	uint32_t event_cnt, event_cap;
};

/* gpu_lent.c: times in which CUPTI is lent to the program. */
struct gpu_lent {
	/* Beginnings and ends of these times, in order. */
	struct gpu_lent_event *event;
	uint32_t cnt, cap;
	int64_t *call; /* starts of calls that CUPTI has not reported */
	size_t call_cnt, call_cap;
	struct gpu_lent_graphs graphs;
	bool has_begun;                   /* it was lent */
	int64_t reported_all_at, back_at; /* the latest each */
	uint64_t flushed_tick;            /* of the latest flush */
};

/* gpu_ids.c: numbers of the report from @id on, for CUPTI's correlation ids from @first on. */
struct gpu_run {
	uint32_t first, cnt;
	int64_t id;
};

struct gpu_ids {
	struct gpu_run run[GPU_RUNS]; /* the oldest gives way to the next */
	uint32_t cnt, added;
	uint32_t given; /* numbers in runs, those given way included */
	/* Of calls that CUPTI does not know: those left, and all. */
	struct gpu_run own;
	uint32_t own_given;
};

struct gpu_process {
	struct gpu_process *next;
	struct gpu_arena *arena;
	struct {
		uint32_t number; /* of the image */
		uint32_t pid;
		int64_t global_pid;
	} id;
	enum gpu_cupti cupti;
	struct {
		int64_t first;   /* its first call here */
		int64_t horizon; /* calls that ended before have their rows */
		int64_t looked_at;
		bool is_hurried; /* too much waits */
	} time;
	struct {
		/* CUPTI has handed over all that ended before @until; the next watermark holds once the rings have been read up
		 * to @next_tick. */
		int64_t until;
		int64_t next_until, last_until;
		uint64_t next_tick, last_tick;
	} reached;
	struct gpu_ids ids;
	struct {
		struct gpu_thread *at[GPU_THREADS], *last;
	} threads;
	struct {
		struct gpu_alias_table alias, old_alias;
		int64_t last;            /* end of the latest in a hook's record */
		struct live_calls *live; /* sums of its calls, NULL: none yet */
		/* By window of the report: gpu_captured.c. */
		struct gpu_range *range;
		uint32_t range_cnt, range_cap;
		bool is_range_partial; /* some calls are not known: of a previous collector */
	} calls;
	struct gpu_queue work;
	struct gpu_lent lent;
	struct {
		uint8_t gpu[GPU_DEVICES];      /* + 1, TARGET_INFO_GPU.id by device; 0 unknown */
		uint32_t device[GPU_CONTEXTS]; /* + 1, by context id; 0 unknown */
		struct db_map comms;           /* of MPI: commUid by handle; 0 unknown */
	} tables;
	bool has_reported_all; /* CUPTI has handed over its last record */
	bool is_missing_noted; /* it never did, and the report has that diagnostic */
	struct {
		struct gpu_named *named; /* streams */
		struct db_map calls;     /* from ids of calls to those */
		uint32_t cnt, open;      /* those; and of them without a row */
	} streams;
};

struct gpu_name {
	int64_t mangled, demangled, base; /* StringIds.id */
	uint32_t canon;
	bool is_known;
};

/* Chunks of the pending log that are in the report; see gpu_pending.c. */
enum gpu_stream {
	GPU_STREAM_RECORDS,
	GPU_STREAM_FACTS,
	GPU_STREAM_CNT
};
struct gpu_log {
	struct gpu_chunk {
		uint64_t last; /* number of the last record before its end */
		size_t bytes;
	} * chunk;
	uint32_t first, cnt, cap; /* number of the oldest; how many */
	size_t bytes;
};

struct gpu_arena {
	struct gpu_process *first;
	struct gpu_process *last; /* found last */
	struct gpu_name **name;   /* by id of the string, pages of STRINGS_PAGE */
	uint32_t names;
	int64_t *function_id; /* StringIds.id + 1 by function */
	size_t pending;       /* bytes */
	uint64_t waiting;     /* records */
	struct {
		/* For recover. */
		bool has_changed;
		struct gpu_log log[GPU_STREAM_CNT];
		struct gpu_queue settled, facts; /* to be appended with the next commit */
		uint64_t last_logged;            /* number of the last record */
		uint64_t fresh; /* records that came to wait since the last commit, and still do */
		uint64_t unlogged; /* that wait without being logged */
		bool is_log_void;  /* its chunks are of a report before this one */
		bool has_named;    /* names of streams, or calls on those, since the last commit */
	} save;
	struct {
		/* Rows of the open transaction. */
		uint64_t rows;
		int64_t first_ns, last_ns;
	} txn;
	struct {
		/* Scratch of gpu_match.c. */
		struct gpu_node *node;
		size_t node_cap;
	} match;
};

enum gpu_of_graph {
	GPU_OF_NO_GRAPH,
	GPU_GRAPH_INSTANTIATED,
	GPU_GRAPH_LAUNCHED,
};

/* State common to all calls of an arena during a tick. */
struct gpu_look {
	struct arenas *as;
	struct arena *arena;
	struct gpu_process *process;
	int64_t now, wait;
	int64_t read_to; /* all hooks that returned before are known */
	bool is_news;    /* a record of CUPTI may have ended a wait */
	bool all;        /* writes everything */
};

/* ---- gpu_process.c ---- */

/* Whether the process has ended, and everything it left has been read. */
bool gpu_is_over(const struct arena *a, const struct gpu_process *p);
/* Room for @bytes more at the end, NULL: no memory. */
void *gpu_queue_add(struct gpu_queue *q, size_t bytes);
/* The process with this number in the arena; made when new. NULL: no memory. */
struct gpu_process *gpu_process(struct arena *a, uint32_t number, uint32_t pid, int64_t now);
/* A thread of it; @global_tid 0: not known here. NULL: no memory. */
struct gpu_thread *gpu_thread(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid);
/* A record of so many bytes waits; waits no longer. */
void gpu_waits(struct gpu_arena *g, size_t bytes);
void gpu_waits_no_more(struct gpu_arena *g, uint64_t logged, size_t bytes);
int64_t gpu_session_ns(const struct arenas *as, uint64_t mono);
void gpu_count_row(struct gpu_arena *g, int64_t start, int64_t end);

/* Too many bytes wait: everything is written at the next tick. */
void gpu_hurry(struct arenas *as, const struct gpu_process *p);

/* ---- gpu_records.c ---- */

/* Queues the records that a previous collector logged. */
void gpu_restore_hook(struct arenas *as, struct gpu_process *p, uint32_t ns_tid, int64_t global_tid,
		      const void *record, size_t bytes);
void gpu_restore_api(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid,
		     const void *record);
void gpu_restore_work(struct gpu_process *p, const void *record, size_t bytes);

/* ---- gpu_pending.c ---- */

/* The record with this number waits no longer. */
void gpu_log_settled(struct gpu_arena *g, uint64_t logged);
/* @correlation leads to the row @id; a row of a call; CUPTI has reported a call that has its row. */
void gpu_log_alias(struct gpu_process *p, uint32_t correlation, int64_t id);
void gpu_log_row(struct gpu_process *p, const struct gpu_thread *th, const struct gpu_written *w);
void gpu_log_reported(struct gpu_process *p, const struct gpu_thread *th,
		      const struct gpu_written *w);
/* Another report begins. */
void gpu_log_void(struct gpu_arena *g);
void gpu_pending_release(struct arenas *as, struct arena *a);

/* ---- gpu_match.c ---- */

/* Writes the thread's calls that need to wait no longer. */
void gpu_match(const struct gpu_look *look, struct gpu_thread *th);
/* Whether CUPTI's record is of a call that has its row already; then @api's id becomes an alias. */
bool gpu_is_written(struct gpu_process *p, struct gpu_thread *th, const struct gpu_api *api,
		    uint32_t canon);

/* ---- gpu_calls.c ---- */

/* Whether this call of runtime or driver has no row (last error, version, ...). */
bool gpu_is_skipped(const char *name);
void gpu_remember(struct gpu_process *p, struct gpu_thread *th, const struct gpu_written *w);
/* A row of RUNTIME; one of @hook and @api may be NULL. Its id. */
int64_t gpu_write_call(struct arenas *as, struct arena *a, struct gpu_process *p,
		       struct gpu_thread *th, const struct gpu_hook *hook,
		       const struct gpu_api *api);
void gpu_write_library(struct arenas *as, struct arena *a, struct gpu_process *p,
		       const struct gpu_thread *th, const struct gpu_hook *hook, unsigned nesting);

/* ---- gpu_ids.c ---- */

/* The id of the row of CUPTI's @correlation; of a call that CUPTI does not know. */
int64_t gpu_cupti_id(struct arenas *as, struct gpu_process *p, uint32_t correlation);
int64_t gpu_hook_id(struct arenas *as, struct gpu_process *p);
void gpu_alias_add(struct gpu_process *p, uint32_t correlation, int64_t id);
/* The row id of CUPTI's @correlation; DB_NULL for 0. */
int64_t gpu_alias_find(struct arenas *as, struct gpu_process *p, uint32_t correlation);
void gpu_alias_release(struct gpu_process *p);

/* ---- gpu_captured.c ---- */

/* CUPTI has recorded a call that began at @start, in a window. */
void gpu_captured_call(const struct arenas *as, struct gpu_process *p, int64_t start,
		       uint32_t correlation);
/* Whether work that began at @start was launched in a window; all calls until then are known. */
bool gpu_captured(const struct arenas *as, const struct gpu_process *p, int64_t start,
		  uint32_t correlation);
void gpu_captured_forget(struct gpu_process *p); /* another report begins */
void gpu_captured_release(struct gpu_process *p);

/* ---- gpu_lent.c ---- */

/* Whether a function of runtime or driver starts work on the GPU. */
bool gpu_starts_work(const char *name);
/* CUPTI is lent to the program; a call that CUPTI has not reported; the end. */
void gpu_lent_begin(struct gpu_process *p, int64_t ns);
void gpu_lent_call(struct gpu_process *p, const struct gpu_hook *h);
void gpu_lent_end(struct gpu_process *p, int64_t ns, bool has_whole_graphs);
bool gpu_is_lent(const struct gpu_process *p);
bool gpu_was_lent(const struct gpu_process *p, int64_t ns);
/*
 * Counts calls before @read_to, up to which all is known, and reports gaps that ended before @settled. INT64_MAX: all, as
 * the process has ended.
 */
void gpu_lent_settle(struct arenas *as, struct gpu_process *p, int64_t read_to, int64_t settled);

/* ---- gpu_lent_graphs.c ---- */

/* A call of a hook, once in its order by thread. */
enum gpu_of_graph gpu_graph_function(const char *name);
void gpu_lent_graph(struct gpu_process *p, const struct gpu_hook *h);
/* Counts launches before @read_to, up to which all is known. Before gaps are reported. */
void gpu_lent_graphs_settle(struct arenas *as, struct gpu_process *p, int64_t read_to);
void gpu_lent_graphs_shift(struct gpu_process *p, int64_t by);
void gpu_lent_graphs_release(struct gpu_process *p);

/* ---- gpu_work.c ---- */

/* When it was over (session time), and whether the texts it names are known. */
int64_t gpu_work_end(const struct arenas *as, unsigned kind, const void *payload);
/* The correlation id of work, which outlasts its call; false: of something else. */
bool gpu_work_is_launched(unsigned kind, const void *payload, uint32_t *correlation);
bool gpu_work_is_named(const struct arena *a, unsigned kind, const void *payload);
void gpu_work_write(struct arenas *as, struct arena *a, struct gpu_process *p, unsigned kind,
		    const void *payload);
#define GPU_MEMORY_UNKNOWN 7
int64_t gpu_memory_kind(unsigned cupti);
static inline int64_t gpu_or_null(uint64_t value)
{
	return value ? (int64_t)value : DB_NULL;
}
/* Adds to the live sums. */
void gpu_add_up(struct arenas *as, const struct gpu_process *p, enum live_work what, int64_t device,
		int64_t start, int64_t end, uint64_t bytes);
/* CUPTI has reported all work of the process's GPUs before p->until, and it has been written. */
void gpu_work_reported(struct arenas *as, const struct gpu_process *p);

/* ---- gpu_numbers.c ---- */

struct gpu_place {
	char bus[32];   /* PCI address; "": not found */
	uint32_t index; /* of the GPU by that, as NVML counts */
	uint32_t cnt;   /* all GPUs */
};
/* Finds the GPU with this UUID among the driver's folders below @root. */
void gpu_place_find(const char *root, const char *uuid, struct gpu_place *place);
/* Gives the GPU of a process its TARGET_INFO_GPU.id, with its place if no process has reported it before; -1: all are given. */
int64_t gpu_number_used(struct arenas *as, const struct sl_gpu_device *d, const char *uuid,
			struct gpu_place *place);

/* ---- gpu_memory.c, gpu_targets.c ---- */

void gpu_memory_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_memory *m);
void gpu_pool_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_pool *m);
void gpu_um_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_um *u);
void gpu_device_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_device *d);
void gpu_context_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_context *c);
void gpu_stream_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_stream *s);

/* ---- gpu_streams.c; to be called only while p->named_open ---- */

/* The stream with this handle was an argument of the call @id, which began at @start. */
void gpu_stream_passed(struct gpu_process *p, uint64_t handle, int64_t start, int64_t id);
/* Notes the stream of the GPU's work for the call @id. */
void gpu_stream_seen(struct arenas *as, struct gpu_process *p, int64_t id, int64_t device,
		     uint32_t context, uint32_t stream);
void gpu_streams_shift(struct gpu_process *p, int64_t by); /* see gpu_shift() */
void gpu_streams_release(struct gpu_process *p);

/* ---- gpu_nccl.c ---- */

/* A communicator, as the shim announces it. */
void gpu_nccl_comm(struct arenas *as, const struct gpu_process *p, const struct sl_gpu_comm *c);
/* A call of NCCL that succeeded: it may end one. */
void gpu_nccl_call(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h);

/* ---- gpu_mpi.c ---- */

/* A communicator of MPI; the row of a call. */
void gpu_mpi_comm(struct arenas *as, struct gpu_process *p, const struct sl_gpu_comm *c);
void gpu_mpi_call(struct arenas *as, const struct gpu_process *p, const struct gpu_hook *h,
		  int64_t global_tid);

/* ---- gpu_streams.c ---- */

/* For recover; part of gpu_save() and the like. */
int gpu_streams_save(struct arenas *as, struct arena *a);
void gpu_streams_restore(struct arenas *as, struct arena *a);
void gpu_streams_drop(struct arenas *as, const struct arena *a);

/* ---- gpu_names.c ---- */

/* Returns the name of kernel @string; NULL: the string is not known. @force: "[unknown]" in that case. */
const struct gpu_name *gpu_name(struct arenas *as, struct arena *a, uint32_t string, bool force);
/* Hashes of a name: without version and twin; and also without the parts that CUPTI leaves out. */
uint32_t gpu_hash(const char *name);
uint32_t gpu_canon(const char *name);
/* The latter of a string; 0: not known. */
uint32_t gpu_canon_string(struct arena *a, uint32_t string);
