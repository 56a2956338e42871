/* views.c - views of a report: those of the schema are read to their end, others within a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/read/db_read.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void make(const char *sql)
{
	const struct embedded *schema = sl_embedded;
	sqlite3 *db;

	while (strcmp(schema->name, "schema.sql") != 0)
		schema++;
	snprintf(path, sizeof(path), "/tmp/sightline-views-%d.sqlite", (int)getpid());
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, schema->text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* SQLite's code of reading it all; some millions of steps. */
static int read_all(const char *sql)
{
	char why[512] = "";
	sqlite3 *db = db_read_open(path, why, sizeof(why));
	int rc;

	assert_non_null(db);
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
	return rc & 0xff;
}

#define LONG "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) "

static void views_of_the_schema_have_no_limit(void **state)
{
	(void)state;
	db_read_view_steps = 2;
	make("SELECT 1");
	assert_int_equal(read_all(LONG "SELECT count(*) FROM n"), SQLITE_OK);
	assert_false(db_read_is_spent());
	unlink(path);
}

static void an_endless_view_ends(void **state)
{
	(void)state;
	db_read_view_steps = 2;
	make("DROP TABLE OSRT_API; CREATE VIEW OSRT_API AS WITH RECURSIVE n(i) AS "
	     "(SELECT 1 UNION ALL SELECT i + 1 FROM n) "
	     "SELECT i AS start, i AS \"end\", 1 AS globalTid, 1 AS nameId FROM n");
	assert_int_equal(read_all("SELECT count(*) FROM OSRT_API"), SQLITE_INTERRUPT);
	/* All connections together: what many tables are read with ends, too. */
	assert_true(db_read_is_spent());
	unlink(path);
}

static void a_view_makes_no_huge_values(void **state)
{
	(void)state;
	db_read_view_steps = 2;
	make("DROP TABLE OSRT_API; CREATE VIEW OSRT_API AS SELECT hex(zeroblob(3000000)) AS start");
	assert_int_equal(read_all("SELECT count(start) FROM OSRT_API WHERE start > ''"),
			 SQLITE_TOOBIG);
	unlink(path);
}

/* Tables without rows do not count. */
static void needs_name_gpu_work_as_a_whole_or_by_kind(void **state)
{
	char why[256] = "";
	sqlite3 *db;

	(void)state;
	make("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, contextId, streamId, "
	     "value, bytes, memKind) VALUES (1, 2, 0, 1, 7, 0, 8, 2)");
	db = db_read_open(path, why, sizeof(why));
	assert_non_null(db);
	assert_true(db_read_has(db, "SL_GPU_WORK"));
	assert_true(db_read_has(db, "SL_GPU_WORK.kind=memset"));
	assert_false(db_read_has(db, "SL_GPU_WORK.kind=kernel"));
	assert_false(db_read_has(db, "SL_GPU_WORK.kind=memcpy"));
	assert_false(db_read_has(db, "SL_GPU_WORK.kind=mem"));
	sqlite3_close(db);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_of_the_schema_have_no_limit),
		cmocka_unit_test(a_view_makes_no_huge_values),
		cmocka_unit_test(needs_name_gpu_work_as_a_whole_or_by_kind),
		cmocka_unit_test(an_endless_view_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
