/*
 * db_stacks_finish.c - the names of stacks, when the report is finished: raw stacks become SL_STACKS and the tables of
 * callchains.
 *
 * In one pass, in order of the stacks' numbers. Whatever goes wrong, the raw stacks are as they were, and the report opens.
 */
#include "collector/db_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/db_frames.h"
#include "collector/db_internal.h"
#include "preload/frame.h"

/* Rows that name stacks, and the table that nsys has for those: each stack once, whoever shares it. */
static const struct refers {
	const char *chains; /* NULL: a view does */
	enum db_table as;
	const char *column, *table[4];
} REFERS[] = {
	{"OSRT_CALLCHAINS", DB_OSRT_CALLCHAINS, "callchainId", {"OSRT_API"}},
	{"CUDA_CALLCHAINS",
	 DB_CUDA_CALLCHAINS,
	 "callchainId",
	 {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUBLAS_EVENTS", "CUDNN_EVENTS", "SL_LIBRARY_API"}},
	{"SYSCALL_CALLCHAINS", DB_SYSCALL_CALLCHAINS, "callchainId", {"SYSCALL"}},
	{NULL, DB_TABLE_CNT, "stackId", {"COMPOSITE_EVENTS"}},
};
#define REFERS_CNT (sizeof(REFERS) / sizeof(REFERS[0]))

#define ROWS_PER_COMMIT 65536u
#define EARLY_STACKS    4096 /* some hundredths of a second */

#define TELL_AFTER_NS INT64_C(2000000000)
#define TELL_EVERY_NS INT64_C(500000000)

static void (*tell)(int percent);

void db_stacks_progress(void (*told)(int percent))
{
	tell = told;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

struct ids {
	int64_t *list; /* in order */
	size_t cnt, cap, at;
};

struct work {
	struct db *db;
	bool in_passing;              /* somebody else is waited for */
	struct ids named[REFERS_CNT]; /* stacks that rows name; up to .at they are in the report */
	struct db_frames *frames;
	int64_t tell_ns, steps, of; /* when to tell of the progress; done; to be done, in stacks */
	bool has_told;
	struct stack_part part[2][SL_FRAME_MAX], merged[2 * SL_FRAME_MAX];
};

static void step(struct work *w)
{
	int64_t now;

	if (!tell || w->steps++ % 64 || (now = now_ns()) < w->tell_ns)
		return;
	w->tell_ns = now + TELL_EVERY_NS;
	w->has_told = true;
	tell((int)(w->of ? w->steps * 100 / w->of : 0));
}

static int64_t count_raw(struct db *db)
{
	sqlite3_stmt *stmt;
	int64_t cnt = 0;

	if (db_prepare(db, "SELECT count(*) FROM main.SL_RAW_STACKS", &stmt))
		return 0;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		cnt = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return cnt;
}

static void add_row(struct work *w, int64_t stack, int64_t depth, int64_t frame, const bool *named)
{
	int64_t *row = db_row(w->db, DB_SL_STACKS);

	row[STACKS_ID] = stack;
	row[STACKS_DEPTH] = depth;
	row[STACKS_FRAME_ID] = frame;
	for (size_t i = 0; i < REFERS_CNT; i++) {
		if (!named[i] || !REFERS[i].chains)
			continue;
		row = db_row(w->db, REFERS[i].as);
		row[CHAIN_ID] = stack;
		row[CHAIN_STACK_DEPTH] = depth;
		db_frames_chain(w->frames, frame, row);
	}
}

static int add_rows(struct work *w, int64_t stack, size_t parts)
{
	bool named[REFERS_CNT];
	int64_t depth = 0, frame;

	for (size_t i = 0; i < REFERS_CNT; i++) {
		struct ids *ids = &w->named[i];

		named[i] = ids->at < ids->cnt && ids->list[ids->at] == stack;
		ids->at += named[i];
	}
	for (size_t p = 0; p < parts; p++)
		for (uint32_t i = 0; i < w->merged[p].cnt; i++) {
			frame = db_frames_use(w->frames, w->merged[p].first + i);
			if (!frame)
				return w->db->failed ? w->db->failed : -ENOMEM;
			add_row(w, stack, depth++, frame, named);
		}
	step(w);
	return 0;
}

/* A remark belongs to the frames before it. */
static int add_stack(struct work *w, const struct db_stack_of *stack, const uint64_t *frames,
		     size_t cnt)
{
	size_t cnts[2] = {0};
	bool is_python = false;

	for (size_t i = 0; i < cnt && i < SL_FRAME_MAX; i++) {
		uint64_t remark = frames[i] & SL_FRAME_REMARK ? sl_frame_address(frames[i]) : 0;
		struct stack_part part = db_frames_part(w->frames, stack, frames[i]);

		if (!part.cnt && part.role != STACK_ENTRY)
			return w->db->failed ? w->db->failed : -ENOMEM;
		is_python |= frames[i] & SL_FRAME_PYTHON || remark == SL_REMARK_PYTHON ||
			     remark == SL_REMARK_PYTHON_BROKEN;
		w->part[is_python][cnts[is_python]++] = part;
	}
	return add_rows(w, stack->id,
			stack_merge(w->part[0], cnts[0], w->part[1], cnts[1], w->merged));
}

/* Stacks below @end that rows name and nobody told of: their records were lost. */
static int add_lost(struct work *w, int64_t end)
{
	uint64_t frame = SL_FRAME_REMARK | SL_REMARK_LOST;
	int err = 0;

	while (!err) {
		struct db_stack_of stack = {.id = end};

		for (size_t i = 0; i < REFERS_CNT; i++) {
			const struct ids *ids = &w->named[i];

			if (ids->at < ids->cnt && ids->list[ids->at] < stack.id)
				stack.id = ids->list[ids->at];
		}
		if (stack.id == end)
			break;
		err = add_stack(w, &stack, &frame, 1);
	}
	return err;
}

static int add_raw(struct work *w, sqlite3_stmt *stmt, int64_t *last)
{
	uint64_t frames[SL_FRAME_MAX];
	struct db_stack_of stack = {.id = sqlite3_column_int64(stmt, 0),
				    .space = sqlite3_column_int64(stmt, 1),
				    .since = sqlite3_column_int64(stmt, 2)};
	const void *blob = sqlite3_column_blob(stmt, 3);
	size_t len = blob ? (size_t)sqlite3_column_bytes(stmt, 3) : 0;
	int err = add_lost(w, stack.id);

	if (len > sizeof(frames))
		len = sizeof(frames);
	if (blob)
		memcpy(frames, blob, len);
	*last = stack.id;
	return err ? err : add_stack(w, &stack, frames, len / sizeof(frames[0]));
}

/* In order, as many at a time as batches have room for: who still reads would keep the log from being written anew. */
static int add_all(struct work *w)
{
	struct db *db = w->db;
	int64_t last = INT64_MIN;
	sqlite3_stmt *stmt;
	int rc = SQLITE_ROW,
	    err = db_prepare(db,
			     "SELECT id, space, since, frames FROM main.SL_RAW_STACKS"
			     " WHERE id > ? ORDER BY id",
			     &stmt);

	while (!err && rc == SQLITE_ROW) {
		sqlite3_bind_int64(stmt, 1, last);
		while (!err && db_pending(db) < ROWS_PER_COMMIT &&
		       (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			err = add_raw(w, stmt, &last);
		if (!err && rc != SQLITE_ROW && rc != SQLITE_DONE)
			err = db_fail(db, rc);
		sqlite3_reset(stmt);
		if (!err && rc == SQLITE_ROW)
			err = db_commit(db, 0);
	}
	sqlite3_finalize(stmt);
	return err ? err : add_lost(w, INT64_MAX);
}

/* One pass over what may be the largest tables of the report. */
static int read_ids(struct db *db, const struct refers *r, struct ids *ids)
{
	const char *any = "";
	sqlite3_stmt *stmt;
	char sql[512];
	size_t len = 0;
	int rc, err;

	for (size_t i = 0; i < sizeof(r->table) / sizeof(r->table[0]) && r->table[i]; i++) {
		if (!db_table_exists(db, r->table[i]))
			continue;
		len += (size_t)snprintf(sql + len, sizeof(sql) - len,
					"%sSELECT DISTINCT %s FROM main.%s WHERE %s <> 0", any,
					r->column, r->table[i], r->column);
		any = " UNION ";
	}
	if (!len)
		return 0;
	snprintf(sql + len, sizeof(sql) - len, " ORDER BY 1");
	err = db_fail(db, sqlite3_prepare_v2(db->sql, sql, -1, &stmt, NULL));
	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (ids->cnt == ids->cap) {
			size_t cap = ids->cap * 2 + 64;
			int64_t *more = realloc(ids->list, cap * sizeof(*more));

			if (!more) {
				rc = SQLITE_NOMEM;
				break;
			}
			ids->list = more;
			ids->cap = cap;
		}
		ids->list[ids->cnt++] = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return db_fail(db, rc == SQLITE_DONE ? SQLITE_OK : rc);
}

#define UNNAMED "Stacks are left as they were taken"

/* What is made here. */
static int drop_all(struct db *db)
{
	static const char *const tables[] = {"SL_FRAMES",           "SL_STACKS",
					     "SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS",
					     "CUDA_CALLCHAINS",     "SYSCALL_CALLCHAINS"};
	int err = db_begin(db);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		err = db_table_drop(db, tables[i]);
	return err;
}

/* From nothing, whatever an attempt before this one has left. */
static int begin(struct work *w)
{
	struct db *db = w->db;
	int err = drop_all(db);

	if (!err && db_table_exists(db, "DIAGNOSTIC_EVENT"))
		err = db_fail(
			db,
			sqlite3_exec(db->sql,
				     "DELETE FROM main.DIAGNOSTIC_EVENT WHERE text LIKE '" UNNAMED
				     "%'",
				     NULL, NULL, NULL));
	if (!err)
		err = db_table_need(db, "SL_FRAMES");
	if (!err)
		err = db_table_need(db, "SL_STACKS");
	for (size_t i = 0; i < REFERS_CNT && !err; i++) {
		err = read_ids(db, &REFERS[i], &w->named[i]);
		if (!err && w->named[i].cnt && !REFERS[i].chains)
			err = db_table_need(db, "SAMPLING_CALLCHAINS"); /* a view */
	}
	return err ? err : db_frames_open(db, w->in_passing, &w->frames);
}

/* Several transactions: a failure takes back what those before it have brought. */
static int finish(struct work *w)
{
	struct db *db = w->db;
	int err = begin(w), done;

	if (!err)
		err = add_all(w);
	if (!err && db_frames_missed(w->frames))
		err = -EAGAIN;
	if (err)
		db_batch_drop(db);
	/* Errors of ours, not of SQLite's, leave a transaction that must not be committed. */
	if (err && !db->failed)
		db_fail(db, SQLITE_NOMEM);
	done = db_commit(db, 0);
	err = err ? err : done;
	db_frames_close(w->frames);
	if (err) {
		/* Everything else was committed before; texts of frames would take the room that is left. */
		db_strings_forget(db);
		db_ballast_drop(db);
		drop_all(db);
		db_commit(db, 0);
	}
	return err;
}

/* ---- before the end ---- */

struct db_named {
	uint64_t changes;
	struct ids named[REFERS_CNT];
};

static void free_ids(struct ids *ids)
{
	for (size_t i = 0; i < REFERS_CNT; i++)
		free(ids[i].list);
}

void db_named_free(struct db_named *n)
{
	if (!n)
		return;
	free_ids(n->named);
	free(n);
}

bool db_stacks_early(struct db *db)
{
	struct work *w = NULL;
	struct db_named *n = NULL;
	int err = -ENOMEM;

	if (!db_table_exists(db, "SL_RAW_STACKS") || !db_ahead_is_there(db) || db->named ||
	    db_pending(db) || db->strings.saved != db->strings.cnt || count_raw(db) > EARLY_STACKS)
		return true;
	/* Destructors that run after ours have calls, too: once all is quiet. */
	if (!db_ahead_is_idle(db) || db->stacks.seen != db->stacks.changes) {
		db->stacks.seen = db->stacks.changes;
		return false;
	}
	w = calloc(1, sizeof(*w));
	n = calloc(1, sizeof(*n));
	if (w && n) {
		w->db = db;
		w->in_passing = true;
		w->tell_ns = INT64_MAX;
		err = finish(w);
	}
	if (!err) {
		n->changes = db->stacks.changes;
		memcpy(n->named, w->named, sizeof(n->named));
		db->named = n;
		/* One thing less to do at the end. */
		if (db->wal && db_wal_fits(db))
			sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_PASSIVE, NULL,
						  NULL);
	} else {
		if (w)
			free_ids(w->named);
		free(n);
		db_ballast_make(db);
	}
	free(w);
	return true;
}

/* Has nothing been told since, and do rows name the same stacks? */
static bool is_named(struct db *db)
{
	struct ids now[REFERS_CNT] = {0};
	const struct db_named *n = db->named;
	bool is = n && n->changes == db->stacks.changes;

	for (size_t i = 0; i < REFERS_CNT && is; i++)
		is = !read_ids(db, &REFERS[i], &now[i]) && now[i].cnt == n->named[i].cnt &&
		     (!now[i].cnt ||
		      !memcmp(now[i].list, n->named[i].list, now[i].cnt * sizeof(*now[i].list)));
	free_ids(now);
	return is;
}

int db_stacks_finish(struct db *db)
{
	struct work *w;
	char text[160];
	int err = -ENOMEM;

	if (!db_table_exists(db, "SL_RAW_STACKS") || is_named(db))
		return 0;
	w = calloc(1, sizeof(*w));
	if (w) {
		w->db = db;
		w->tell_ns = now_ns() + TELL_AFTER_NS;
		w->of = count_raw(db);
		/* Names take more room than all that is left to do then, and must not take what that needs. */
		db_ballast_make(db);
		err = finish(w);
		db_ballast_drop(db);
		if (w->has_told)
			tell(-1);
		free_ids(w->named);
		free(w);
	}
	if (!err)
		return 0;
	snprintf(text, sizeof(text), UNNAMED ", without names: %s.",
		 err == -ENOSPC ? "no room on the disk" : strerror(-err));
	db_diagnostic(db, db->end_ns, 2, 2, text, DB_NULL);
	return err;
}
