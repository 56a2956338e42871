/*
 * db_stacks_finish.c - the names of stacks, when the report is finished: raw stacks become SL_STACKS and the tables of
 * callchains.
 *
 * One transaction for the stacks, and then the tables of callchains: whatever goes wrong, the raw stacks are as they
 * were, and the report opens.
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
	int64_t *list;
	size_t cnt, cap;
};

struct work {
	struct db *db;
	struct ids named[REFERS_CNT]; /* stacks that rows name */
	struct db_frames *frames;
	sqlite3_stmt *insert;
	int64_t tell_ns, steps, of; /* when to tell of the progress; done; to be done, in stacks */
	bool has_told;
	struct stack_part part[2][SL_FRAME_MAX], merged[2 * SL_FRAME_MAX];
};

static int insert_frames(struct work *w, int64_t id, size_t parts)
{
	int64_t depth = 0, frame;
	int err = 0;

	for (size_t p = 0; p < parts && !err; p++)
		for (uint32_t i = 0; i < w->merged[p].cnt && !err; i++) {
			sqlite3_bind_int64(w->insert, 1, id);
			sqlite3_bind_int64(w->insert, 2, depth++);
			frame = db_frames_use(w->frames, w->merged[p].first + i);
			if (!frame)
				return w->db->failed ? w->db->failed : -ENOMEM;
			sqlite3_bind_int64(w->insert, 3, frame);
			sqlite3_step(w->insert);
			err = db_fail(w->db, sqlite3_reset(w->insert));
		}
	return err;
}

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
	return insert_frames(w, stack->id,
			     stack_merge(w->part[0], cnts[0], w->part[1], cnts[1], w->merged));
}

static int each_raw(struct work *w)
{
	uint64_t frames[SL_FRAME_MAX];
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(
			w->db,
			"SELECT id, space, since, frames FROM main.SL_RAW_STACKS ORDER BY id",
			&stmt);

	if (err)
		return err;
	while (!err && sqlite3_step(stmt) == SQLITE_ROW) {
		struct db_stack_of stack = {.id = sqlite3_column_int64(stmt, 0),
					    .space = sqlite3_column_int64(stmt, 1),
					    .since = sqlite3_column_int64(stmt, 2)};
		const void *blob = sqlite3_column_blob(stmt, 3);
		size_t len = blob ? (size_t)sqlite3_column_bytes(stmt, 3) : 0;

		if (len > sizeof(frames))
			len = sizeof(frames);
		if (blob)
			memcpy(frames, blob, len);
		err = add_stack(w, &stack, frames, len / sizeof(frames[0]));
		step(w);
	}
	rc = sqlite3_finalize(stmt);
	return err ? err : db_fail(w->db, rc);
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

static bool is_there(sqlite3_stmt *stmt, int64_t id)
{
	bool is;

	sqlite3_bind_int64(stmt, 1, id);
	is = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_reset(stmt);
	return is;
}

/* Stacks that rows name and nobody told of: their records were lost. */
static int add_lost(struct work *w, const struct ids *ids)
{
	uint64_t frame = SL_FRAME_REMARK | SL_REMARK_LOST;
	struct db_stack_of stack = {0};
	sqlite3_stmt *stmt;
	int err = db_prepare(w->db, "SELECT 1 FROM main.SL_STACKS WHERE id = ?", &stmt);

	for (size_t i = 0; i < ids->cnt && !err; i++) {
		stack.id = ids->list[i];
		if (!is_there(stmt, stack.id))
			err = add_stack(w, &stack, &frame, 1);
	}
	sqlite3_finalize(stmt);
	return err;
}

#define UNNAMED "Stacks are left as they were taken"

/* What an attempt before this one has left. */
static int clear(struct db *db, const char *table)
{
	char sql[64];

	if (!db_table_exists(db, table))
		return 0;
	snprintf(sql, sizeof(sql), "DELETE FROM main.%s", table);
	return db_fail(db, sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
}

static int add_stacks(struct work *w)
{
	struct db *db = w->db;
	int err = db_begin(db);

	if (!err)
		err = clear(db, "SL_FRAMES");
	if (!err)
		err = clear(db, "SL_STACKS");
	for (size_t i = 0; i < REFERS_CNT && !err; i++)
		if (REFERS[i].chains)
			err = clear(db, REFERS[i].chains);

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
	if (!err)
		err = db_frames_open(db, &w->frames);
	if (!err)
		err = db_prepare(db, "INSERT INTO main.SL_STACKS VALUES(?, ?, ?)", &w->insert);
	if (!err)
		err = each_raw(w);
	for (size_t i = 0; i < REFERS_CNT && !err; i++) {
		err = read_ids(db, &REFERS[i], &w->named[i]);
		if (!err)
			err = add_lost(w, &w->named[i]);
		if (!err && w->named[i].cnt && !REFERS[i].chains)
			err = db_table_need(db, "SAMPLING_CALLCHAINS"); /* a view */
	}
	sqlite3_finalize(w->insert);
	return err;
}

/* Rows of one stack, in a batch. */
static int add_chain(struct work *w, enum db_table table, sqlite3_stmt *stmt, int64_t id)
{
	sqlite3_bind_int64(stmt, 1, id);
	for (int64_t depth = 0; sqlite3_step(stmt) == SQLITE_ROW; depth++) {
		int64_t *row = db_row(w->db, table);

		row[CHAIN_ID] = id;
		row[CHAIN_STACK_DEPTH] = depth;
		db_frames_chain(w->frames, sqlite3_column_int64(stmt, 0), row);
	}
	return db_errno(sqlite3_reset(stmt));
}

/* As many rows at a time as batches have room for: what a failure leaves of them is taken back. */
static int add_chains(struct work *w, const struct refers *r, const struct ids *ids)
{
	struct db *db = w->db;
	sqlite3_stmt *stmt = NULL;
	int err = db_prepare(db, "SELECT frameId FROM main.SL_STACKS WHERE id = ? ORDER BY depth",
			     &stmt);

	for (size_t i = 0; i < ids->cnt && !err; i++) {
		err = add_chain(w, r->as, stmt, ids->list[i]);
		if (!err && db_pending(db) >= ROWS_PER_COMMIT)
			err = db_commit(db, 0);
		step(w);
	}
	sqlite3_finalize(stmt);
	if (err)
		db_batch_drop(db);
	else
		err = db_commit(db, 0);
	if (err && !db_begin(db)) {
		clear(db, r->chains);
		db_commit(db, 0);
	}
	return err;
}

static int finish(struct work *w)
{
	struct db *db = w->db;
	int err = add_stacks(w), done;

	/* Errors of ours, not of SQLite's, leave a transaction that must not be committed. */
	if (err && !db->failed)
		db_fail(db, SQLITE_NOMEM);
	done = db_commit(db, 0);
	err = err ? err : done;
	for (size_t i = 0; i < REFERS_CNT && !err; i++)
		if (REFERS[i].chains && w->named[i].cnt)
			err = add_chains(w, &REFERS[i], &w->named[i]);
	db_frames_close(w->frames);
	return err;
}

int db_stacks_finish(struct db *db)
{
	struct work *w;
	char text[160];
	int err = -ENOMEM;

	if (!db_table_exists(db, "SL_RAW_STACKS"))
		return 0;
	w = calloc(1, sizeof(*w));
	if (w) {
		w->db = db;
		w->tell_ns = now_ns() + TELL_AFTER_NS;
		w->of = count_raw(db) * 2; /* and as many for the tables of callchains */
		err = finish(w);
		if (w->has_told)
			tell(-1);
		for (size_t i = 0; i < REFERS_CNT; i++)
			free(w->named[i].list);
		free(w);
	}
	if (!err)
		return 0;
	/* Everything else was committed before; texts of frames would take the room that is left. */
	db_strings_forget(db);
	snprintf(text, sizeof(text), UNNAMED ", without names: %s.",
		 err == -ENOSPC ? "no room on the disk" : strerror(-err));
	db_diagnostic(db, db->end_ns, 2, 2, text, DB_NULL);
	return err;
}
