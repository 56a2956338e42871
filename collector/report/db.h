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

struct db_bytes { /* NULL: SQL's */
	const void *at;
	size_t len;
};
/* A row as scripts/schema-columns declares it; called by db_put_<table>(). */
int db_put(struct db *db, uint32_t op, const void *row);
/*
 * Made of schema.sql, which describes tables and columns: enum db_table, the tables that take batches, and for each the enum of its
 * columns; of the others struct db_row_<table> and db_put_<table>().
 */
#include "report_columns.h"

struct db_open {
	const char *path; /* report; must not exist unless overwrite */
	bool overwrite;  /* replace an existing regular file: it is gone as soon as this succeeds */
	bool resume;     /* open an unfinished report again (recover) */
	bool is_scratch; /* it is never finished: no disk space is reserved for that */
	bool is_next;    /* of this process, which may have made the report that it replaces */
	int64_t utc_epoch_ns;    /* Unix time at session time 0 */
	int64_t system_clock_ns; /* CLOCK_MONOTONIC at session time 0 */
};

/* NULL and a sentence in @why (why_len bytes) when the report cannot be created. */
struct db *db_open(const struct db_open *how, char *why, size_t why_len);

/* Rows kept in addition. */
enum {
	DB_NEXT_SAID = 1,  /* diagnostics: @old has no events that they were about */
	DB_NEXT_FILES = 2, /* files that are open: descriptors keep their meaning */
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
/* Returns the id of an interned text, else DB_NULL. */
int64_t db_string_known(struct db *db, const char *text, size_t len);
/* Calls of db_string() whose text found no room: it got that of "[no room for the text]". */
uint64_t db_strings_lost(const struct db *db);

/* Returns the stored text of @id, valid until the report is closed; NULL: no such id. */
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
/* The end of a communicator that has a row: the program destroyed it. */
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
/* Images that end before they begin, or have no end, among committed ones. 0 or -errno. */
struct db_tree_faults {
	int64_t backward, endless;
};
int db_tree_faults(struct db *db, struct db_tree_faults *f);

enum {
	DB_EVENTS_CPU = 256, /* ENUM_PMU_EVENT_SOURCE.id */
	DB_EVENTS_KERNEL,
};
int db_lost(struct db *db, int64_t start, int64_t end, int64_t global_tid, const char *what,
	    int64_t count);
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
/* A few times a second, from a quarter of a second after db_open() on. */
void db_tend(struct db *db);

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

/* Changes by other programs to the report's file while it was written. */
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
/* The same; *fate has the fate of the file. */
int db_finish_file(struct db *db, int64_t duration_ns, struct db_fate *fate);
#define DB_STATE_RECORDED "recorded" /* key: the length, once db_finish() has begun */
/* Frees without finishing (error paths, tests). */
void db_abandon(struct db *db);
