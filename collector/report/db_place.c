/*
 * db_place.c - whether the report's path still names its file: programs remove, replace, move and cut files while they are written.
 *
 * SQLite goes on with the files that it has open, and removes logs by their names, which may be
 * those of another report by then. So a report whose path names something else is closed without
 * its log being touched by name. A report that was removed is written again: the contents of its
 * file are copied to a new one under its path.
 */
#include "collector/report/db_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 5000 /* for readers of a log that is to go into the file */
#define VERSION_AT \
	18 /* in the file's header: how it is written and read, 2 with a log, 1 without */

static bool names(const char *path, const struct stat *own)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_dev == own->st_dev && st.st_ino == own->st_ino;
}

bool db_is_in_place(const struct db *db)
{
	struct stat own;

	return db->file.lock < 0 || (fstat(db->file.lock, &own) == 0 && names(db->file.real, &own));
}

bool db_is_removed(const struct db *db)
{
	struct stat own;

	return db->file.lock >= 0 && fstat(db->file.lock, &own) == 0 && own.st_nlink == 0;
}

void db_watch_size(struct db *db)
{
	sqlite3_int64 log;
	struct stat own;
	int64_t bytes;
	sqlite3_file *wal = db_wal_file(db, &bytes);

	if (db->file.lock < 0 || fstat(db->file.lock, &own) < 0)
		return;
	db->file.is_cut |= own.st_size < db->file.bytes;
	db->file.bytes = own.st_size;
	if (wal && db->wal.frames && wal->pMethods->xFileSize(wal, &log) == SQLITE_OK)
		db->file.is_cut |= log < bytes;
}

/* Cut by a program; or a VACUUM made the file smaller, a checkpoint of another connection the log. */
bool db_is_damaged(struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	bool is_sound = false;

	db_watch_size(db);
	if (!db->file.is_cut)
		return false;
	/* Pages that are cached would hide it. */
	sqlite3_db_release_memory(db->sql);
	if (sqlite3_prepare_v2(db->sql, "PRAGMA main.quick_check(1)", -1, &stmt, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		is_sound = strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;
	sqlite3_finalize(stmt);
	return !is_sound;
}

/* Moves all of the log into the file. False: a reader does not let go of it. */
static bool settle(struct db *db)
{
	int log = 0, moved = -1, rc;

	if (!db->wal.is_on)
		return true;
	db_wait(db, WAIT_MS);
	rc = sqlite3_wal_checkpoint_v2(db->sql, "main", SQLITE_CHECKPOINT_TRUNCATE, &log, &moved);
	return rc == SQLITE_OK || (rc == SQLITE_BUSY && log == moved);
}

/* The folder of the path, none of whose parts is a link. The descriptor, or -errno. */
static int open_folder(const char *path)
{
	int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *copy = strdup(path), *rest = NULL, *last = copy ? strrchr(copy, '/') : NULL;

	if (!last || at < 0) {
		free(copy);
		if (at >= 0)
			close(at);
		return -ENOMEM;
	}
	*last = 0;
	for (char *part = strtok_r(copy, "/", &rest); part && at >= 0;
	     part = strtok_r(NULL, "/", &rest)) {
		int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int err = -errno;

		close(at);
		at = next < 0 ? err : next;
	}
	free(copy);
	return at;
}

/* A reader then needs no log beside it. */
static void leave_log_mode(int fd)
{
	static const unsigned char without[2] = {1, 1};

	(void)!pwrite(fd, without, sizeof(without), VERSION_AT);
}

static int copy(int from, int to)
{
	static char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = copy_file_range(from, &at, to, NULL, 1 << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	/* Not between these file systems, or not by this kernel. */
	while ((n = pread(from, buf, sizeof(buf), at)) > 0) {
		if (pwrite(to, buf, (size_t)n, at) != n)
			return -ENOSPC;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int fill(const struct db *db, int to)
{
	struct stat own;
	int err = fstat(db->file.lock, &own) < 0 ? -errno : copy(db->file.lock, to);

	if (!err && fchmod(to, own.st_mode & 0777) < 0)
		err = -errno;
	if (!err)
		leave_log_mode(to);
	return err;
}

/* Appears whole; where it cannot, it is made under its name. -EEXIST: something has that name. */
static int write_file(const struct db *db, int folder, const char *name)
{
	int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err;
	bool is_named = fd < 0;
	char link[64];

	if (is_named)
		fd = openat(folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fill(db, fd);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!err && !is_named && linkat(AT_FDCWD, link, folder, name, AT_SYMLINK_FOLLOW) < 0)
		err = -errno;
	if (err && is_named)
		unlinkat(folder, name, 0);
	close(fd);
	return err;
}

/* Under its path; where that is taken, under "NAME.N.sqlite". The path, malloc'd, is *where. */
static int write_again(const struct db *db, char **where)
{
	const char *slash = strrchr(db->file.real, '/'), *dot = strrchr(db->file.real, '.');
	int stem = dot && dot > slash ? (int)(dot - db->file.real) : (int)strlen(db->file.real);
	int folder = open_folder(db->file.real), err = -EEXIST;

	if (folder < 0)
		return folder;
	for (unsigned n = 1; n < 1000 && err == -EEXIST; n++) {
		free(*where);
		if ((n == 1 ? asprintf(where, "%s", db->file.real)
			    : asprintf(where, "%.*s.%u%s", stem, db->file.real, n,
				       db->file.real + stem)) < 0) {
			*where = NULL;
			err = -ENOMEM;
			break;
		}
		err = write_file(db, folder, strrchr(*where, '/') + 1);
	}
	close(folder);
	return err;
}

/* The path that the kernel has for the file, malloc'd. */
static char *kernels_path(const struct db *db)
{
	char link[64], path[PATH_MAX];
	struct stat own;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", db->file.lock);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || fstat(db->file.lock, &own) < 0)
		return NULL;
	path[n] = 0;
	return names(path, &own) ? strdup(path) : NULL;
}

/* NFS renames a file that is open where it is removed, and removes it when it is closed. */
static bool is_nfs_remainder(const char *path)
{
	return path && strncmp(strrchr(path, '/'), "/.nfs", 5) == 0;
}

int db_place_end(struct db *db, struct db_fate *fate)
{
	bool is_settled = settle(db);
	int err;

	/* SQLite would remove the log by a name that is not the report's any more. */
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	fate->path = db_is_removed(db) ? NULL : kernels_path(db);
	if (is_settled && !db_is_read(db)) {
		/* The report's file may have another name, by a hard link. */
		leave_log_mode(db->file.lock);
		if (fate->path)
			db_unlink_logs(fate->path);
		db_unlink_own_logs(db);
	}
	if (fate->path && !is_nfs_remainder(fate->path)) {
		fate->what = DB_MOVED;
		return -ESTALE;
	}
	free(fate->path);
	fate->path = NULL;
	fate->what = DB_REMOVED;
	err = is_settled ? write_again(db, &fate->path) : -EBUSY;
	if (err) {
		free(fate->path);
		fate->path = NULL;
		return err;
	}
	if (strcmp(fate->path, db->file.real) != 0) {
		fate->what = DB_REPLACED;
		return -ESTALE;
	}
	fate->what = DB_WRITTEN_AGAIN;
	free(fate->path);
	fate->path = NULL;
	return 0;
}
