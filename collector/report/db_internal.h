/*
 * db_internal.h - shared by the parts of the report's writer (collector/report), and private to them.
 *
 *   db_open.c     open and close
 *   db.c          commit, behaviour on a full disk; db_sql.c: statements and errors of a transaction
 *   db_schema.c   tables by name from schema.sql, made with their first row
 *   row_batch.c   high-volume rows of integers
 *   db_ops.c      everything else, row by row; db_rows.c: which values, db_state.c: private notes, pending log
 *   db_map.c      ids to rowids
 *   db_stacks.c   stacks as they come
 *   db_nvtx.c     rows of NVTX tables
 *   db_counters.c hardware metrics and counters
 *   db_strings.c  StringIds
 *   db_finish.c   resume and finish
 *   db_symbolize_prefetch.c    looks up addresses of stacks while others still come
 *   db_symbolize_all.c, db_symbolize.c, db_frames.c, db_spaces.c   symbolize all stacks at the end
 *   db_rotate.c     one report after another
 *   db_place.c      whether the path still names the report, and the consequences
 *
 * Rule easy to break: whatever the collector's memory believes to be in the file must survive a
 * rolled back transaction. Batches are dropped then; strings, rows of db_ops.c and the list of
 * existing tables go back to the last commit's state, and the next commit writes them again.
 */
#pragma once

#include "collector/report/db.h"
#include "collector/report/db_map.h"
#include "collector/report/row_batch.h"

#include <sqlite3.h>

#define DB_GLOBAL_VID     (INT64_C(1) << 48)
#define DB_SCHEMA_VERSION "3.28.1"
#define DB_PRODUCT        "Sightline"
#define DB_TABLES_MAX     160 /* tables in schema.sql */

/* ---- db_sql.c ---- */

/* Opens the transaction if there is none. 0, or the error with which it failed. */
int db_begin(struct db *db);
int db_exec(struct db *db, const char *sql);
int db_prepare(struct db *db, const char *sql, sqlite3_stmt **stmt);
/* 0 or -errno. */
int db_errno(int sqlite_rc);
/* Rolls back and keeps the error for db_commit(), which reports it. Returns it. */
int db_fail(struct db *db, int sqlite_rc);

/* ---- db_schema.c ---- */

enum db_when {
	DB_ALWAYS,
	DB_LAZY,
	DB_LIVE, /* only while the report grows: sums of its collector's */
	DB_RAW,  /* likewise, but not made again on resume */
	DB_PRIVATE
};

struct db_section {
	char name[64];
	enum db_when when;
	const char *sql; /* into the embedded text */
	int len;
};

struct db_schema {
	struct db_section section[DB_TABLES_MAX];
	int cnt;
	struct db_there {
		bool section[DB_TABLES_MAX];
	} exists,          /* the table is there, for this transaction */
		committed; /* the same as of the last commit */
	bool is_made;      /* tables of every report are committed */
};

/* The file of a report without events (scripts/schema_image.c). */
extern const unsigned char sl_new_report[];
extern const unsigned long sl_new_report_size;

int db_schema_init(struct db *db);
int db_schema_write(struct db *db); /* the always and private ones, into a file that is empty */
int db_schema_scan(struct db *db);  /* which tables does the open file have? */
/* Drops tables that only a growing report has; @empty: the rows of its sums. In the open transaction. */
int db_schema_drop_live(struct db *db, bool empty);
/* Text from the section of a table on; NULL: there is none. */
const char *db_schema_sql(const struct db *db, const char *name);
bool db_table_exists(const struct db *db, const char *name);
int db_table_need(struct db *db, const char *name); /* makes the table when it is not there yet */
int db_table_drop(struct db *db, const char *name); /* a view, too; none there: nothing happens */

/* ---- db_strings.c ---- */

struct db_text {
	char *text;
	uint32_t len;
	uint32_t hash;
};

struct db_strings {
	uint64_t bytes;       /* of all texts */
	uint64_t lost;        /* texts that found no room: calls of db_string() */
	struct db_text *list; /* by id */
	int64_t cnt, cap;
	int64_t saved;  /* ids below it are committed */
	uint32_t *slot; /* open addressing: id + 1, 0 = free */
	uint32_t slots; /* a power of two */
	char *block;    /* texts are cut from blocks */
	size_t block_left;
	struct db_block *blocks;
};

int db_strings_init(struct db *db);
int db_strings_load(struct db *db); /* resume */
int db_strings_flush(struct db *db);
void db_strings_free(struct db *db);
/* Takes back the ids given out since the last commit; the caller knows that none is in use. */
void db_strings_forget(struct db *db);
/* Text as it is stored: @text itself when it is clean UTF-8, else an escaped copy in db->scratch. */
const char *db_clean(struct db *db, const char *text, size_t len, size_t *clean_len);

/* ---- db_ops.c ---- */

struct db_state {
	struct db_state *next;
	char *key;
	void *blob;
	size_t len;
};

#define DB_RECENT 1024

/* Where in the list of operations a descriptor's opening stands; checked before it is believed. */
struct db_opened {
	int64_t id;
	size_t at;
};

struct db_ops {
	uint8_t *buf; /* calls waiting for the next commit */
	size_t len, cap;
	uint64_t cnt;
	uint64_t dropped; /* given up while the disk was full for too long */
	struct db_map process, thread, image;
	int64_t process_cnt, thread_cnt, image_cnt;
	struct {
		int64_t cap, *start; /* by image: start_ns */
	} images;
	struct db_state *state;
	struct db_opened recent[DB_RECENT]; /* by id */
	struct {
		int64_t counter, metric, set;
	} ids; /* given out so far: of SL_COUNTERS and the like */
};

/* Statements of db_put(): inserts of schema.sql's rows, DB_PUT_*, and updates of existing rows. */
enum db_op {
	OP_EXPORT_SET = DB_PUT_CNT,
	OP_FILE_CLOSED,
	OP_IMAGE_END,
	OP_COMMUNICATOR_END,
	OP_STATE_DROP,
	OP_PENDING_GPU_DROP,
	OP_CNT
};

int db_ops_run(struct db *db);
void db_ops_done(struct db *db);   /* after commit */
void db_ops_failed(struct db *db); /* after rollback: keeps them, within bounds */
int db_ops_load(struct db *db);    /* resume */
void db_ops_free(struct db *db);

/* Bytes that @hex denotes, at most @room. */
size_t db_unhex(const char *hex, uint8_t *to, size_t room);
/* Room for @bytes behind the @len in *@buf, which grows. NULL: no memory, and it is as it was. */
uint8_t *db_room(uint8_t **buf, size_t len, size_t *cap, size_t bytes);

/* ---- db_state.c ---- */
int db_state_load(struct db *db); /* resume */
void db_state_free(struct db *db);
int db_meta_export(struct db *db, const char *name, const char *value);
int db_meta_export_set(struct db *db, const char *name, const char *value);

/* ---- db_stacks.c ---- */

/* Stacks, spaces and codes that are in this report; by id. */
struct db_stacks_there {
	struct db_map stack, code, space;
	int64_t last; /* number of a stack */
};

int db_stacks_load(struct db *db); /* resume */
/* Stacks may be given again, and are written again; or all that belongs to them. */
void db_stacks_forget_chains(struct db *db);
void db_stacks_forget(struct db *db);
void db_stacks_free(struct db *db);

/* ---- db_symbolize_prefetch.c ---- */

struct db_prefetch; /* NULL: no stacks yet */
struct db_module;
struct symbols;

/* Returns the space's process; 0: not known. */
uint32_t db_space_pid(const struct db *db, int64_t space);
void db_prefetch_space(struct db *db, int64_t space, int64_t parent);
void db_prefetch_module(struct db *db, const struct db_module *m);
void db_prefetch_stack(struct db *db, int64_t space, const uint64_t *frames, size_t cnt);
/* The symbols with all that was prefetched; the caller closes them. -ENOMEM; -EINTR: a pending signal ended the wait. */
int db_prefetch_take(struct db *db, struct symbols **out);
void db_prefetch_free(struct db *db);

/* ---- db_nvtx.c: as db_ops.c ---- */

int db_nvtx_flush(struct db *db);
void db_nvtx_done(struct db *db);
void db_nvtx_failed(struct db *db, int err);
int db_nvtx_load(struct db *db);
void db_nvtx_free(struct db *db);
void db_nvtx_move(struct db *db, struct db *old); /* ids given out, ranges that were left open */
size_t db_nvtx_pending(const struct db *db);
size_t db_nvtx_bytes(const struct db *db); /* of rows that wait for the next commit */

/* ---- db_counters.c ---- */

int db_counters_load(struct db *db); /* resume */

/* ---- db.c ---- */

#define DB_STMTS   64
#define DB_BUSY_MS 10000 /* another writer is rare, e.g. a CREATE INDEX by hand */
/* How long this connection waits for locks from here on; a signal that asks to stop ends the wait. */
void db_wait(struct db *db, int ms);

struct db {
	sqlite3 *sql;
	char *path;
	struct db_schema schema;
	struct row_batch batch;
	int (*commit)(struct db *db,
		      int64_t now); /* db_commit(), for db_row() when the batch is full */
	struct db_strings strings;
	struct db_ops ops;
	struct {
		struct db_stacks_there known;
		struct db_prefetch *prefetch;
		bool names_unknown; /* rows may name other stacks than those counted: row_batch_stacks() */
		bool keeps_raw; /* stacks could not be given names: the raw ones stay */
	} stacks;
	struct db_nvtx *nvtx; /* NULL: no NVTX row yet */
	sqlite3_stmt *stmt[DB_STMTS];
	struct {
		char *text;
		size_t cap;
	} scratch;
	struct {
		int64_t start_clock; /* CLOCK_MONOTONIC at session time 0 */
		int64_t end;         /* largest time given to db_commit */
	} time;
	struct {
		bool is_open;
		int failed;    /* error of this transaction, which is rolled back already */
		int early_err; /* of a commit made by db_row */
		int patience_ms, wait_ms; /* for locks; of the present wait */
		bool is_out; /* of patience: the lock was waited for, or rows were kept while it was held */
	} txn;
	struct {
		bool is_on;
		int frames; /* in the WAL after the last commit; -1: not known */
		int page_size;
		int64_t last_restart_ns;
	} wal;
	struct {
		int ballast;   /* -1: none, or BALLAST_LATER */
		int lock;      /* of the report: one writer at a time, see db_lock() */
		char *real;    /* path of the report without links, as it was begun */
		int64_t bytes; /* of it, when it was looked at last */
		bool is_cut;   /* it, or its log, was smaller once than before */
	} file;
};

void db_close(struct db *db);
void db_watch_wal(struct db *db); /* its size, from now on */
/* The log, and how many bytes of it are committed. NULL: there is none. */
sqlite3_file *db_wal_file(struct db *db, int64_t *bytes);
/* At once, or, where the disk cannot be full so soon, with db_tend(). */
void db_ballast_plan(struct db *db);
void db_ballast_drop(struct db *db);

/* ---- db_place.c ---- */

void db_unlink_logs(const char *path); /* db_open.c */
/* Removes the open logs where the report's path names another file: logs of another report stay. */
void db_unlink_own_logs(const struct db *db);
bool db_is_in_place(const struct db *db);
/* Remembers how long the file and its log are: only their writer changes that. */
void db_watch_size(struct db *db);
/* Was the file cut, so that pages are missing? */
bool db_is_damaged(struct db *db);
/* Where the path names another file, or none: the fate of the report. Then only db_close() may follow. */
int db_place_end(struct db *db, struct db_fate *fate);

/* Unix time and CLOCK_MONOTONIC at session time 0. */
int db_session_start(struct db *db, int64_t utc_epoch_ns, int64_t system_clock_ns);

/* db_finish.c: 0 if @path is an unfinished report of this version, else -1 and a sentence; then resumes it */
/* The name of SQLite's file functions for reports: no journal leads them to other files. NULL: SQLite's own. */
const char *db_vfs(void);
int db_check_resume(const char *path, char *why, size_t why_len);
int db_resume(struct db *db);
