/*
 * db_symbolize_all.c - symbolizes all stacks when the report is finished, in one pass in the order of their ids. On an
 * error the raw stacks stay as they were, and the report opens.
 */
#include "collector/base/grow.h"
#include "collector/base/now.h"
#include "collector/report/db_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/db_internal.h"
#include "collector/report/db_symbolize.h"

#define ROWS_PER_COMMIT 65536u

#define TELL_AFTER_NS INT64_C(2000000000)
#define TELL_EVERY_NS INT64_C(500000000)

static void (*tell)(int percent);

void db_stacks_progress(void (*told)(int percent))
{
	tell = told;
}

struct ids {
	int64_t *list; /* in order */
	size_t cnt, cap, at;
};

struct work {
	struct db *db;
	struct naming *naming;
	struct ids
		wanted[NAMING_KINDS]; /* stacks that rows name; up to .at they are in the report */
	int64_t tell_ns, steps, of;   /* when to show the progress; done; to be done, in stacks */
	bool has_told;
};

static void step(struct work *w)
{
	int64_t now;

	if (!tell || w->steps++ % 64 || (now = mono_ns()) < w->tell_ns)
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

/* Kinds of rows that name the stack: asked in order. */
static unsigned kinds_of(struct work *w, int64_t stack)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < NAMING_KINDS; i++) {
		struct ids *ids = &w->wanted[i];
		bool is = ids->at < ids->cnt && ids->list[ids->at] == stack;

		kinds |= (unsigned)is << i;
		ids->at += is;
	}
	return kinds;
}

/* The first below @end that rows name and that is not in the report; @end: none. */
static int64_t first_lost(const struct work *w, int64_t end)
{
	for (unsigned i = 0; i < NAMING_KINDS; i++) {
		const struct ids *ids = &w->wanted[i];

		if (ids->at < ids->cnt && ids->list[ids->at] < end)
			end = ids->list[ids->at];
	}
	return end;
}

/* Stacks below @end that rows name and that have no record: it was lost. */
static int add_lost(struct work *w, int64_t end)
{
	uint64_t frame = SL_FRAME_REMARK | SL_REMARK_LOST;
	struct db_stack_of stack = {0};
	int err = 0;

	while (!err && (stack.id = first_lost(w, end)) != end)
		err = naming_add(w->naming, &stack, kinds_of(w, stack.id), &frame, 1);
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
	unsigned kinds = kinds_of(w, stack.id);

	*last = stack.id;
	step(w);
	if (err)
		return err;
	if (len > sizeof(frames))
		len = sizeof(frames);
	if (blob)
		memcpy(frames, blob, len);
	return naming_add(w->naming, &stack, kinds, frames, len / sizeof(frames[0]));
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

static bool add_id(struct ids *ids, int64_t id)
{
	if (!grow(&ids->list, ids->cnt, &ids->cap, sizeof(*ids->list)))
		return false;
	ids->list[ids->cnt++] = id;
	return true;
}

/* One pass over a table that may be the largest of the report. */
static int read_table(struct db *db, const char *table, const char *column, struct ids *ids)
{
	sqlite3_stmt *stmt;
	char sql[256];
	int rc, err;

	if (!db_table_exists(db, table))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT DISTINCT %s FROM main.%s WHERE %s <> 0", column, table,
		 column);
	err = db_fail(db, sqlite3_prepare_v2(db->sql, sql, -1, &stmt, NULL));
	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if (!add_id(ids, sqlite3_column_int64(stmt, 0))) {
			rc = SQLITE_NOMEM;
			break;
		}
	sqlite3_finalize(stmt);
	return db_fail(db, rc == SQLITE_DONE ? SQLITE_OK : rc);
}

static int take_counted(struct db *db, const struct db_map *m, struct ids *ids)
{
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->val[i] && !add_id(ids, m->key[i]))
			return db_fail(db, SQLITE_NOMEM);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Tables of one kind may name the same stack. */
static void sort_ids(struct ids *ids)
{
	size_t cnt = 0;

	if (ids->cnt)
		qsort(ids->list, ids->cnt, sizeof(*ids->list), by_id);
	for (size_t i = 0; i < ids->cnt; i++)
		if (!cnt || ids->list[cnt - 1] != ids->list[i])
			ids->list[cnt++] = ids->list[i];
	ids->cnt = cnt;
}

/* The ids were counted while rows were written; a report that another process began is read. */
static int read_ids(struct db *db, unsigned kind, struct ids *ids)
{
	const char *table;
	int err = 0;

	for (unsigned i = 0; !err && (table = naming_table(kind, i)); i++) {
		const struct db_map *counted = row_batch_stacks(db, table);

		err = counted ? take_counted(db, counted, ids)
			      : read_table(db, table, naming_column(kind), ids);
	}
	sort_ids(ids);
	return err;
}

#define UNNAMED "Stacks are left as they were taken"

static int read_wanted(struct work *w)
{
	int err = 0;

	for (unsigned i = 0; i < NAMING_KINDS && !err; i++)
		err = read_ids(w->db, i, &w->wanted[i]);
	return err;
}

static int need_views(struct work *w)
{
	int err = 0;

	for (unsigned i = 0; i < NAMING_KINDS && !err; i++)
		if (w->wanted[i].cnt && naming_has_view(i) &&
		    db_table_exists(w->db, "COMPOSITE_EVENTS"))
			err = db_table_need(w->db, "SAMPLING_CALLCHAINS");
	return err;
}

static int begin(struct work *w)
{
	struct db *db = w->db;

	if (db_table_exists(db, "DIAGNOSTIC_EVENT"))
		db_fail(db, sqlite3_exec(db->sql,
					 "DELETE FROM main.DIAGNOSTIC_EVENT WHERE text LIKE"
					 " '" UNNAMED "%'",
					 NULL, NULL, NULL));
	return db->txn.failed ? db->txn.failed : naming_open(db, &w->naming);
}

/* Several transactions: a failure takes back the rows of the transactions before it. */
static int finish(struct work *w)
{
	struct db *db = w->db;
	int err = read_wanted(w), done;

	/* Symbolized rows take more room than all that follows, and must leave enough for that. */
	db_ballast_plan(db);
	w->of = count_raw(db);
	w->tell_ns = mono_ns() + TELL_AFTER_NS;
	if (!err)
		err = begin(w);
	if (!err)
		err = need_views(w);
	if (!err)
		err = add_all(w);
	if (!err)
		db_frames_note_lost(w->naming->frames);
	if (err)
		row_batch_drop(db);
	/* An error that is not SQLite's leaves a transaction that must not be committed. */
	if (err && !db->txn.failed)
		db_fail(db, SQLITE_NOMEM);
	done = db_commit(db, 0);
	err = err ? err : done;
	naming_free(w->naming);
	if (err) {
		/* Everything else was committed before; texts of frames would take the room that is left. */
		db_strings_forget(db);
		db_ballast_drop(db);
		naming_drop(db);
		db_commit(db, 0);
	}
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
		err = finish(w);
		db_ballast_drop(db);
		if (w->has_told)
			tell(-1);
		for (unsigned i = 0; i < NAMING_KINDS; i++)
			free(w->wanted[i].list);
		free(w);
	}
	if (!err)
		return 0;
	snprintf(text, sizeof(text), UNNAMED ", without names: %s.",
		 err == -ENOSPC ? "no room on the disk" : strerror(-err));
	db_diagnostic(db, db->time.end, 2, 2, text, DB_NULL);
	return err;
}
