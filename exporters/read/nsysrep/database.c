/*
 * database.c - where the database of a report is kept: beside it, else in the user's cache, as long as the report stays the same.
 *
 * It is written aside and renamed. Of which state of which file it was made is its row SL_SOURCE of META_DATA_EXPORT.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "collector/base/hash.h"
#include "collector/base/message.h"
#include "collector/base/new_file.h"
#include "collector/base/now.h"
#include "collector/base/plain_file.h"
#include "collector/base/stop_signal.h"
#include "exporters/read/nsysrep/nsysrep.h"

#define FORMAT      1 /* of what is made: another number, and all databases are made anew */
#define SAMPLE      65536u
#define SOURCE_SIZE 96
#define SHOW_AFTER  INT64_C(500000000)
#define SHOW_EACH   INT64_C(200000000)

/* ---- which file it was made of ---- */

/* The size and the time of the last change of the file, and a hash of its first and last bytes: the last ones name all of its parts. */
static bool read_source(const char *path, char source[SOURCE_SIZE], uint64_t *content, mode_t *mode)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	char *bytes = fd >= 0 ? malloc(SAMPLE) : NULL;
	ssize_t first = bytes ? pread(fd, bytes, SAMPLE, 0) : -1, last = -1;

	if (first >= 0) {
		*content = hash_bytes((uint64_t)st.st_size, bytes, (size_t)first);
		last = pread(fd, bytes, SAMPLE, st.st_size > SAMPLE ? st.st_size - SAMPLE : 0);
	}
	if (last >= 0) {
		*content = hash_bytes(*content, bytes, (size_t)last);
		*mode = st.st_mode;
		snprintf(source, SOURCE_SIZE, "%d %s %lld %lld.%09ld %016" PRIx64, FORMAT,
			 SL_VERSION, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
			 st.st_mtim.tv_nsec, *content);
	}
	free(bytes);
	if (fd >= 0)
		close(fd);
	return last >= 0;
}

/* The file is as long as SQLite's header counts pages. */
static bool is_whole(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	bool is = fd >= 0 &&
		  sqlite3_prepare_v2(db,
				     "SELECT page_count * page_size FROM pragma_page_count, "
				     "pragma_page_size",
				     -1, &stmt, NULL) == SQLITE_OK &&
		  sqlite3_step(stmt) == SQLITE_ROW &&
		  sqlite3_column_int64(stmt, 0) == (int64_t)st.st_size;

	sqlite3_finalize(stmt);
	if (fd >= 0)
		close(fd);
	return is;
}

enum state {
	NONE,  /* there is none */
	OTHER, /* of another state of the file, or damaged: ours */
	READY,
};

static enum state look(const char *path, const char *source)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	enum state state = OTHER;
	struct stat st;
	const char *text;
	int fd = plain_file_open(path, true, &st);

	if (fd < 0)
		return NONE;
	close(fd);
	/* Another user could have made it, to be taken for what the report holds. */
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return OTHER;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
		    SQLITE_OK &&
	    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db,
			       "SELECT value FROM main.META_DATA_EXPORT WHERE name = 'SL_SOURCE'",
			       -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW &&
	    (text = (const char *)sqlite3_column_text(stmt, 0)) != NULL &&
	    strcmp(text, source) == 0 && is_whole(db, path))
		state = READY;
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return state;
}

static bool write_source(const char *path, const char *source)
{
	sqlite3 *db = NULL;
	char *sql = sqlite3_mprintf("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; INSERT INTO "
				    "META_DATA_EXPORT VALUES ('SL_SOURCE', %Q)",
				    source);
	bool ok = sql &&
		  sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
			  SQLITE_OK &&
		  sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	sqlite3_free(sql);
	return sqlite3_close(db) == SQLITE_OK && ok;
}

/* ---- progress ---- */

struct progress {
	bool show, shown;
	int64_t began, told;
};

static int step(void *ctx, uint64_t done, uint64_t total)
{
	struct progress *p = ctx;
	int64_t now = mono_ns();

	if (stop_signal_pending())
		return -1;
	if (!p->show || now - p->began < SHOW_AFTER || now - p->told < SHOW_EACH)
		return 0;
	p->told = now;
	p->shown = true;
	fprintf(stderr, "\rreading the report of nsys: %.0f %%, %.0f MB/s \033[K",
		total ? 100.0 * (double)done / (double)total : 100,
		(double)done * 1e3 / (double)(now - p->began));
	return 0;
}

/* A signal shall not leave half a database: it comes after the file is gone. */
static void hold_signals(sigset_t *before)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGQUIT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, before);
}

/* ---- making it ---- */

static int copy(const char *path, const char *target, nsysrep_converter convert, char *why)
{
	struct progress p = {.show = isatty(STDERR_FILENO), .began = mono_ns()};
	const struct nsysrep_progress progress = {step, &p};
	char notes[NSYSREP_WHY];
	sigset_t before;
	int rc;

	hold_signals(&before);
	rc = convert(path, target, &progress, notes, why);
	if (p.shown)
		fputs("\r\033[K", stderr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0 && *notes)
		sl_warn("%s: %s%s", path, notes,
			convert == nsysrep_convert ? ": 'nsys export' may know them" : "");
	return rc;
}

int nsysrep_copy(const char *path, const char *target, char *why)
{
	return copy(path, target, nsysrep_convert, why);
}

/* 0; -1 with @why; 1: no file can be made there, with @why. */
static int make(const char *path, const char *to, const char *source, mode_t mode,
		nsysrep_converter convert, char *why)
{
	char *temp = NULL;
	sigset_t before;
	struct stat st;
	int fd, rc, err = 0;

	hold_signals(&before);
	fd = new_file_open(to, &temp);
	if (fd < 0) {
		snprintf(why, NSYSREP_WHY, "%s: %s", to, new_file_error(fd));
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return 1;
	}
	/* Users without the right to read the report have none to read its database. */
	if (fstat(fd, &st) == 0)
		fchmod(fd, st.st_mode & ((mode & (S_IRGRP | S_IROTH)) | S_IRUSR | S_IWUSR));
	close(fd);
	rc = copy(path, temp, convert, why);
	if (rc == 0)
		err = write_source(temp, source) ? new_file_place(temp, to, true) : -EIO;
	if (err) {
		snprintf(why, NSYSREP_WHY, "%s: %s", to, new_file_error(err));
		rc = 1;
	}
	if (rc != 0)
		unlink(temp);
	free(temp);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static char *name_of(const char *path, int place, uint64_t content)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *name = NULL;
	int len;

	if (place == 0)
		len = asprintf(&name, "%s.sqlite", path);
	else if (cache && *cache == '/')
		len = asprintf(&name, "%s/sightline/%016" PRIx64 ".nsys-rep.sqlite", cache,
			       content);
	else if (home && *home == '/')
		len = asprintf(&name, "%s/.cache/sightline/%016" PRIx64 ".nsys-rep.sqlite", home,
			       content);
	else
		return NULL;
	return len < 0 ? NULL : name;
}

static void make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
}

static char *find(const char *path, nsysrep_converter convert, char *why)
{
	char source[SOURCE_SIZE];
	uint64_t content = 0;
	mode_t mode = 0;
	int rc = 1;

	if (!read_source(path, source, &content, &mode)) {
		snprintf(why, NSYSREP_WHY, "%s: %s", path, strerror(errno));
		return NULL;
	}
	for (int place = 0; place < 2; place++) {
		char *name = name_of(path, place, content);

		if (name && look(name, source) == READY)
			return name;
		free(name);
	}
	for (int place = 0; place < 2 && rc > 0; place++) {
		char *name = name_of(path, place, content);

		if (!name)
			continue;
		if (place == 1)
			make_folders(name);
		rc = make(path, name, source, mode, convert, why);
		if (rc == 0)
			return name;
		free(name);
	}
	return NULL;
}

char *nsysrep_database_by(const char *path, nsysrep_converter convert, char *why, size_t why_len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char reason[NSYSREP_WHY] = "";
	char *name;

	pthread_mutex_lock(&lock); /* tables are made by several threads */
	name = find(path, convert, reason);
	pthread_mutex_unlock(&lock);
	if (!name)
		snprintf(why, why_len, "%s", reason);
	return name;
}

char *nsysrep_database(const char *path, char *why, size_t why_len)
{
	return nsysrep_database_by(path, nsysrep_convert, why, why_len);
}
