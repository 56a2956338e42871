/*
 * db_symbolize_online.c - names of stacks before the end, see db_stacks.h: what can be told for good by what has been told so
 * far. Rows wait to be committed like any others.
 *
 * A stack waits until a row names it, for only then is it known which callchains it is part of. One that lies where nothing
 * has been told of waits until something has; code that the program makes, for example, has its names at the end alone.
 */
#include "collector/report/db_symbolize.h"
#include "collector/report/db_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/db_internal.h"

#define WAITING_MAX 65536u
/* Which have names is remembered; who has more finds them at the end. */
#define STACKS_MAX (1u << 18)
/* Of a table that has some already: some milliseconds' work. */
#define ROWS_MAX 65536

struct db_named {
	struct naming *naming;
	bool is_void;
	struct db_map wanted; /* by which kinds of rows, as bits */
	struct waiting {
		int64_t stack;
		uint64_t tried; /* how many places were known then, + 1 */
	} * waiting;
	uint32_t cnt, cap;
};

void db_named_free(struct db_named *n)
{
	if (!n)
		return;
	naming_free(n->naming);
	db_map_free(&n->wanted);
	free(n->waiting);
	free(n);
}

void db_named_void(struct db *db)
{
	if (db->named)
		db->named->is_void = true;
}

void db_named_recode(struct db *db, int64_t code)
{
	struct db_named *n = db->named;

	if (n && !n->is_void && db_frames_has_code(n->naming->frames, code))
		db_named_void(db);
}

struct naming *db_named_take(struct db *db)
{
	struct db_named *n = db->named;
	struct naming *naming = n && !n->is_void ? n->naming : NULL;

	if (naming)
		n->naming = NULL;
	db_named_void(db);
	return naming;
}

/* Who finds no room here has its names at the end. */
static void add_waiting(struct db_named *n, int64_t stack)
{
	if (n->cnt == n->cap) {
		uint32_t cap = n->cap ? n->cap * 2 : 1024;
		struct waiting *more =
			cap <= WAITING_MAX ? realloc(n->waiting, cap * sizeof(*more)) : NULL;

		if (!more)
			return;
		n->waiting = more;
		n->cap = cap;
	}
	n->waiting[n->cnt++] = (struct waiting){.stack = stack};
}

void db_named_wait(struct db *db, int64_t stack)
{
	if (db->named && !db->named->is_void)
		add_waiting(db->named, stack);
}

/* ---- who is named by rows ---- */

static int want(struct db_named *n, int64_t stack, unsigned kind)
{
	int64_t *kinds = db_map_get(&n->wanted, stack);

	if (!kinds)
		return -ENOMEM;
	/* One that has its names already is another kind's, too. */
	if (*kinds && !(*kinds & 1 << kind))
		add_waiting(n, stack);
	*kinds |= 1 << kind;
	return 0;
}

/* Who finds no memory here finds them at the end. */
void db_stack_wanted(struct db *db, enum db_stack_kind kind, int64_t id)
{
	if (db->named && !db->named->is_void && id && id != DB_NULL &&
	    db->named->wanted.cnt <= STACKS_MAX)
		(void)want(db->named, id, kind);
}

static int read_rows(struct db_named *n, struct db *db, unsigned kind, const char *table)
{
	const char *column = naming_column(kind);
	char *sql = sqlite3_mprintf("SELECT %s FROM main.%s LIMIT %d", column, table, ROWS_MAX);
	sqlite3_stmt *stmt;
	int rc, err = sql ? db_prepare(db, sql, &stmt) : -ENOMEM;

	sqlite3_free(sql);
	if (err)
		return err;
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if (sqlite3_column_int64(stmt, 0))
			err = want(n, sqlite3_column_int64(stmt, 0), kind);
	sqlite3_finalize(stmt);
	return err ? err : db_fail(db, rc == SQLITE_DONE ? SQLITE_OK : rc);
}

/* Rows and stacks that are there already. */
static int catch_up(struct db_named *n, struct db *db)
{
	const char *table;
	sqlite3_stmt *stmt;
	int rc, err = db_prepare(db, "SELECT id FROM main.SL_RAW_STACKS ORDER BY id", &stmt);

	if (err)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		add_waiting(n, sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	err = db_fail(db, rc == SQLITE_DONE ? SQLITE_OK : rc);
	for (unsigned k = 0; k < NAMING_KINDS; k++)
		for (unsigned t = 0; (table = naming_table(k, t)); t++)
			if (!err && db_table_exists(db, table))
				err = read_rows(n, db, k, table);
	return err;
}

static int begin(struct db *db)
{
	struct db_named *n = db->named = calloc(1, sizeof(*n));
	int err = n ? naming_open(db, true, &n->naming) : -ENOMEM;

	return err ? err : catch_up(n, db);
}

/* ---- names ---- */

static int name(struct db_named *n, sqlite3_stmt *stmt, int64_t id, unsigned kinds)
{
	uint64_t frames[SL_FRAME_MAX];
	struct db_stack_of stack = {.id = id};
	size_t len = 0;

	sqlite3_bind_int64(stmt, 1, id);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		stack.space = sqlite3_column_int64(stmt, 0);
		stack.since = sqlite3_column_int64(stmt, 1);
		len = (size_t)sqlite3_column_bytes(stmt, 2);
		if (len > sizeof(frames))
			len = sizeof(frames);
		memcpy(frames, sqlite3_column_blob(stmt, 2), len);
	}
	sqlite3_reset(stmt);
	return len ? naming_add(n->naming, &stack, kinds, frames, len / sizeof(*frames)) : -EAGAIN;
}

/* @rows: of all tables, at most; a stack more or less. */
static int name_waiting(struct db_named *n, struct db *db, size_t rows)
{
	uint64_t now = db->stacks.places + 1;
	uint32_t left = 0, i;
	sqlite3_stmt *stmt;
	int err = db_prepare(db, "SELECT space, since, frames FROM main.SL_RAW_STACKS WHERE id = ?",
			     &stmt);

	if (err)
		return err;
	for (i = 0; i < n->cnt && !err; i++) {
		struct waiting *w = &n->waiting[i];
		unsigned kinds = n->wanted.cnt ? (unsigned)*db_map_peek(&n->wanted, w->stack) : 0;

		if (kinds && naming_is_done(n->naming, w->stack, kinds))
			continue;
		if (kinds && w->tried != now && db_pending(db) < rows) {
			err = name(n, stmt, w->stack, kinds);
			if (!err)
				continue;
			if (err == -EAGAIN)
				err = 0;
			w->tried = now;
		}
		n->waiting[left++] = *w;
	}
	sqlite3_finalize(stmt);
	n->cnt = left;
	return err;
}

/* Nothing else is pending: what failed is only ours, and need not be told as lost. */
static void give_up(struct db *db)
{
	db_named_void(db);
	if (db->failed || db->early_err)
		db_commit(db, 0);
}

static bool is_over(struct db *db)
{
	const struct db_named *n = db->named;

	return !db_table_exists(db, "SL_RAW_STACKS") || !db_ahead_is_there(db) ||
	       (n && (n->is_void || n->wanted.cnt > STACKS_MAX)) || !db_has_plenty(db);
}

bool db_stacks_early(struct db *db, size_t rows)
{
	struct db_named *n = db->named;
	bool is_done;
	int err;

	if (is_over(db))
		return true;
	if (db_pending(db) || db->strings.saved != db->strings.cnt || !db_ahead_is_idle(db))
		return false;
	if (!n) {
		err = begin(db);
		n = db->named;
	} else {
		err = naming_goes_on(n->naming, true);
	}
	if (!err)
		err = name_waiting(n, db, rows);
	if (n && n->naming && n->naming->frames)
		naming_rests(n->naming);
	if (err)
		give_up(db);
	is_done = err || !db_pending(db);
	if (db->in_txn && !db_pending(db))
		db_commit(db, 0);
	return is_done;
}
