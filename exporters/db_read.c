/*
 * db_read.c - opens a database read-only, says what is wrong with it, and evens out its schema.
 *
 * A view in the temp schema hides the table of the same name, so views are made only where the
 * table is absent or lacks a column: reports on a complete database read its tables directly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/db_read.h"

#define BUSY_MS 5000

/*
 * Sorts of millions of rows go through temporary files, in runs of about the cache's size. Runs that
 * fit the processor's cache sort fastest: 4 MiB beats 64 MiB, and keeps the process small.
 */
static const char settings[] =
	"PRAGMA temp_store=FILE; PRAGMA cache_size=-4096; PRAGMA query_only=OFF;";

static const struct table {
	const char *name;
	const char *columns; /* separated by spaces */
} tables[] = {
#define TABLE(name, columns) {#name, columns},
#include "exporters/compat.def"
#undef TABLE
};

#define TABLE_CNT (sizeof(tables) / sizeof(tables[0]))

/* ---- what kind of file is it ---- */

static uint32_t big32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* What SQLite itself would notice only when it gets to the missing page. */
static bool truncated(const unsigned char *head, off_t size, long long *want)
{
	uint32_t page = (uint32_t)head[16] << 8 | head[17];
	uint32_t pages = big32(head + 28);

	if (page == 1)
		page = 65536;
	*want = (long long)page * pages;
	return big32(head + 24) == big32(head + 92) && pages > 0 && size < *want;
}

static bool has_wal(const char *path)
{
	char wal[4096 + 8];
	struct stat st;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return stat(wal, &st) == 0;
}

/* Reads the file header. *immutable: it says WAL, but there is none to read or make. */
static int look(const char *path, bool damaged, bool *immutable, char *why, size_t why_len)
{
	unsigned char head[100] = {0};
	struct stat st;
	long long want;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0) {
		snprintf(why, why_len, "%s: %s", path, strerror(errno));
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, why_len, "%s is %s, not a report", path,
			 S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
		goto fail;
	}
	if (st.st_size == 0) {
		snprintf(why, why_len, "%s is empty", path);
		goto fail;
	}
	got = pread(fd, head, sizeof(head), 0);
	if (got < 16 || memcmp(head, "SQLite format 3", 16) != 0) {
		snprintf(why, why_len, "%s is not an SQLite database", path);
		goto fail;
	}
	*immutable = head[18] == 2 && !has_wal(path);
	if (got < (ssize_t)sizeof(head) ||
	    (!damaged && truncated(head, st.st_size, &want) && !has_wal(path))) {
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

/* file:PATH?immutable=1, with everything special escaped. */
static char *immutable_uri(const char *path)
{
	char *uri = malloc(strlen(path) * 3 + sizeof("file:?immutable=1"));
	char *p = uri;

	if (!uri)
		return NULL;
	p = stpcpy(p, "file:");
	for (; *path; path++) {
		if (strchr("?#%", *path) || (unsigned char)*path < 0x21)
			p += sprintf(p, "%%%02X", (unsigned char)*path);
		else
			*p++ = *path;
	}
	memcpy(p, "?immutable=1", sizeof("?immutable=1"));
	return uri;
}

static int open_file(const char *path, bool damaged, bool immutable, sqlite3 **db)
{
	char *uri = immutable ? immutable_uri(path) : NULL;
	int rc = sqlite3_open_v2(
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
	/* With this SQLite does not refuse a file that ends too early. It is read-only all the same. */
	if (damaged)
		sqlite3_db_config(*db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	rc = sqlite3_exec(*db, settings, NULL, NULL, NULL);
	return rc != SQLITE_OK ? rc
			       : sqlite3_exec(*db, "SELECT count(*) FROM main.sqlite_master", NULL,
					      NULL, NULL);
}

/* ---- one schema for all ---- */

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static const struct table *known_table(const char *name)
{
	for (size_t i = 0; i < TABLE_CNT; i++)
		if (sqlite3_stricmp(tables[i].name, name) == 0)
			return &tables[i];
	return NULL;
}

/* Columns of compat.def that the table of the file lacks, each as NULL. True when there are any. */
static bool add_missing(sqlite3_str *sql, sqlite3 *db, const struct table *t, const char *comma)
{
	bool there = has_column(db, t->name, NULL), any = false;

	for (const char *p = t->columns; *p;) {
		int len = (int)strcspn(p, " ");
		char column[64];

		snprintf(column, sizeof(column), "%.*s", len, p);
		p += len + (p[len] == ' ');
		if (there && has_column(db, t->name, column))
			continue;
		sqlite3_str_appendf(sql, "%sNULL AS \"%w\"", comma, column);
		comma = ", ";
		any = true;
	}
	return any;
}

static int exec_built(sqlite3 *db, sqlite3_str *sql, bool wanted)
{
	char *text = sqlite3_str_finish(sql);
	int rc = SQLITE_OK;

	if (!text)
		return SQLITE_NOMEM;
	if (wanted)
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return rc;
}

static int add_view(sqlite3 *db, const struct table *t)
{
	bool there = has_column(db, t->name, NULL);
	sqlite3_str *sql = sqlite3_str_new(db);
	bool needed = !there;

	sqlite3_str_appendf(sql, "CREATE TEMP VIEW \"%w\" AS SELECT %s", t->name, there ? "*" : "");
	needed |= add_missing(sql, db, t, there ? ", " : "");
	if (there)
		sqlite3_str_appendf(sql, " FROM main.\"%w\"", t->name);
	else
		sqlite3_str_appendf(sql, " WHERE 0");
	return exec_built(db, sql, needed);
}

int db_read_narrow(sqlite3 *db, const char *table, const char *from, const char *where)
{
	const struct table *known = known_table(table);
	sqlite3_str *sql = sqlite3_str_new(db);
	sqlite3_stmt *stmt = NULL;
	const char *comma = "";
	int rc = sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1, 'main')", -1, &stmt,
				    NULL);

	sqlite3_str_appendf(sql,
			    "DROP VIEW IF EXISTS temp.\"%w\"; CREATE TEMP VIEW \"%w\" AS SELECT ",
			    table, table);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		sqlite3_str_appendf(sql, "%s\"%w\"", comma,
				    (const char *)sqlite3_column_text(stmt, 0));
		comma = ", ";
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (known)
		add_missing(sql, db, known, comma);
	if (from)
		sqlite3_str_appendf(sql, " FROM %s WHERE %s", from, where);
	else
		sqlite3_str_appendf(sql, " FROM main.\"%w\" WHERE %s", table, where);
	if (rc == SQLITE_DONE)
		return exec_built(db, sql, true);
	sqlite3_free(sqlite3_str_finish(sql));
	return rc;
}

static int add_views(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	for (size_t i = 0; i < TABLE_CNT && rc == SQLITE_OK; i++)
		rc = add_view(db, &tables[i]);
	return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

bool db_read_has(sqlite3 *db, const char *what)
{
	size_t len = strcspn(what, ".");
	const char *column = what[len] ? what + len + 1 : NULL;
	char table[128];
	sqlite3_stmt *stmt = NULL;
	bool has = false;
	char *sql;

	snprintf(table, sizeof(table), "%.*s", (int)len, what);
	if (!has_column(db, table, column))
		return false;
	sql = column ? sqlite3_mprintf("SELECT 1 FROM main.\"%w\" WHERE \"%w\" IS NOT NULL LIMIT 1",
				       table, column)
		     : sqlite3_mprintf("SELECT 1 FROM main.\"%w\" LIMIT 1", table);
	if (sql && sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		has = sqlite3_step(stmt) !=
		      SQLITE_DONE; /* an error shows again in the report itself */
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return has;
}

static sqlite3 *open_report(const char *path, bool damaged, char *why, size_t why_len)
{
	bool immutable = false;
	sqlite3 *db = NULL;
	int rc;

	if (look(path, damaged, &immutable, why, why_len) < 0)
		return NULL;
	rc = open_file(path, damaged, immutable, &db);
	if (rc == SQLITE_OK && !has_column(db, "StringIds", NULL)) {
		snprintf(why, why_len,
			 "%s is an SQLite database, but no report: it has no table StringIds",
			 path);
		goto fail;
	}
	if (rc == SQLITE_OK)
		rc = add_views(db);
	if (rc == SQLITE_OK)
		return db;
	if ((rc & 0xFF) == SQLITE_CANTOPEN && has_wal(path))
		snprintf(why, why_len,
			 "%s is not finished and its folder cannot be written to: copy it and "
			 "%s-wal "
			 "elsewhere",
			 path, path);
	else if ((rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_NOTADB)
		snprintf(why, why_len, "%s is damaged: %s", path, db ? sqlite3_errmsg(db) : "");
	else
		snprintf(why, why_len, "%s: %s", path,
			 db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
fail:
	sqlite3_close(db);
	return NULL;
}

sqlite3 *db_read_open(const char *path, char *why, size_t why_len)
{
	return open_report(path, false, why, why_len);
}

sqlite3 *db_read_open_damaged(const char *path, char *why, size_t why_len)
{
	return open_report(path, true, why, why_len);
}
