/*
 * db_sql.c - statements of the open transaction, and the effect of their errors on it.
 *
 * Rule easy to break: an error inside a transaction goes through db_fail(), which rolls back at once;
 * everything that follows up to db_commit() must do nothing and return that error.
 */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <unistd.h>

#include "collector/base/stop_signal.h"

#define BUSY_STEP_MS 5

int db_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
	case SQLITE_IOERR:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

int db_fail(struct db *db, int rc)
{
	int err = db_errno(rc);

	if (!err)
		return 0;
	if (db->txn.is_open && !db->txn.failed)
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	db->schema.exists = db->schema.committed;
	db->txn.failed = err;
	return err;
}

const char *db_loss_reason(int err)
{
	switch (-err) {
	case ENOSPC:
		return "disk full";
	case EBUSY:
		return "the report was locked by another program";
	case EBADMSG:
		return "the report was damaged";
	default:
		return "the report could not be written";
	}
}

static int on_busy(void *arg, int tries)
{
	const struct db *db = arg;

	if (tries * BUSY_STEP_MS >= db->txn.wait_ms || stop_signal_pending())
		return 0;
	usleep(BUSY_STEP_MS * 1000);
	return 1;
}

void db_wait(struct db *db, int ms)
{
	db->txn.wait_ms = ms;
	sqlite3_busy_handler(db->sql, on_busy, db);
}

void db_patience(struct db *db, int ms)
{
	db->txn.patience_ms = ms;
	db->txn.is_out = false;
	db_wait(db, ms);
}

int db_exec(struct db *db, const char *sql)
{
	return db_errno(sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
}

int db_prepare(struct db *db, const char *sql, sqlite3_stmt **stmt)
{
	return db_errno(
		sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL));
}

/*
 * BEGIN alone takes no lock, and BEGIN IMMEDIATE would take those of the batch images too: so the
 * first statement of every transaction is a write to the report.
 */
int db_begin(struct db *db)
{
	int rc;

	if (db->txn.failed || db->txn.is_open)
		return db->txn.failed;
	rc = sqlite3_exec(db->sql, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK) {
		db->txn.is_open = true;
		if (db->schema.is_made)
			rc = sqlite3_exec(db->sql, "DELETE FROM main.SL_STATE WHERE key = ''", NULL,
					  NULL, NULL);
	}
	return db_fail(db, rc);
}
