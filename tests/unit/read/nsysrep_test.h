/* nsysrep_test.h - a report of Nsight Systems made by hand, its database, and queries of it. */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "exporters/read/db_read.h"
#include "exporters/read/nsysrep/container.h"
#include "exporters/read/nsysrep/nsysrep.h"
#include "tests/unit/read/nsysrep_make.h"

static char dir[64], report[96], made[112], why[NSYSREP_WHY], notes[NSYSREP_WHY];
static struct rep r;
static struct proto m;
static sqlite3 *db;

static int make_folder(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/sl-nsysrep-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/x.nsys-rep", dir);
	snprintf(made, sizeof(made), "%s/made.sqlite", dir);
	return 0;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static int begin(void **state)
{
	(void)state;
	rep_init(&r);
	rep_basics(&r);
	proto_init(&m);
	*why = *notes = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	rep_free(&r);
	proto_free(&m);
	sqlite3_close(db);
	db = NULL;
	unlink(report);
	unlink(made);
	return 0;
}

static int is_one(void *ctx, int cnt, char **value, char **names)
{
	(void)ctx, (void)cnt, (void)names;
	return *value ? strcmp(*value, "1") : 1;
}

static int convert_file(void)
{
	int rc;

	unlink(made);
	close(open(made, O_CREAT | O_WRONLY, 0600));
	rc = nsysrep_convert(report, made, NULL, notes, why);
	sqlite3_close(db);
	db = NULL;
	if (rc < 0)
		return rc;
	assert_int_equal(sqlite3_open_v2(made, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "SELECT 1 / (integrity_check = 'ok') FROM pragma_integrity_check",
			     is_one, NULL, NULL),
		SQLITE_OK);
	return rc;
}

static inline int convert(void)
{
	assert_true(rep_write(&r, report));
	return convert_file();
}

/* All rows of a query as text: columns by '|', rows by ' ; '. NULL is "-". */
static inline const char *rows(const char *sql)
{
	static char text[4096];
	sqlite3_stmt *stmt = NULL;
	size_t at = 0;
	bool is_first = true;

	*text = 0;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return sqlite3_errmsg(db);
	while (sqlite3_step(stmt) == SQLITE_ROW && at < sizeof(text) - 256) {
		at += (size_t)sprintf(text + at, "%s", is_first ? "" : " ; ");
		is_first = false;
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *value = (const char *)sqlite3_column_text(stmt, i);

			at += (size_t)snprintf(text + at, 200, "%s%s", i ? "|" : "",
					       value ? value : "-");
		}
	}
	sqlite3_finalize(stmt);
	return text;
}

#define assert_rows(sql, want) assert_string_equal(rows(sql), want)
