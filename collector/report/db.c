/*
 * db.c - the report as a SQLite connection: commit, checkpoints, full disk. How it is opened: db_open.c.
 *
 * One process writes, others may read at any time (WAL, normal locking). synchronous is OFF: a crash
 * of any process loses nothing committed, and no commit waits for the disk; only a crash of the whole
 * machine can damage a report, until the kernel has written it out as any other file.
 */
#include "collector/report/db_internal.h"
#include "collector/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHECKPOINT_BYTES (4u << 20)   /* WAL size from which it is copied into the file */
#define RESTART_BYTES    (128u << 20) /* WAL size from which we wait for readers to let go of it */
#define RESTART_WAIT_MS  20
#define RESTART_PAUSE_NS INT64_C(1000000000)
#define OPS_ROOM         (16u << 20) /* of db_ops.c: half of the bytes that a failed commit keeps */
#define BALLAST_BYTES    (4u << 20)
#define BALLAST_LATER    (-2)
#define ROOM_ENOUGH      (UINT64_C(4) << 30)

sqlite3_file *db_wal_file(struct db *db, int64_t *bytes)
{
	sqlite3_file *wal = NULL;

	if (!db->wal.is_on || db->wal.frames < 0 ||
	    sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) != SQLITE_OK)
		return NULL;
	*bytes = 32 + (int64_t)db->wal.frames * (24 + (int64_t)db->wal.page_size);
	return wal && wal->pMethods ? wal : NULL;
}

/* The WAL holds frames of the failed transaction after the committed ones: gives their space back. */
static void wal_trim(struct db *db)
{
	int64_t bytes;
	sqlite3_file *wal = db_wal_file(db, &bytes);

	if (wal)
		wal->pMethods->xTruncate(wal, bytes);
}

/*
 * True: the disk has room for the pages of the WAL in the file. Half of them would fill the disk to
 * the last page and free nothing: then the last rows of the report would not fit either.
 */
/* Could the file take all that the WAL has? */
static bool db_wal_fits(struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	struct statvfs vfs;
	struct stat st;
	int64_t size = 0;

	if (sqlite3_prepare_v2(db->sql, "PRAGMA main.page_count", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		size = sqlite3_column_int64(stmt, 0) * db->wal.page_size;
	sqlite3_finalize(stmt);
	return size && !stat(db->path, &st) && !statvfs(db->path, &vfs) &&
	       size - st.st_size < (int64_t)((uint64_t)vfs.f_bavail * vfs.f_frsize);
}

/*
 * Copies the WAL into the file. PASSIVE never waits; once all is copied and no reader looks at the
 * WAL, the next commit starts it anew. Readers that never let go would make it grow for ever, so when
 * it is large we wait for them, a little and now and then.
 */
static void db_checkpoint(struct db *db)
{
	int64_t bytes = (int64_t)db->wal.frames * db->wal.page_size, now;

	if (!db->wal.is_on || bytes < CHECKPOINT_BYTES || !db_wal_fits(db))
		return;
	sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	if (bytes < RESTART_BYTES)
		return;
	now = mono_coarse_ns();
	if (now - db->wal.last_restart_ns < RESTART_PAUSE_NS)
		return;
	db->wal.last_restart_ns = now;
	db_wait(db, RESTART_WAIT_MS);
	sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	db_wait(db, db->txn.patience_ms);
}

static int wal_hook(void *arg, sqlite3 *sql, const char *name, int frames)
{
	struct db *db = arg;

	(void)sql;
	if (!strcmp(name, "main"))
		db->wal.frames = frames;
	return SQLITE_OK;
}

void db_watch_wal(struct db *db)
{
	sqlite3_wal_hook(db->sql, wal_hook, db);
}

static int commit(struct db *db, int64_t now)
{
	char sql[128];
	int err = db_begin(db);

	if (!err)
		err = row_batch_flush(db);
	if (!err)
		err = db_nvtx_flush(db);
	if (!err)
		err = db_ops_run(db);
	if (!err)
		err = db_strings_flush(db);
	if (now > db->time.end)
		db->time.end = now;
	if (err)
		return err;
	snprintf(sql, sizeof(sql),
		 "UPDATE main.ANALYSIS_DETAILS SET duration = %lld, stopTime = startTime + %lld",
		 (long long)db->time.end, (long long)db->time.end);
	err = db_fail(db, sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
	if (!err)
		err = db_fail(db, sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL));
	return err;
}

size_t db_pending(const struct db *db)
{
	return row_batch_pending(db) + db_nvtx_pending(db);
}

static bool has_room(const struct db *db)
{
	return row_batch_has_room(db) && db->ops.len < OPS_ROOM && db_nvtx_bytes(db) < OPS_ROOM;
}

int db_reserve(struct db *db)
{
	int err;

	if (db->txn.is_open || db->txn.failed || db->txn.early_err || !has_room(db))
		return 0;
	db_wait(db, 0);
	err = db_begin(db);
	db_wait(db, db->txn.patience_ms);
	if (err != -EBUSY)
		return 0;
	db->txn.is_open = false;
	db->txn.failed = 0;
	db->txn.is_out = true;
	return -EAGAIN;
}

int db_commit(struct db *db, int64_t now)
{
	int err = db->txn.early_err;

	db_watch_size(db);
	if (db->txn.is_out)
		db_wait(db, 0);
	if (err) { /* its rows belong to a commit that failed already in part */
		row_batch_drop(db);
		db->txn.early_err = 0;
		commit(db, now);
	} else {
		err = commit(db, now);
	}
	row_batch_drop(db);
	db->txn.is_open = false;
	db_wait(db, db->txn.patience_ms);
	db->txn.is_out = err == -EBUSY;
	if (db->txn.failed) {
		db->txn.failed = 0;
		db_ops_failed(db);
		db_nvtx_failed(db, err);
		if (err == -ENOSPC) {
			wal_trim(db);
			sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_PASSIVE, NULL,
						  NULL);
		}
		return err;
	}
	db->schema.committed = db->schema.exists;
	db->schema.is_made = true;
	db->strings.saved = db->strings.cnt;
	db_ops_done(db);
	db_nvtx_done(db);
	db_checkpoint(db);
	db_watch_size(db);
	return err;
}

/*
 * Room on the disk that only the end of a report may use: an unnamed file in its folder, given up
 * by db_finish() so that names, totals and the diagnosis fit on a disk that is full. Not earlier:
 * whatever filled the disk would take it.
 */
static int ballast_open(struct db *db)
{
	char *dir = strdup(db->path), *slash = dir ? strrchr(dir, '/') : NULL;
	uint64_t bytes = BALLAST_BYTES;
	struct statvfs vfs;
	int fd;

	if (!slash) {
		free(dir);
		return -1;
	}
	slash[slash == dir] = '\0';
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(dir);
	/* On a small disk a quarter of its free space: the report needs room too. */
	if (fd >= 0 && !fstatvfs(fd, &vfs) && (uint64_t)vfs.f_bavail * vfs.f_frsize / 4 < bytes)
		bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize / 4;
	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * A file whose blocks are allocated takes milliseconds to remove, for which a program of one millisecond would wait. A disk with so
 * much room is not full within the first quarter of a second, or while names are written.
 */
void db_ballast_plan(struct db *db)
{
	struct statvfs vfs;

	if (db->file.ballast >= 0)
		return;
	if (!statvfs(db->path, &vfs) && (uint64_t)vfs.f_bavail * vfs.f_frsize >= ROOM_ENOUGH)
		db->file.ballast = BALLAST_LATER;
	else
		db->file.ballast = ballast_open(db);
}

void db_tend(struct db *db)
{
	if (db->file.ballast == BALLAST_LATER)
		db->file.ballast = ballast_open(db);
}

void db_ballast_drop(struct db *db)
{
	if (db->file.ballast >= 0)
		close(db->file.ballast);
	db->file.ballast = -1;
}

void db_settle(struct db *db)
{
	if (!db->wal.is_on || db->txn.is_open)
		return;
	db_wait(db, RESTART_WAIT_MS);
	sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	db_wait(db, db->txn.patience_ms);
}
