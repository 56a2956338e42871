/* foreign_schema.c - texts of another database's schema: one CREATE of main is done, any other text is refused and does nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporters/read/foreign_schema.h"

static sqlite3 *open_copy(void)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	return db;
}

static int64_t count(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static void tables_indexes_and_views_are_made(void **state)
{
	static const char *const sql[] = {
		"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT DEFAULT 'x;y', c AS (a + 1))",
		"CREATE TABLE \"w;eird\"(a /* a comment; with a semicolon */ REFERENCES t(a));",
		"CREATE TABLE k(a TEXT PRIMARY KEY, b UNIQUE) WITHOUT ROWID",
		"CREATE INDEX i ON t(b) WHERE b IS NOT NULL -- a comment at its end",
		"CREATE UNIQUE INDEX j ON t(lower(b))",
		("CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n "
		 "WHERE x < 3) SELECT x, count(*) FROM n JOIN t ON a = x  ;  \n"),
		NULL,
	};
	sqlite3 *db = open_copy();

	(void)state;
	for (int i = 0; sql[i]; i++)
		assert_int_equal(foreign_schema_make(db, sql[i]), SQLITE_OK);
	/* The authorizer is gone: rows can be written. */
	assert_int_equal(
		sqlite3_exec(db, "INSERT INTO t(a, b) VALUES(1, 'p'), (2, 'q')", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(count(db, "SELECT count(*) FROM sqlite_master WHERE name IN ('t', "
				   "'w;eird', 'k', 'i', 'j', 'v')"),
			 6);
	sqlite3_close(db);
}

static void an_index_over_rows_that_are_there_is_filled(void **state)
{
	sqlite3 *db = open_copy();

	(void)state;
	assert_int_equal(foreign_schema_make(db, "CREATE TABLE t(a)"), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES(3), (1)", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(foreign_schema_make(db, "CREATE INDEX i ON t(a)"), SQLITE_OK);
	assert_int_equal(count(db, "SELECT a FROM t INDEXED BY i ORDER BY a"), 1);
	sqlite3_close(db);
}

static void another_text_is_refused_and_does_nothing(void **state)
{
	static const char *const sql[] = {
		"CREATE TABLE evil(a); CREATE TABLE second(b)",
		("CREATE VIEW evil AS SELECT 1; COMMIT; ATTACH 'evil-file' AS z; CREATE TABLE "
		 "z.k(v); BEGIN"),
		"CREATE TABLE evil(a); -- a comment behind it",
		"CREATE TABLE evil AS SELECT 1 AS a",
		"CREATE TEMP TABLE evil(a)",
		"CREATE TEMP VIEW evil AS SELECT 1",
		"CREATE TABLE temp.evil(a)",
		"CREATE TRIGGER evil AFTER INSERT ON kept BEGIN DELETE FROM kept; END",
		"CREATE VIRTUAL TABLE evil USING fts5(a)",
		"ATTACH 'evil-file' AS z",
		"PRAGMA writable_schema = ON",
		"PRAGMA journal_mode = WAL",
		"DROP TABLE kept",
		"DELETE FROM kept",
		"INSERT INTO kept VALUES(2)",
		"UPDATE kept SET a = 2",
		"ALTER TABLE kept RENAME TO evil",
		"SELECT a FROM kept",
		"BEGIN",
		"VACUUM INTO 'evil-file'",
		"",
		";",
		"-- nothing",
		NULL,
	};
	sqlite3 *db = open_copy();

	(void)state;
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE kept(a); INSERT INTO kept VALUES(1)", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	for (int i = 0; sql[i]; i++) {
		int rc = foreign_schema_make(db, sql[i]);

		if (rc == SQLITE_OK)
			fail_msg("done: %s", sql[i]);
		assert_int_equal(count(db, "SELECT count(*) FROM kept WHERE a = 1"), 1);
		assert_int_equal(count(db, "SELECT count(*) FROM sqlite_temp_master"), 0);
		assert_int_equal(
			count(db, "SELECT count(*) FROM sqlite_master WHERE name = 'second'"), 0);
		assert_int_equal(access("evil-file", F_OK), -1);
		assert_true(sqlite3_get_autocommit(db));
	}
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_indexes_and_views_are_made),
		cmocka_unit_test(an_index_over_rows_that_are_there_is_filled),
		cmocka_unit_test(another_text_is_refused_and_does_nothing),
	};

	return cmocka_run_group_tests_name("foreign_schema", tests, NULL, NULL);
}
