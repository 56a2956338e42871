/*
 * db.h - the report: the only user of sqlite3.h in the collector.
 *
 * Two ways in. High-volume tables take rows of plain integers: db_row() gives the next row of a
 * table's batch, the caller fills every column, and db_commit() moves all batches into the file by
 * INSERT ... SELECT (row_batch.c), in one transaction. Everything else has a function of its own
 * below. The file is in WAL mode while it grows, so it can be queried at any time.
 *
 * All functions return 0 or a negative errno unless noted. When db_commit() fails (-ENOSPC:
 * full disk, also for EIO; -EBUSY: another program kept the write lock, see db_patience()) the transaction is
 * rolled back, the batches are empty, and the rows that were in them are the caller's loss to count;
 * the next db_commit() may succeed again. All else (strings, names, totals, notes...) is kept and
 * goes with the next commit that succeeds.
 *
 * One thread of a process uses this, and SQLite in general: the library is set to single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

#define DB_NULL INT64_MIN /* stands for SQL NULL in a row */

/* Tables that take batches. Columns, in order, are those of schema.sql; enums below name them. */
enum db_table {
	DB_OSRT_API,
	DB_FILE_ACCESS_EVENTS,
	DB_SCHED_EVENTS,
	DB_SL_SCHED_DETAIL,
	DB_SL_OSRT_LOCKS,
	DB_SYSCALL,
	DB_COMPOSITE_EVENTS,
	DB_SL_PAGE_FAULTS,
	DB_SL_BLOCK_IO,
	DB_PMU_EVENTS,
	DB_PMU_EVENT_COUNTERS,
	/* Columns: db_gpu.h. */
	DB_RUNTIME,
	DB_KERNEL,
	DB_MEMCPY,
	DB_MEMSET,
	DB_SYNCHRONIZATION,
	DB_CUDA_EVENT,
	DB_GRAPH_TRACE,
	DB_GRAPH_NODE_EVENTS,
	DB_GRAPH_EVENTS,
	DB_CUPTI_OVERHEAD,
	DB_MEMORY_POOL_EVENTS,
	DB_UM_CPU_PAGE_FAULTS,
	DB_UM_GPU_PAGE_FAULTS,
	DB_CUDNN_EVENTS,
	DB_CUBLAS_EVENTS,
	DB_SL_LIBRARY_API,
	DB_SL_GPU_ARGUMENTS,
	/* Columns: db_counters.h. */
	DB_GPU_METRICS,
	DB_SL_COUNTER_SAMPLES,
	/* Made by db_finish() alone. */
	DB_SL_STACKS,
	DB_SL_FRAMES,
	DB_OSRT_CALLCHAINS,
	DB_CUDA_CALLCHAINS,
	DB_SYSCALL_CALLCHAINS,
	DB_TABLE_CNT
};

/* OSRT_API: the nine columns of nsys, then ours (documented in schema.sql). */
enum {
	OSRT_START,
	OSRT_END,
	OSRT_EVENT_CLASS,
	OSRT_GLOBAL_TID,
	OSRT_NAME_ID,
	OSRT_RETURN_VALUE,
	OSRT_NESTING_LEVEL,
	OSRT_CALLCHAIN_ID,
	OSRT_ARGUMENTS_ID,
	OSRT_FD,             /* descriptor, NULL when the call has none */
	OSRT_FILE_ACCESS_ID, /* -> OSRT_FILE_ACCESS_DESCRIPTORS.fileAccessId */
	OSRT_PATH_ID,        /* -> StringIds.id: path named by the call, or of the descriptor */
	OSRT_BYTES_ASKED,
	OSRT_BYTES_DONE,
	OSRT_FILE_OFFSET,
	OSRT_ERRNUM, /* errno of a failed call, else NULL */
	OSRT_COL_CNT
};

/* OSRT_FILE_ACCESS_EVENTS; context is empty text in all rows (schema 3.28.1 has it NOT NULL). */
enum {
	FACC_ID,
	FACC_THREAD_ID,
	FACC_STARTED_AT,
	FACC_ENDED_AT,
	FACC_EVENT_TYPE,
	FACC_API_CALL_ID,
	FACC_BYTES,
	FACC_COL_CNT
};

enum {
	SCHED_START,
	SCHED_CPU,
	SCHED_IS_IN,
	SCHED_GLOBAL_TID,
	SCHED_THREAD_STATE,
	SCHED_THREAD_BLOCK,
	SCHED_COL_CNT
};

/* SL_SCHED_DETAIL: one row per switch-in or -out that has something nsys has no column for. */
enum {
	SCHD_START,
	SCHD_GLOBAL_TID,
	SCHD_PREEMPTED,   /* out rows: 1 preempted (still runnable), 0 blocked */
	SCHD_WAKEUP_TIME, /* in rows: ns when it was made runnable */
	SCHD_WAKER_TID,   /* in rows: globalTid that woke it, NULL unknown or interrupt */
	SCHD_PRIORITY,
	SCHD_COL_CNT
};

/* SL_OSRT_LOCKS: what OSRT_API has no column for. */
enum {
	LOCK_START,
	LOCK_GLOBAL_TID,
	LOCK_OBJECT,
	LOCK_OWNER_TID, /* globalTid, NULL unknown */
	LOCK_COL_CNT
};

/* SYSCALL: the six columns of nsys, then ours. */
enum {
	CALL_START,
	CALL_END,
	CALL_EVENT_CLASS,
	CALL_GLOBAL_TID,
	CALL_NAME_ID,
	CALL_CALLCHAIN_ID,
	CALL_RETURN_VALUE,
	CALL_ERRNUM, /* of a failed call, else NULL */
	CALL_COL_CNT
};

/* COMPOSITE_EVENTS: a CPU sample. */
enum {
	SAMPLE_ID,
	SAMPLE_START,
	SAMPLE_CPU,
	SAMPLE_THREAD_STATE,
	SAMPLE_GLOBAL_TID,
	SAMPLE_CPU_CYCLES,
	SAMPLE_STACK_ID, /* SL_STACKS.id, DB_NULL none */
	SAMPLE_END,      /* DB_NULL: of samples */
	SAMPLE_COL_CNT
};

/* SL_PAGE_FAULTS */
enum {
	FAULT_START,
	FAULT_GLOBAL_TID,
	FAULT_ADDRESS,
	FAULT_PATH_ID,
	FAULT_OFFSET,
	FAULT_STACK_ID,
	FAULT_COL_CNT
};

/* SL_BLOCK_IO: a request to a block device. */
enum {
	BLOCK_START,
	BLOCK_ISSUED, /* DB_NULL: never */
	BLOCK_END,
	BLOCK_GLOBAL_TID, /* DB_NULL: of the kernel */
	BLOCK_NAME_ID,
	BLOCK_DEVICE,
	BLOCK_DISK_ID,
	BLOCK_SECTOR,
	BLOCK_BYTES,
	BLOCK_OPERATION,
	BLOCK_FAILED,
	BLOCK_COL_CNT
};

/* PMU_EVENTS: a CPU between two readings of its counters. */
enum {
	PMU_START,
	PMU_END,
	PMU_GLOBAL_VM,
	PMU_CPU,
	PMU_COUNTER_ID, /* PMU_EVENT_COUNTERS.id */
	PMU_COL_CNT
};

/* PMU_EVENT_COUNTERS: what was counted there. */
enum {
	PMUC_ID,
	PMUC_IDX, /* PMU_EVENT_REQUESTS.id */
	PMUC_VALUE,
	PMUC_COUNTED, /* for so many per cent of the time */
	PMUC_COL_CNT
};

/* SL_STACKS */
enum {
	STACKS_ID,
	STACKS_DEPTH,
	STACKS_FRAME_ID,
	STACKS_COL_CNT
};

/* SL_FRAMES */
enum {
	FRAME_ID,
	FRAME_KIND,
	FRAME_SYMBOL,
	FRAME_MODULE,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_INLINED,
	FRAME_KERNEL_MODE,
	FRAME_UNRESOLVED,
	FRAME_SPECIAL_ENTRY,
	FRAME_ORIGINAL_IP,
	FRAME_UNWIND_METHOD,
	FRAME_COL_CNT
};

/* OSRT_CALLCHAINS and its like: a frame of a stack. */
enum {
	CHAIN_ID,
	CHAIN_SYMBOL,
	CHAIN_MODULE,
	CHAIN_KERNEL_MODE,
	CHAIN_THUMB_CODE,
	CHAIN_UNRESOLVED,
	CHAIN_SPECIAL_ENTRY,
	CHAIN_ORIGINAL_IP,
	CHAIN_UNWIND_METHOD,
	CHAIN_STACK_DEPTH,
	CHAIN_FILE,
	CHAIN_LINE,
	CHAIN_COL_CNT
};

struct db_open {
	const char *path; /* report; must not exist unless overwrite */
	bool overwrite;  /* replace an existing regular file: it is gone as soon as this succeeds */
	bool resume;     /* open an unfinished report again (recover) */
	bool is_scratch; /* it is never finished: no disk space is reserved for that */
	bool is_next;    /* of this process, which may have made what it replaces */
	int64_t utc_epoch_ns;    /* Unix time at session time 0 */
	int64_t system_clock_ns; /* CLOCK_MONOTONIC at session time 0 */
};

/* NULL and a sentence in @why (why_len bytes) when the report cannot be created. */
struct db *db_open(const struct db_open *how, char *why, size_t why_len);

/* What is kept in addition. */
enum {
	DB_NEXT_SAID = 1,  /* diagnostics: @old has no events that they were about */
	DB_NEXT_FILES = 2, /* files that are open: descriptors still mean what they did */
};

/*
 * Rotates to a new report: names, processes, threads, devices and the like of @old are kept with their ids, events are
 * dropped. @old must be committed; afterwards it can only be closed (db_abandon()), also where
 * another process finishes it. NULL and a sentence in @why: @old is as before.
 */
struct db *db_next(struct db *old, const struct db_open *how, unsigned also, char *why,
		   size_t why_len);

/* Session time 0 moves by @shift ns, to the given clocks: for a report without events so far. Commits. */
int db_retime(struct db *db, int64_t shift, int64_t utc_epoch_ns, int64_t system_clock_ns);

/* Removes a report with SQLite's files for it. */
void db_unlink(const char *path);
/* Has another process the report open, to read it? By SQLite's locks, which a connection in WAL mode has while it is open. */
bool db_is_read(const struct db *db);

/* The folder that the report is in; the descriptor, or -errno: -ESTALE when another file has its name by now. */
int db_folder(const struct db *db);

/*
 * The next row of @table's batch; every column must be set before the next call for that table. Never
 * NULL: after about a million rows without db_commit() it commits by itself. DB_NULL in a column that
 * is NOT NULL is stored as 0.
 */
int64_t *db_row(struct db *db, enum db_table table);
size_t db_pending(const struct db *db); /* rows waiting in all batches */

/*
 * StringIds.id of the text; interned; 0 is the empty text (and all there is when memory is short).
 * Bytes that are no UTF-8, and NUL, are stored escaped (\xNN): as in all texts of the report.
 */
int64_t db_string(struct db *db, const char *text, size_t len);
/* Its id if it is interned, else DB_NULL. */
int64_t db_string_known(struct db *db, const char *text, size_t len);
/* Calls of db_string() whose text found no room: it got that of "[no room for the text]". */
uint64_t db_strings_lost(const struct db *db);

/* Its text as it is stored, until the report is closed; NULL: no such id. */
const char *db_string_text(const struct db *db, int64_t id, uint32_t *len);

int db_process(struct db *db, int64_t global_pid, int64_t pid,
	       const char *name); /* insert or rename */
int db_thread_name(struct db *db, int64_t global_tid, const char *name,
		   int priority); /* likewise */
int db_diagnostic(struct db *db, int64_t ns, int source, int severity, const char *text,
		  int64_t global_pid);
int db_overhead(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *name);
int db_meta_capture(struct db *db, const char *name, const char *value);
/* A row of SL_CAPTURES. */
int db_capture(struct db *db, int64_t number, int64_t start, int64_t end);
int db_system_env(struct db *db, const char *name, int name_enum, const char *value);

/* A row of OSRT_FILE_ACCESS_DESCRIPTORS. closed = 0 while open; set again by db_file_closed. */
int db_file_opened(struct db *db, int64_t id, int64_t pid, int64_t opened_ns, const char *path,
		   size_t len);
int db_file_closed(struct db *db, int64_t id, int64_t closed_ns);
/* A row of SL_SOCKETS. */
int db_socket(struct db *db, int64_t id, const char *local);

/* A row of SL_RANK_VARIABLES; the same name of the process again replaces it. */
int db_rank_variable(struct db *db, int64_t global_pid, const char *name, const char *value);
/* A row of SL_NCCL_COMMUNICATORS; what is not known is DB_NULL. Its end follows, when the program destroys it. */
struct db_communicator {
	int64_t global_pid, comm, hash, parent_hash, ranks, rank, start;
};
int db_communicator(struct db *db, const struct db_communicator *c);
int db_communicator_ended(struct db *db, int64_t global_pid, int64_t comm, int64_t ns);

/*
 * SL_PROCESS_TREE: one row per process image (start, fork, exec), see schema.sql. The same process and
 * start_ns again replaces the row; kind 2 also ends the process's image before.
 */
struct db_image {
	int64_t global_pid, parent_global_pid; /* parent 0 = unknown */
	int64_t start_ns;
	int kind;                       /* 0 first seen, 1 fork, 2 exec */
	int traced;                     /* 1: the shim is inside, 0: seen from the kernel only */
	const char *exe, *command_line; /* NULL unknown */
};
int db_image(struct db *db, const struct db_image *image);
/* Ends the last image. @exit_status: wait status, -1 unknown. -ENOENT: no image of that process. */
int db_process_ended(struct db *db, int64_t global_pid, int64_t end_ns, int exit_status);
/* Images that end before they begin, or have no end, among those that are committed. 0 or -errno. */
struct db_tree_faults {
	int64_t backward, endless;
};
int db_tree_faults(struct db *db, struct db_tree_faults *f);

/* SL_OSRT_TOTALS: cumulative, replaces what was there for this thread instance and function. */
struct db_total {
	int64_t global_tid, instance; /* instance distinguishes two threads with one globalTid */
	int64_t name_id;
	int64_t count, total_ns, min_ns, max_ns, bytes, err_count, lost_count, lost_total_ns;
	bool is_untimed;
};
int db_total(struct db *db, const struct db_total *total);

/* SL_FILE_TOTALS: adds up. */
struct db_file_total {
	int64_t global_tid, file_id, type; /* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE.id */
	int64_t is_stdio;
	int64_t count, bytes, total_ns; /* at most FIGURE_MAX each */
};
int db_file_total(struct db *db, const struct db_file_total *total);

/* SL_LIVE_*: a row, by its id, replaces what was there. @numbers: its columns, but for a text at the end. */
enum db_live_table {
	DB_LIVE_SESSION,
	DB_LIVE_THREADS,
	DB_LIVE_CALLS,
	DB_LIVE_FILES,
	DB_LIVE_GPUS,
};
int db_live_row(struct db *db, enum db_live_table table, const int64_t *numbers, const char *text,
		size_t len);

/* SL_SYSCALL_TOTALS: adds up; @total->instance, bytes and losses have no meaning there. */
int db_call_total(struct db *db, const struct db_total *total);

/* A row of SL_FUNCTIONS; @io DB_NULL: none. */
int db_function(struct db *db, int64_t name_id, int64_t library, int64_t io, int64_t is_stdio);

/* A row of PMU_EVENT_REQUESTS: what is counted. */
enum {
	DB_EVENTS_CPU = 256, /* ENUM_PMU_EVENT_SOURCE.id */
	DB_EVENTS_KERNEL,
};
struct db_event_request {
	int64_t id, event_id, source; /* DB_EVENTS_* */
	const char *name, *about;
	bool is_system; /* of all processes */
	bool no_kernel; /* without what happens in the kernel */
};
int db_event_request(struct db *db, const struct db_event_request *request);

int db_lost(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *what,
	    int64_t count);
struct db_clock {
	int64_t ticks, mono, real, boot;
	int64_t is_synchronized, error_ns, max_error_ns; /* of real; DB_NULL: not known */
};
int db_clock_snapshot(struct db *db, const struct db_clock *c);

/* Commits everything given since the last commit, at session time @now (ANALYSIS_DETAILS follows). */
int db_commit(struct db *db, int64_t now_ns);
/*
 * Before a commit that can wait: -EAGAIN, while another program has the report locked and there is room for more rows: nothing is
 * lost, and nothing waits for it. 0: db_commit() should follow, whatever may be wrong.
 */
int db_reserve(struct db *db);
/* How long a commit waits for another program's lock; 10 s at first. After one that waited in vain, none waits until one succeeds. */
void db_patience(struct db *db, int ms);
/* Why rows of a commit that failed with @err are lost, in a few words. */
const char *db_loss_reason(int err);

/*
 * After a commit: moves everything from the log into the report itself, so that a copy of that one file is
 * whole. Readers that hold the log up are not waited for: it then simply stays.
 */
void db_settle(struct db *db);

/* Private key/value pairs of the collector inside the same transactions (table SL_STATE). */
int db_state_set(struct db *db, const char *key, const void *blob, size_t len);
int db_state_drop(struct db *db, const char *key);
int db_state_get(struct db *db, const char *key, void **blob, size_t *len); /* malloc'd; -ENOENT */

/* The pending log of GPU records (table SL_PENDING_GPU), likewise: appended, deleted by range, read in order by recover. */
int db_pending_gpu_add(struct db *db, int64_t seq, const void *blob, size_t len);
int db_pending_gpu_delete(struct db *db, int64_t first, int64_t last);
int db_pending_gpu_read(struct db *db, int64_t first, int64_t last,
			void (*take)(void *ctx, const void *blob, size_t len), void *ctx);

/* The report's file was removed: it is written again at the end. */
bool db_is_removed(const struct db *db);

/* What other programs did to the report's file while it was written. */
struct db_fate {
	enum {
		DB_IN_PLACE,
		DB_WRITTEN_AGAIN, /* it was removed; nothing is lost */
		DB_REMOVED,       /* and it could not be written again */
		DB_REPLACED,      /* another file has its name */
		DB_MOVED,
		DB_CUT /* pages are missing */
	} what;
	char *path; /* malloc'd: REPLACED, MOVED: where the report is, which is whole; else NULL */
};

/* Commits, marks the report complete, leaves WAL mode; frees @db, also when it fails: also where the file is not whole under its path. */
int db_finish(struct db *db, int64_t duration_ns);
/* The same; *fate has what became of the file. */
int db_finish_file(struct db *db, int64_t duration_ns, struct db_fate *fate);
#define DB_STATE_RECORDED "recorded" /* key: the length, once db_finish() has begun */
/* Frees without finishing (error paths, tests). */
void db_abandon(struct db *db);
