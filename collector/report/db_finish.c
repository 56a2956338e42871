/*
 * db_finish.c - the two ends of an interrupted recording: finish a report, or go on with one.
 *
 * No index is built. Reports read whole tables (sums, group by), for which SQLite scans in the order of
 * the file; an index over 20 million rows costs more time and disk than it would save once, and who
 * asks for single rows again and again can make one. nsys has none either.
 */
#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * One file without a log. That needs a moment without readers; when one stays, the report
 * simply keeps its log: it is complete, and the last reader to close it tidies up.
 */
static void leave_wal(struct db *db)
{
	if (!db->wal.is_on)
		return;
	db_wait(db, 200);
	sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	/* Asks for the exclusive lock at once, without waiting: so we wait here. */
	for (int i = 0; i < 20 && db_exec(db, "PRAGMA main.journal_mode = DELETE"); i++)
		usleep(10000);
}

/* Writes the losses of the last commit into the report; on a full disk the ballast made room for them. */
static int finish_lost(struct db *db, int64_t duration_ns, int err, size_t lost)
{
	const char *why = db_loss_reason(err);

	if (lost) {
		char text[128], what[96];

		snprintf(text, sizeof(text), "The last %zu rows are lost: %s.", lost, why);
		snprintf(what, sizeof(what), "rows of the report: %s", why);
		db_diagnostic(db, duration_ns, 2, 3, text, DB_NULL);
		db_lost(db, duration_ns, duration_ns, DB_NULL, what, (int64_t)lost);
	}
	/* Twice, for a failed commit frees room that the next one can use. */
	for (int i = 0; i < 2 && err; i++)
		err = db_commit(db, duration_ns);
	return err;
}

/* All there was to read has been read: `recover` needs nothing but names. */
static void note_recorded(struct db *db, int64_t duration_ns)
{
	if (db_table_exists(db, "SL_RAW_STACKS"))
		db_state_set(db, DB_STATE_RECORDED, &duration_ns, sizeof(duration_ns));
}

/* The log goes into the file, wherever that is. @err: of the report so far. */
static int end_file(struct db *db, int err, bool is_damaged, struct db_fate *fate)
{
	int lost = 0;

	if (db_is_in_place(db))
		leave_wal(db);
	if (is_damaged) {
		fate->what = DB_CUT;
		return -EBADMSG;
	}
	/* Also where that happened in the moment before. */
	if (!db_is_in_place(db))
		lost = db_place_end(db, fate);
	return lost ? lost : err;
}

int db_finish_file(struct db *db, int64_t duration_ns, struct db_fate *fate)
{
	size_t pending = db_pending(db);
	int err, marked, unnamed;
	bool is_for_later, is_damaged;

	db_ballast_drop(db); /* the ballast is kept for this */
	db->time.end = 0;
	note_recorded(db, duration_ns);
	err = db_commit(db, duration_ns);
	if (!err) {
		pending = 0;
		unnamed = db_stacks_finish(db);
	} else {
		unnamed = db_table_exists(db, "SL_RAW_STACKS") ? err : 0;
		note_recorded(db, duration_ns);
	}
	/* Where it was room that names lacked, or patience, `recover` gives them when there is some. */
	is_for_later = unnamed == -ENOSPC || unnamed == -EINTR;
	db->stacks.keeps_raw = unnamed < 0;
	is_damaged = db_is_damaged(db);
	if (!is_for_later && !is_damaged)
		db_meta_export_set(db, "SL_COMPLETE", "1");
	marked = db_commit(db, duration_ns);
	if (!err)
		err = marked;
	if (err == -ENOSPC || err == -EBUSY)
		marked = finish_lost(db, duration_ns, err, pending);
	if (!err && is_for_later)
		err = unnamed;
	if (!is_for_later && !marked && !db_begin(db) && !db_schema_drop_live(db, false))
		db_fail(db, sqlite3_exec(db->sql, "DROP TABLE main.SL_STATE; COMMIT", NULL, NULL,
					 NULL));
	*fate = (struct db_fate){DB_IN_PLACE, NULL};
	err = end_file(db, err, is_damaged, fate);
	db_close(db);
	return err;
}

int db_finish(struct db *db, int64_t duration_ns)
{
	struct db_fate fate;
	int err = db_finish_file(db, duration_ns, &fate);

	free(fate.path);
	return err;
}

/* ---- resume ---- */

static bool meta_is(sqlite3 *sql, const char *name, const char *value)
{
	sqlite3_stmt *stmt;
	bool is = false;

	if (sqlite3_prepare_v2(sql, "SELECT value FROM META_DATA_EXPORT WHERE name = ?", -1, &stmt,
			       NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		is = !strcmp((const char *)sqlite3_column_text(stmt, 0), value);
	sqlite3_finalize(stmt);
	return is;
}

/* Why this database cannot be resumed; NULL: it can. */
static const char *objection(sqlite3 *sql)
{
	int rc = sqlite3_exec(sql, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);

	if (rc == SQLITE_NOTADB || rc == SQLITE_CORRUPT)
		return "is no SQLite database, or a damaged one";
	if (rc != SQLITE_OK)
		return sqlite3_errmsg(sql);
	if (!meta_is(sql, "EXPORT_PRODUCT_NAME", DB_PRODUCT))
		return "was not written by Sightline";
	if (meta_is(sql, "SL_COMPLETE", "1"))
		return "is complete already";
	if (!meta_is(sql, "EXPORT_SCHEMA_VERSION", DB_SCHEMA_VERSION) ||
	    !meta_is(sql, "EXPORT_PRODUCT_VERSION", SL_VERSION))
		return "was begun by another version of Sightline; use that one";
	return NULL;
}

int db_check_resume(const char *path, char *why, size_t why_len)
{
	const char *text = NULL;
	sqlite3 *sql = NULL;
	struct stat st;

	if (stat(path, &st))
		text = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		text = "is no regular file";
	else if (access(path, R_OK | W_OK))
		text = strerror(errno);
	else if (sqlite3_open_v2(path, &sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 db_vfs()) != SQLITE_OK)
		text = sqlite3_errmsg(sql);
	else
		text = objection(sql);
	if (text)
		snprintf(why, why_len, "%s: %s", path, text);
	sqlite3_close(sql);
	return text ? -1 : 0;
}

int db_resume(struct db *db)
{
	sqlite3_stmt *stmt;
	int err = db_schema_scan(db);

	/* Pages in the WAL are not ours, and must not be trimmed with the first commit that finds no room. */
	if (db->wal.is_on)
		sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_PASSIVE,
					  &db->wal.frames, NULL);
	if (!err)
		err = db_strings_load(db);
	if (!err)
		err = db_ops_load(db);
	if (!err)
		err = db_nvtx_load(db);
	if (!err)
		err = db_counters_load(db);
	if (!err)
		err = db_stacks_load(db);
	/* The sums of the last collector were in memory: they begin anew. */
	if (!err)
		err = db_schema_drop_live(db, true);
	if (!err)
		err = db_prepare(db, "SELECT startTime, duration FROM main.ANALYSIS_DETAILS",
				 &stmt);
	if (err)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		db->time.start_clock = sqlite3_column_int64(stmt, 0);
		db->time.end = sqlite3_column_int64(stmt, 1);
	} else {
		err = -EBADMSG;
	}
	sqlite3_finalize(stmt);
	return err;
}
