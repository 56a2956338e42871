/* db_test.h - what the tests of the report's writer share. Include it first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/report/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char test_dir[64], test_path[96];

static inline int test_setup(void **state)
{
	(void)state;
	snprintf(test_dir, sizeof(test_dir), "/tmp/sl-db-XXXXXX");
	if (!mkdtemp(test_dir))
		return -1;
	snprintf(test_path, sizeof(test_path), "%s/report.sqlite", test_dir);
	return 0;
}

static inline int test_teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", test_dir);
	return system(cmd);
}

/* Detaches the file system of a test: a process that asks for the room of every disk may hold it for a moment, and umount() fails. */
static inline void test_unmount(void)
{
	assert_int_equal(umount2(test_dir, MNT_DETACH), 0);
}

/* Fails the test with the reason when the report cannot be opened. */
static inline struct db *test_open(bool resume)
{
	struct db_open how = {.path = test_path,
			      .resume = resume,
			      .utc_epoch_ns = 1700000000123456789,
			      .system_clock_ns = 5000};
	char why[256] = "";
	struct db *db = db_open(&how, why, sizeof(why));

	if (!db)
		fail_msg("%s", why);
	return db;
}

/* First column of the first row as text, "(none)" without a row, "error: ..."; in a static buffer. */
static inline const char *ask_file(const char *path, const char *sql)
{
	static char answer[4096];
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		snprintf(answer, sizeof(answer), "%s",
			 sqlite3_column_text(stmt, 0) ? (const char *)sqlite3_column_text(stmt, 0)
						      : "NULL");
	else if (rc == SQLITE_DONE)
		snprintf(answer, sizeof(answer), "(none)");
	else
		snprintf(answer, sizeof(answer), "error: %s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return answer;
}

static inline const char *ask(const char *sql)
{
	return ask_file(test_path, sql);
}

static inline void add_call(struct db *db, int64_t start)
{
	int64_t *r = db_row(db, DB_OSRT_API);

	for (int i = 0; i < OSRT_COL_CNT; i++)
		r[i] = DB_NULL;
	r[OSRT_START] = start;
	r[OSRT_END] = start + 10;
	r[OSRT_EVENT_CLASS] = 27;
}
