/*
 * db_read.c - opens a database read-only, with one sentence about a fault. db_views.c evens out its schema.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "collector/base/file_uri.h"
#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/base/plain_file.h"
#include "exporters/read/db_read.h"
#include "exporters/read/db_views.h"
#include "exporters/read/functions.h"
#include "exporters/read/gpu_numbers.h"
#include "exporters/read/nsysrep/nsysrep.h"
#include "exporters/read/nvprof/nvprof.h"
#include "exporters/read/nvtx_domains.h"
#include "exporters/read/sums.h"

#define BUSY_MS 5000

/*
 * Sorts of millions of rows go through temporary files, in runs of about the cache's size. Runs that
 * fit the processor's cache sort fastest: 4 MiB beats 64 MiB, and keeps the process small.
 */
static const char settings[] =
	"PRAGMA temp_store=FILE; PRAGMA cache_size=-4096; PRAGMA query_only=OFF;";

/* ---- kind of the file ---- */

static uint32_t big32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Is the file cut off? SQLite itself would notice only at the missing page. */
static bool truncated(const unsigned char *head, off_t size, long long *want)
{
	uint32_t page = (uint32_t)head[16] << 8 | head[17];
	uint32_t pages = big32(head + 28);

	if (page == 1)
		page = 65536;
	*want = (long long)page * pages;
	return big32(head + 24) == big32(head + 92) && pages > 0 && size < *want;
}

static bool has_beside(const char *path, const char *suffix)
{
	char name[4096 + 8];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &st) == 0;
}

/*
 * How to open it so that nothing appears next to it. A database in WAL mode without a log needs none; with
 * a log, but no index of it (-shm), no process has it open, and the index is made in memory, which SQLite does
 * under an exclusive lock.
 */
enum opening {
	OPEN_PLAIN,
	OPEN_IMMUTABLE,
	OPEN_ALONE
};

static const char magic[] = "SQLite format 3";
#define MAGIC (ssize_t)sizeof(magic)

bool db_read_is_database(const char *path)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	char head[MAGIC];
	bool is = fd >= 0 && pread(fd, head, MAGIC, 0) == MAGIC && memcmp(head, magic, MAGIC) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Reads the file header. */
static int look(const char *path, bool damaged, enum opening *how, char *why, size_t why_len)
{
	unsigned char head[100] = {0};
	struct stat st;
	long long want;
	ssize_t got;
	int fd = -1;

	if (stat(path, &st) < 0) {
		snprintf(why, why_len, "%s: %s", path, strerror(errno));
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, why_len, "%s is %s, not a report", path,
			 S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
		goto fail;
	}
	fd = plain_file_open(path, true, &st);
	if (fd < 0) {
		snprintf(why, why_len, "%s: %s", path, strerror(errno));
		goto fail;
	}
	if (st.st_size == 0) {
		snprintf(why, why_len, "%s is empty", path);
		goto fail;
	}
	got = pread(fd, head, sizeof(head), 0);
	if (got < MAGIC || memcmp(head, magic, MAGIC) != 0) {
		char text[NSYSREP_WHY];

		nsysrep_say_foreign(fd, path, text);
		snprintf(why, why_len, "%s", text);
		goto fail;
	}
	*how = head[18] != 2               ? OPEN_PLAIN
	       : !has_beside(path, "-wal") ? OPEN_IMMUTABLE
	       : !has_beside(path, "-shm") ? OPEN_ALONE
					   : OPEN_PLAIN;
	if (got < (ssize_t)sizeof(head) ||
	    (!damaged && truncated(head, st.st_size, &want) && !has_beside(path, "-wal"))) {
		if (got < (ssize_t)sizeof(head))
			want = sizeof(head);
		snprintf(why, why_len, "%s is cut off: %lld of at least %lld bytes are there", path,
			 (long long)st.st_size, want);
		goto fail;
	}
	close(fd);
	return 0;
fail:
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * SQLite takes the rest of a page at the end of a file that was cut off for a whole one, filled up with zeros, and finds rows
 * in it. So the file ends, for it, with its last whole page. One such file is open at a time.
 */
static const sqlite3_io_methods *uncut;

static int size_in_pages(sqlite3_file *file, sqlite3_int64 *size)
{
	unsigned char bytes[2];
	sqlite3_int64 page;
	int rc = uncut->xFileSize(file, size);

	if (rc != SQLITE_OK || *size < 512 || uncut->xRead(file, bytes, 2, 16) != SQLITE_OK)
		return rc;
	page = bytes[0] << 8 | bytes[1];
	page = page == 1 ? 65536 : page;
	if (page >= 512)
		*size -= *size % page;
	return rc;
}

static void end_with_a_page(sqlite3 *db)
{
	static sqlite3_io_methods cut;
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    !file || !file->pMethods || file->pMethods == &cut)
		return;
	uncut = file->pMethods;
	cut = *uncut;
	cut.xFileSize = size_in_pages;
	file->pMethods = &cut;
}

/* SQLite's sums of its memory, which no code reads, have one lock for all threads. */
static void sqlite_setup(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int open_file(const char *path, bool damaged, enum opening how, sqlite3 **db)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *uri = how == OPEN_IMMUTABLE ? file_uri(path, "immutable=1")
		    : how == OPEN_ALONE   ? file_uri(path, "vfs=unix-none")
					  : NULL;
	int rc;

	pthread_once(&once, sqlite_setup);
	rc = sqlite3_open_v2(
		uri ? uri : path, db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (uri ? SQLITE_OPEN_URI : 0), NULL);

	free(uri);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_extended_result_codes(*db, 1);
	sqlite3_busy_timeout(*db, BUSY_MS);
	/* The file may come from anywhere: nothing in its schema may run functions with effects. */
	sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, !damaged, NULL);
	/* This setting makes SQLite accept a file that ends too early. The file is read-only all the same. */
	if (damaged) {
		sqlite3_db_config(*db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
		end_with_a_page(*db);
	}
	/* Before anything is read: then it is too late. */
	if (how == OPEN_ALONE)
		sqlite3_exec(*db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	rc = sqlite3_exec(*db, settings, NULL, NULL, NULL);
	return rc != SQLITE_OK ? rc
			       : sqlite3_exec(*db, "SELECT count(*) FROM main.sqlite_master", NULL,
					      NULL, NULL);
}

/* ---- views ---- */

#define STEPS        16 /* between two calls of the handler: one may search a whole value */
#define VALUE_MAX    (1 << 20)
#define LIKE_MAX     1000
#define SECOND_NS    INT64_C(1000000000)
#define LEAST_NS     (60 * SECOND_NS)
#define BYTES_SECOND (4 << 20) /* of the report: a second more */

int64_t db_read_view_steps = 1000;
/* Limits for all connections: calls of the handler, and the time of their end; INT64_MAX: no limit. */
static int64_t calls_left = INT64_MAX, views_until;

bool db_read_is_spent(void)
{
	static bool has_said;

	if (__atomic_load_n(&calls_left, __ATOMIC_RELAXED) == INT64_MAX ||
	    (__atomic_sub_fetch(&calls_left, 1, __ATOMIC_RELAXED) > 0 &&
	     mono_coarse_ns() < __atomic_load_n(&views_until, __ATOMIC_RELAXED)))
		return false;
	if (!__atomic_exchange_n(&has_said, true, __ATOMIC_RELAXED))
		sl_warn("views in the report do not end: stopped reading them");
	return true;
}

static int on_steps(void *unused)
{
	(void)unused;
	return db_read_is_spent();
}

static bool is_of_schema(const char *view)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			return view && strstr(e->text, view);
	return false;
}

static void limit_views(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	bool is_limited = false;
	struct stat st;

	if (sqlite3_prepare_v2(db, "SELECT sql FROM main.sqlite_master WHERE type = 'view'", -1,
			       &stmt, NULL) == SQLITE_OK)
		while (!is_limited && sqlite3_step(stmt) == SQLITE_ROW)
			is_limited = !is_of_schema((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	if (!is_limited)
		return;
	if (__atomic_load_n(&calls_left, __ATOMIC_RELAXED) == INT64_MAX && stat(path, &st) == 0) {
		__atomic_store_n(&views_until,
				 mono_coarse_ns() + LEAST_NS +
					 st.st_size / BYTES_SECOND * SECOND_NS,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&calls_left,
				 (db_read_view_steps * 1000000 + st.st_size * 256) / STEPS + 1,
				 __ATOMIC_RELAXED);
	}
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_MAX);
	sqlite3_progress_handler(db, STEPS, on_steps, NULL);
}

/* ---- version ---- */

#define SCHEMA_MAJOR 3 /* of the export schema of nsys that is known here, in full 3.28.1 */
#define SCHEMA_MINOR 28

/* Reads the version in META_DATA_EXPORT; zeros where there is none, as in reports from before 2022. */
static void read_version(sqlite3 *db, int *major, int *minor)
{
	sqlite3_stmt *stmt = NULL;
	const char *text;

	*major = *minor = 0;
	if (sqlite3_prepare_v2(
		    db, "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'",
		    -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW &&
	    (text = (const char *)sqlite3_column_text(stmt, 0)) &&
	    sscanf(text, "%d.%d", major, minor) < 1)
		*major = *minor = 0;
	sqlite3_finalize(stmt);
}

/*
 * Another major version means tables of another shape: reading such tables would give wrong figures, so the user must ask for
 * it. Of a later minor version all tables and columns known by name are right; one warning per file mentions the version, as
 * renamed ones read as absent.
 */
static int check_version(sqlite3 *db, const char *path, char *why, size_t why_len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *warned_of;
	int major, minor;

	read_version(db, &major, &minor);
	if (major <= SCHEMA_MAJOR && (major < SCHEMA_MAJOR || minor <= SCHEMA_MINOR))
		return 0;
	if (major > SCHEMA_MAJOR && !getenv("SIGHTLINE_ANY_SCHEMA")) {
		snprintf(why, why_len,
			 "%s has schema %d.%d, which is newer than %d.%d known here; "
			 "SIGHTLINE_ANY_SCHEMA=1 reads it nevertheless",
			 path, major, minor, SCHEMA_MAJOR, SCHEMA_MINOR);
		return -1;
	}
	pthread_mutex_lock(&lock); /* tables are made by several threads */
	if (!warned_of || strcmp(warned_of, path) != 0) {
		sl_warn("%s has schema %d.%d, which is newer than %d.%d known here: what has new "
			"names in it reads as absent",
			path, major, minor, SCHEMA_MAJOR, SCHEMA_MINOR);
		free(warned_of);
		warned_of = strdup(path);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* @is_nvprof: it is a database of nvprof, which is no report yet. */
static sqlite3 *open_report(const char *path, bool damaged, bool *is_nvprof, char *why,
			    size_t why_len)
{
	enum opening how = OPEN_PLAIN;
	sqlite3 *db = NULL;
	int rc;

	if (look(path, damaged, &how, why, why_len) < 0)
		return NULL;
	rc = open_file(path, damaged, how, &db);
	if (rc == SQLITE_OK)
		rc = sums_register(db);
	if (rc == SQLITE_OK)
		rc = functions_register(db);
	if (rc == SQLITE_OK)
		rc = gpu_numbers_register(db);
	if (rc == SQLITE_OK)
		rc = nvtx_domains_register(db);
	if (rc == SQLITE_OK)
		limit_views(db, path);
	if (rc == SQLITE_OK && !db_read_has_column(db, "StringIds", NULL)) {
		*is_nvprof = nvprof_is(db);
		snprintf(why, why_len,
			 "%s is an SQLite database, but no report: it has no table StringIds",
			 path);
		goto fail;
	}
	if (rc == SQLITE_OK && check_version(db, path, why, why_len) < 0)
		goto fail;
	if (rc == SQLITE_OK)
		rc = db_read_add_views(db);
	if (rc == SQLITE_OK)
		return db;
	if ((rc & 0xFF) == SQLITE_CANTOPEN && has_beside(path, "-wal"))
		snprintf(why, why_len,
			 "%s is not finished and its folder cannot be written to: copy it and "
			 "%s-wal elsewhere",
			 path, path);
	else if (((rc & 0xFF) == SQLITE_READONLY || (rc & 0xFF) == SQLITE_CANTOPEN) &&
		 has_beside(path, "-journal"))
		snprintf(why, why_len,
			 "%s was being changed when its writer was killed: 'sightline recover' "
			 "undoes the change",
			 path);
	else if ((rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_NOTADB)
		snprintf(why, why_len, "%s is damaged: %s", path, db ? sqlite3_errmsg(db) : "");
	else
		snprintf(why, why_len, "%s: %s", path,
			 db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
fail:
	sqlite3_close(db);
	return NULL;
}

static sqlite3 *open_converted(const char *path, nsysrep_converter convert, bool damaged, char *why,
			       size_t why_len)
{
	char *database = nsysrep_database_by(path, convert, why, why_len);
	bool is_nvprof = false;
	sqlite3 *db = database ? open_report(database, damaged, &is_nvprof, why, why_len) : NULL;

	free(database);
	return db;
}

/* A report of Nsight Systems, or of nvprof, is read through the database that is made of it. */
static sqlite3 *open_any(const char *path, bool damaged, char *why, size_t why_len)
{
	bool is_nvprof = false;
	sqlite3 *db;

	if (nsysrep_is(path))
		return open_converted(path, nsysrep_convert, damaged, why, why_len);
	db = open_report(path, damaged, &is_nvprof, why, why_len);
	return is_nvprof ? open_converted(path, nvprof_convert, damaged, why, why_len) : db;
}

sqlite3 *db_read_open(const char *path, char *why, size_t why_len)
{
	return open_any(path, false, why, why_len);
}

sqlite3 *db_read_open_damaged(const char *path, char *why, size_t why_len)
{
	return open_any(path, true, why, why_len);
}

bool db_read_is_of_nsys(const char *path)
{
	return nsysrep_is(path);
}

int db_read_convert(const char *path, const char *target, char *why, size_t why_len)
{
	char reason[NSYSREP_WHY] = "";
	int rc = nsysrep_copy(path, target, reason);

	snprintf(why, why_len, "%s", reason);
	return rc;
}

bool db_read_has_writer(const char *path)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return is_held;
}

void db_read_copies(const char *path)
{
	struct stat st;
	mode_t mask;

	if (stat(path, &st) < 0)
		return;
	mask = umask(0);
	umask(mask | (st.st_mode & S_IRGRP ? 0 : S_IRWXG) | (st.st_mode & S_IROTH ? 0 : S_IRWXO));
}
