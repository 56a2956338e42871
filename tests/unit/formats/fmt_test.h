/*
 * fmt_test.h - what the tests of the formats share: reports made by SQL, exports of them in memory, in a folder or
 * in a file. Include it first.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "exporters/formats/export.h"

/* Process 100 with threads 100 and 101, process 200 with thread 200: 1 << 48 | pid << 24 | tid. */
#define P1  "281476654432256"
#define T1  "281476654432356"
#define T1B "281476654432357"
#define P2  "281478332153856"
#define T2  "281478332154056"

#define NAMED                                                                        \
	"INSERT INTO PROCESSES VALUES (" P1 ", 100, 'app'), (" P2 ", 200, 'other');" \
	"INSERT INTO StringIds VALUES (1, 'main thread'), (2, 'worker');"            \
	"INSERT INTO ThreadNames VALUES (1, 20, " T1 "), (2, 20, " T1B ");"

/* Push/pop ranges of NVTX: start, end (or NULL), text as SQL, thread. */
#define RANGE(start, end, text, thread)                                                      \
	"INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES " \
	"(" #start ", " #end ", 59, " text ", " thread ", 0);"

/* A call of libc: start, end, number of the name, thread. */
#define CALL(start, end, name, thread)                                                      \
	"INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, "    \
	"nestingLevel, callchainId, argumentsId) VALUES (" #start ", " #end ", 27, " thread \
	", " #name ", 0, 0, 0, 0);"

static char fmt_dir[64], fmt_report_path[96], fmt_out_path[96];
static char fmt_why[1024];
static char *fmt_text; /* what the last export wrote, with a 0 behind it */
static size_t fmt_len;
static uint64_t fmt_events;

static inline int fmt_set_up(void **state)
{
	(void)state;
	snprintf(fmt_dir, sizeof(fmt_dir), "/tmp/sl-formats-XXXXXX");
	if (!mkdtemp(fmt_dir))
		return -1;
	snprintf(fmt_report_path, sizeof(fmt_report_path), "%s/report.sqlite", fmt_dir);
	snprintf(fmt_out_path, sizeof(fmt_out_path), "%s/out", fmt_dir);
	return 0;
}

static inline int fmt_tear_down(void **state)
{
	char cmd[128];

	(void)state;
	free(fmt_text);
	fmt_text = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", fmt_dir);
	return system(cmd);
}

static inline void fmt_sql(sqlite3 *db, const char *sql)
{
	char *said = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &said) != SQLITE_OK)
		fail_msg("%s: %s", said, sql);
}

/* Every table of the schema, then @sql. */
static inline void fmt_report(const char *sql)
{
	const struct embedded *schema = sl_embedded;
	sqlite3 *db;

	while (strcmp(schema->name, "schema.sql") != 0)
		schema++;
	unlink(fmt_report_path);
	assert_int_equal(sqlite3_open(fmt_report_path, &db), SQLITE_OK);
	fmt_sql(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN");
	fmt_sql(db, schema->text);
	fmt_sql(db, sql);
	fmt_sql(db, "COMMIT");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A file with no table but those of @sql. */
static inline void fmt_bare_report(const char *sql)
{
	sqlite3 *db;

	unlink(fmt_report_path);
	assert_int_equal(sqlite3_open(fmt_report_path, &db), SQLITE_OK);
	fmt_sql(db, "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
		    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
	fmt_sql(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline sqlite3 *fmt_open(void)
{
	sqlite3 *db = db_read_open(fmt_report_path, fmt_why, sizeof(fmt_why));

	if (!db)
		fail_msg("%s", fmt_why);
	return db;
}

static inline void fmt_read_fd(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);

	assert_true(size >= 0);
	free(fmt_text);
	fmt_text = calloc(1, (size_t)size + 1);
	fmt_len = (size_t)size;
	assert_non_null(fmt_text);
	assert_int_equal(pread(fd, fmt_text, fmt_len, 0), size);
}

/* The text of a file of the test's folder. */
static inline const char *fmt_file(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fmt_dir, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fail_msg("there is no %s", path);
	fmt_read_fd(fd);
	close(fd);
	return fmt_text;
}

static inline bool fmt_exists(const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", fmt_dir, name);
	return lstat(path, &st) == 0;
}

static inline struct export_job fmt_job(const struct exporter *e, sqlite3 *db,
					const struct export_options *opt)
{
	struct export_job job = {.db = db,
				 .input = fmt_report_path,
				 .output = "result",
				 .path = fmt_out_path,
				 .opt = opt ? *opt : (struct export_options){.lazy = true}};

	job.opt.quiet = true;
	job.timeline.activities = job.opt.activities ? job.opt.activities : e->activities;
	job.timeline.shift = job.opt.shift;
	return job;
}

/* Runs an exporter of any shape on an open report. What a stream holds is in fmt_text, why it failed in fmt_why. */
static inline int fmt_run_on(sqlite3 *db, const struct exporter *e,
			     const struct export_options *opt)
{
	struct export_job job = fmt_job(e, db, opt);
	int fd = memfd_create("export", 0), copy = dup(fd), rc;
	struct out out;

	assert_true(fd >= 0 && copy >= 0);
	assert_int_equal(out_open(&out, fd, OUT_PLAIN), 0);
	if (e->shape == EXPORT_STREAM)
		job.out = &out;
	*fmt_why = '\0';
	rc = e->run(&job, fmt_why, sizeof(fmt_why));
	assert_int_equal(out_close(&out), 0);
	fmt_read_fd(copy);
	close(copy);
	fmt_events = job.events;
	return rc;
}

static inline int fmt_run(const struct exporter *e, const struct export_options *opt)
{
	sqlite3 *db = e->repairs ? db_read_open_damaged(fmt_report_path, fmt_why, sizeof(fmt_why))
				 : fmt_open();
	int rc;

	if (!db)
		fail_msg("%s", fmt_why);
	rc = fmt_run_on(db, e, opt);
	sqlite3_close(db);
	return rc;
}

/* What the exporter writes of a report; a failure fails the test. */
static inline const char *fmt_export(const struct exporter *e, const struct export_options *opt)
{
	if (fmt_run(e, opt) != 0)
		fail_msg("%s failed: %s", e->name, fmt_why);
	return fmt_text;
}

/* An exporter of folders, into a folder of its own. */
static inline void fmt_export_folder(const struct exporter *e, const struct export_options *opt)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s' && mkdir '%s'", fmt_out_path, fmt_out_path);
	assert_int_equal(system(cmd), 0);
	fmt_export(e, opt);
}

/* All rows of an answer: columns between '|', rows between line ends, NULL as "-". */
static inline const char *fmt_rows_of(const char *path, const char *sql)
{
	static char answer[65536];
	size_t at = 0;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(db), sql);
	*answer = '\0';
	while (sqlite3_step(stmt) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *text = (const char *)sqlite3_column_text(stmt, i);

			at += (size_t)snprintf(answer + at, sizeof(answer) - at, "%s%s",
					       i    ? "|"
					       : at ? "\n"
						    : "",
					       text ? text : "-");
			assert_true(at < sizeof(answer));
		}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return answer;
}

/* How often @part stands in @text. */
static inline unsigned fmt_count(const char *text, const char *part)
{
	unsigned cnt = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		cnt++;
	return cnt;
}

/* cmocka's messages cut long texts: both are shown up to where they differ. */
static inline void fmt_same(const char *got, const char *want)
{
	size_t at = 0;

	if (strcmp(got, want) == 0)
		return;
	while (got[at] && got[at] == want[at])
		at++;
	at = at > 60 ? at - 60 : 0;
	fail_msg("got  ...%.400s\nwant ...%.400s", got + at, want + at);
}

static inline void fmt_begins(const char *text, const char *want)
{
	if (strncmp(text, want, strlen(want)) != 0)
		fmt_same(text, want);
}
