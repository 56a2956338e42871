/*
 * db_open.c - a report is begun, gone on with, or closed: the file, its connection, the rows that every report has.
 */
#include "collector/base/report_watch.h"
#include "collector/report/db_internal.h"
#include "collector/base/stop_signal.h"
#include "collector/base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 10000
#define LOCK_STEP_MS 20

static int refuse(char *why, size_t len, const char *path, const char *text)
{
	snprintf(why, len, "%s: %s", path, text);
	return -1;
}

static void unlink_with(const char *path, const char *suffix)
{
	char *name;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return;
	unlink(name);
	free(name);
}

void db_unlink_logs(const char *path)
{
	unlink_with(path, "-wal");
	unlink_with(path, "-shm");
	unlink_with(path, "-journal");
}

/* 0, or -1 and errno of the file's own end. */
static int unlink_all(const char *path)
{
	db_unlink_logs(path); /* first: they must never meet a new file of this name */
	return unlink(path);
}

void db_unlink(const char *path)
{
	unlink_all(path);
}

/*
 * One collector writes a report. flock, which SQLite does not use: its own locks are held only while it
 * commits, and would be dropped by the first close of any other descriptor of the file. A collector that
 * is just finishing is waited for.
 */
static int db_lock(const char *path, int fd, char *why, size_t len)
{
	for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB); waited_ms += LOCK_STEP_MS) {
		struct timespec step = {0, LOCK_STEP_MS * 1000000};

		if (errno != EWOULDBLOCK)
			return 0; /* a file system without locks */
		if (waited_ms >= LOCK_WAIT_MS || stop_signal_pending())
			return refuse(why, len, path, "is still being written by another run");
		nanosleep(&step, NULL);
	}
	return 0;
}

static struct timespec began;

/* As file systems take the time. */
__attribute__((constructor)) static void note_begin(void)
{
	clock_gettime(CLOCK_REALTIME_COARSE, &began);
}

/* By another process that runs beside this one, or did: ranks of a job that share a name. */
static bool made_since_began(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 && st.stx_mask & STATX_BTIME &&
	       (st.stx_btime.tv_sec > began.tv_sec ||
		(st.stx_btime.tv_sec == began.tv_sec &&
		 st.stx_btime.tv_nsec >= (uint32_t)began.tv_nsec));
}

/* Removes the old report, once no process writes it. */
static int remove_old(const struct db_open *how, char *why, size_t len)
{
	const char *path = how->path;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;

	if (fd >= 0 && !how->is_next && made_since_began(fd))
		err = refuse(
			why, len, path,
			"is of another run that began with this one: each rank needs a name of "
			"its own, as -o 'run-%q{RANK}' or -o run-%p");
	else if (fd >= 0)
		err = db_lock(path, fd, why, len);
	if (!err && unlink_all(path) && errno != ENOENT)
		err = refuse(why, len, path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

/* Makes the empty file, so that every reason why that is impossible has its own words. */
static int create_file(const struct db_open *how, int *lock_fd, char *why, size_t len)
{
	struct stat st;
	int fd;

	if (!lstat(how->path, &st)) {
		if (S_ISDIR(st.st_mode))
			return refuse(why, len, how->path, "is a directory");
		if (!how->overwrite)
			return refuse(why, len, how->path,
				      "exists already; use another name, or --force-overwrite=true "
				      "to replace it");
		if (!S_ISREG(st.st_mode))
			return refuse(why, len, how->path, "is no regular file: not replaced");
		if (remove_old(how, why, len))
			return -1;
	}
	fd = open(how->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse(why, len, how->path, strerror(errno));
	*lock_fd = fd;
	if (db_lock(how->path, fd, why, len))
		return -1;
	/* A report may have been removed without its log. */
	db_unlink_logs(how->path);
	return 0;
}

static int lock_again(const char *path, int *lock_fd, char *why, size_t len)
{
	*lock_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (*lock_fd < 0)
		return refuse(why, len, path, strerror(errno));
	return db_lock(path, *lock_fd, why, len);
}

bool db_is_read(const struct db *db)
{
	struct flock l = {.l_type = F_WRLCK,
			  .l_whence = SEEK_SET,
			  .l_start = REPORT_WATCH_FROM,
			  .l_len = REPORT_WATCH_AT + 1 - REPORT_WATCH_FROM};

	return db->file.lock >= 0 && fcntl(db->file.lock, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

int db_folder(const struct db *db)
{
	const char *slash = strrchr(db->path, '/');
	char *folder = slash ? strndup(db->path, (size_t)(slash - db->path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, err = -errno;
	struct stat st, own;

	free(folder);
	if (fd < 0)
		return err;
	if (fstatat(fd, slash ? slash + 1 : db->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(db->file.lock, &own) == 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Before the first connection; afterwards these calls fail, which costs speed only. */
static void sqlite_setup(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* The report's path without links: of its folder, and where it was there before, of the file. malloc'd. */
static char *real_path(const struct db *db, bool resume)
{
	const char *slash = strrchr(db->path, '/');
	char *folder, *real, *path = NULL;

	if (resume)
		return realpath(db->path, NULL);
	folder = strndup(db->path, (size_t)(slash - db->path) + 1);
	real = folder ? realpath(folder, NULL) : NULL;
	if (real && asprintf(&path, "%s/%s", real[1] ? real : "", slash + 1) < 0)
		path = NULL;
	free(folder);
	free(real);
	return path;
}

static bool is_own(const struct db *db, const struct stat *st)
{
	struct stat own;

	return S_ISREG(st->st_mode) && st->st_nlink <= 1 && fstat(db->file.lock, &own) == 0 &&
	       (st->st_uid == geteuid() || st->st_uid == own.st_uid);
}

/*
 * SQLite opens names, which another user may exchange in a folder that is not ours alone. Its
 * descriptors show the files that it has opened: the file that db_open() made or locked, and a log
 * of this user. 0, or -ESTALE.
 */
static int check_files(const struct db *db, const char *real)
{
	DIR *d = opendir("/proc/self/fd");
	size_t len = strlen(real);
	bool found = false;
	const struct dirent *e;
	int err = 0;

	while (d && !err && (e = readdir(d))) {
		int fd = (int)strtol(e->d_name, NULL, 10);
		char link[PATH_MAX + 16];
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		struct stat st, own;

		if (n < (ssize_t)len || memcmp(link, real, len) != 0 || fd == db->file.lock ||
		    fstat(fd, &st) < 0)
			continue;
		link[n] = 0;
		if (strcmp(link + len, "-wal") == 0 || strcmp(link + len, "-shm") == 0)
			err = is_own(db, &st) ? 0 : -ESTALE;
		else if (!link[len] && fstat(db->file.lock, &own) == 0)
			found |= st.st_dev == own.st_dev && st.st_ino == own.st_ino;
	}
	if (!d)
		return 0; /* no /proc */
	closedir(d);
	return err ? err : found ? 0 : -ESTALE;
}

void db_unlink_own_logs(const struct db *db)
{
	DIR *d = opendir("/proc/self/fd");
	size_t len = strlen(db->file.real);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		char link[PATH_MAX + 16];
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		struct stat st, there;

		if (n < (ssize_t)len || memcmp(link, db->file.real, len) != 0)
			continue;
		link[n] = 0;
		if ((strcmp(link + len, "-wal") == 0 || strcmp(link + len, "-shm") == 0) &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0 && is_own(db, &st) &&
		    lstat(link, &there) == 0 && there.st_dev == st.st_dev &&
		    there.st_ino == st.st_ino)
			unlink(link);
	}
	if (d)
		closedir(d);
}

static int connect_file(struct db *db, const char *real)
{
	sqlite3_stmt *stmt;
	int rc, err;

	rc = sqlite3_open_v2(real, &db->sql,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			     db_vfs());
	if (rc != SQLITE_OK)
		return db_errno(rc);
	sqlite3_extended_result_codes(db->sql, 1);
	db_patience(db, DB_BUSY_MS);
	err = db_exec(db, "PRAGMA secure_delete = OFF; PRAGMA cache_size = -8192;"
			  "PRAGMA temp_store = MEMORY; PRAGMA synchronous = OFF;"
			  "PRAGMA journal_size_limit = 16777216");
	if (!err)
		err = db_prepare(db, "PRAGMA journal_mode = WAL", &stmt);
	if (err)
		return err;
	/* Without shared memory (some network file systems) there is no WAL. */
	if (sqlite3_step(stmt) == SQLITE_ROW)
		db->wal.is_on = !strcmp((const char *)sqlite3_column_text(stmt, 0), "wal");
	err = db_errno(sqlite3_finalize(stmt));
	if (!err)
		err = db_prepare(db, "PRAGMA page_size", &stmt);
	if (err)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		db->wal.page_size = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	db_watch_wal(db);
	return 0;
}

static void iso_time(char *out, size_t len, time_t t, bool utc)
{
	struct tm tm;

	if (!(utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) ||
	    !strftime(out, len, "%Y-%m-%dT%H:%M:%S", &tm))
		out[0] = '\0';
}

int db_session_start(struct db *db, int64_t utc_epoch_ns, int64_t system_clock_ns)
{
	char utc[32], local[32], number[2][24];
	char *sql;
	int err;

	iso_time(utc, sizeof(utc), utc_epoch_ns / 1000000000, true);
	iso_time(local, sizeof(local), utc_epoch_ns / 1000000000, false);
	snprintf(number[0], sizeof(number[0]), "%lld", (long long)utc_epoch_ns);
	snprintf(number[1], sizeof(number[1]), "%lld", (long long)system_clock_ns);
	sql = sqlite3_mprintf("DELETE FROM main.TARGET_INFO_SESSION_START_TIME;"
			      "DELETE FROM main.ANALYSIS_DETAILS;"
			      "INSERT INTO main.TARGET_INFO_SESSION_START_TIME "
			      "VALUES(%s, %Q, %Q, %s, NULL);"
			      "INSERT INTO main.ANALYSIS_DETAILS VALUES(%lld, 0, %s, %s)",
			      number[0], utc, local, number[1], (long long)DB_GLOBAL_VID, number[1],
			      number[1]);
	err = db_fail(db, sql ? sqlite3_exec(db->sql, sql, NULL, NULL, NULL) : SQLITE_NOMEM);
	sqlite3_free(sql);
	db->time.start_clock = system_clock_ns;
	return err;
}

static void first_rows(struct db *db, const struct db_open *how)
{
	char utc[32], local[32], *abs = realpath(db->path, NULL), host[HOST_NAME_MAX + 1];
	const char *slash = strrchr(db->path, '/');

	db_session_start(db, how->utc_epoch_ns, how->system_clock_ns);
	iso_time(utc, sizeof(utc), how->utc_epoch_ns / 1000000000, true);
	iso_time(local, sizeof(local), how->utc_epoch_ns / 1000000000, false);
	if (gethostname(host, sizeof(host)))
		host[0] = '\0';
	host[HOST_NAME_MAX] = '\0';
	db_meta_export(db, "EXPORT_PRODUCT_NAME", DB_PRODUCT);
	db_meta_export(db, "EXPORT_PRODUCT_VERSION", SL_VERSION);
	db_meta_export(db, "EXPORT_SCHEMA_VERSION", DB_SCHEMA_VERSION);
	db_meta_export(db, "EXPORT_SCHEMA_VERSION_MAJOR", "3");
	db_meta_export(db, "EXPORT_SCHEMA_VERSION_MINOR", "28");
	db_meta_export(db, "EXPORT_SCHEMA_VERSION_MICRO", "1");
	db_meta_export(db, "EXPORT_PLATFORM", "linux");
#if defined(__x86_64__)
	db_meta_export(db, "EXPORT_ARCH", "x64");
#elif defined(__aarch64__)
	db_meta_export(db, "EXPORT_ARCH", "arm64");
#endif
	db_meta_export(db, "EXPORT_TIME_UTC", utc);
	db_meta_export(db, "EXPORT_TIME_LOCAL", local);
	db_meta_export(db, "EXPORT_HOST", host);
	db_meta_export(db, "EXPORT_PARAM_EXPORT_TYPE", "SQLite");
	db_meta_export(db, "EXPORT_PARAM_OUTPUT_FILE", slash ? slash + 1 : db->path);
	db_meta_export(db, "EXPORT_PARAM_OUTPUT_PATH_ABS", abs ? abs : db->path);
	db_meta_export(db, "EXPORT_PARAM_LAZY", "true");
	db_meta_export(db, "SL_COMPLETE", "0");
	free(abs);
}

static int fill_new(struct db *db, const struct db_open *how)
{
	db_string(db, "", 0); /* id 0 */
	first_rows(db, how);
	return db_commit(db, 0);
}

static struct db *db_new(const char *path)
{
	struct db *db = calloc(1, sizeof(*db));

	if (!db)
		return NULL;
	db->file.ballast = -1;
	db->commit = db_commit;
	/* SQLite takes "file:..." for a URI. */
	if (asprintf(&db->path, "%s%s", strchr(path, '/') ? "" : "./", path) < 0) {
		free(db);
		return NULL;
	}
	return db;
}

/* SQLite has no error of its own for a lack of descriptors. */
static const char *reason(int err)
{
	if (err == -ESTALE)
		return "another process replaced it while it was opened";
	if (err == -ENOSPC)
		return "no room on the disk";
	if (err == -EIO && limits_free_descriptors() < 4)
		return "too few descriptors (ulimit -n)";
	return strerror(-err);
}

struct db *db_open(const struct db_open *how, char *why, size_t why_len)
{
	char *real;
	struct db *db;
	int err, lock_fd = -1;

	sqlite_setup();
	err = how->resume ? lock_again(how->path, &lock_fd, why, why_len)
			  : create_file(how, &lock_fd, why, why_len);
	db = err ? NULL : db_new(how->path);
	if (!db) {
		if (!err)
			refuse(why, why_len, how->path, strerror(ENOMEM));
		if (lock_fd >= 0)
			close(lock_fd);
		return NULL;
	}
	db->file.lock = lock_fd;
	if (how->resume && db_check_resume(db->path, why, why_len))
		goto out;
	real = real_path(db, how->resume);
	if (!real) {
		refuse(why, why_len, how->path, strerror(errno));
		goto out;
	}
	err = db_schema_init(db);
	if (!err && !how->resume)
		err = db_schema_write(db);
	if (!err)
		err = connect_file(db, real);
	if (!err)
		err = db_strings_init(db);
	if (!err)
		err = row_batch_init(db);
	if (!err)
		err = how->resume ? db_resume(db) : fill_new(db, how);
	if (!err)
		err = check_files(db, real);
	db->file.real = real;
	db_watch_size(db);
	if (!err) {
		if (!how->is_scratch)
			db_ballast_plan(db);
		return db;
	}
	refuse(why, why_len, how->path, reason(err));
out:
	db_abandon(db);
	if (!how->resume) { /* nothing is better than half a report */
		db_unlink(how->path);
	}
	return NULL;
}

/* Closes the connection and frees everything; rows not committed are gone. */
void db_close(struct db *db)
{
	for (int i = 0; i < DB_STMTS; i++)
		sqlite3_finalize(db->stmt[i]);
	row_batch_finalize(db);
	db_nvtx_free(db);
	db_prefetch_free(db);
	sqlite3_close(db->sql);
	/* After SQLite let go: closing this descriptor would drop its locks. */
	if (db->file.lock >= 0)
		close(db->file.lock);
	db_ballast_drop(db);
	row_batch_free(db);
	db_strings_free(db);
	db_ops_free(db);
	free(db->scratch.text);
	free(db->file.real);
	free(db->path);
	free(db);
}

void db_abandon(struct db *db)
{
	if (!db)
		return;
	/* The log stays as it is: it is finished by another process, or removed with the file. */
	if (db->sql)
		sqlite3_db_config(db->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	db_close(db);
}
