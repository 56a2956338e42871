/* sql_rows.c - statements that are run once: all rows, the first row, a number, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/read/sql_rows.h"

static sqlite3 *db;

static int open_db(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) == SQLITE_OK &&
			       sqlite3_exec(db,
					    "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)",
					    NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : -1;
}

static int close_db(void **state)
{
	(void)state;
	return sqlite3_close(db) == SQLITE_OK ? 0 : -1; /* a statement that is left makes it fail */
}

static int add(void *ctx, sqlite3_stmt *stmt)
{
	int64_t *sum = ctx;

	*sum += sqlite3_column_int64(stmt, 0);
	return *sum < 3 ? SQLITE_OK : SQLITE_NOMEM;
}

static void rows_end_where_the_callback_says_so(void **state)
{
	int64_t sum = 0;

	(void)state;
	assert_int_equal(sql_rows(db, "SELECT a FROM t ORDER BY a", add, &sum), SQLITE_NOMEM);
	assert_int_equal(sum, 3);
	sum = -10;
	assert_int_equal(sql_rows(db, "SELECT a FROM t", add, &sum), SQLITE_OK);
	assert_int_equal(sum, -4);
	assert_int_equal(sql_rows(db, "SELECT b FROM t", add, &sum), SQLITE_ERROR);
	assert_int_equal(sql_rows(db, "SELECT abs(-9223372036854775807 - a) FROM t", add, &sum),
			 SQLITE_ERROR);
	assert_int_equal(sum, -4);
}

static void a_statement_stands_on_its_first_row(void **state)
{
	sqlite3_stmt *stmt = sql_first_of(db, "SELECT a FROM t WHERE a > ?1 ORDER BY a", 1);

	(void)state;
	assert_non_null(stmt);
	assert_int_equal(sqlite3_column_int64(stmt, 0), 2);
	sqlite3_finalize(stmt);
	assert_null(sql_first_of(db, "SELECT a FROM t WHERE a > ?1", 3));
	assert_null(sql_first_of(db, "SELECT b FROM t WHERE a > ?1", 3));
	assert_null(sql_first(db, "SELECT a FROM t WHERE a > 3"));
	assert_null(sql_first(db, "SELECT a FROM"));
}

static void a_number_that_is_not_there_is_the_other_one(void **state)
{
	(void)state;
	assert_int_equal(sql_number(db, "SELECT max(a) FROM t", -1), 3);
	assert_int_equal(sql_number(db, "SELECT max(a) FROM t WHERE a > 3", -1), -1);
	assert_int_equal(sql_number(db, "SELECT a FROM t WHERE a > 3", -1), -1);
	assert_int_equal(sql_number(db, "SELECT b FROM t", -1), -1);
}

static int add_value(void *ctx, sqlite3_value **v)
{
	int64_t *sum = ctx;

	*sum += sqlite3_value_int64(v[0]) * sqlite3_value_int64(v[1]);
	return *sum < 14 ? SQLITE_OK : SQLITE_FULL;
}

static void values_come_from_each_row_and_its_columns(void **state)
{
	int64_t sum = -1;

	(void)state;
	assert_int_equal(sql_values(db, "a, 2", "t WHERE a > 1", add_value, &sum), SQLITE_OK);
	assert_int_equal(sum, 9);
	assert_int_equal(sql_values(db, "a, a", "t WHERE a > 1", add_value, &sum), SQLITE_FULL);
	assert_int_equal(sum, 22);
	assert_int_equal(sql_values(db, "b", "t", add_value, &sum), SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), "no such column"));
	assert_int_equal(sqlite3_exec(db, "SELECT sl_read(1, 2)", NULL, NULL, NULL), SQLITE_MISUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_from_each_row_and_its_columns),
		cmocka_unit_test(rows_end_where_the_callback_says_so),
		cmocka_unit_test(a_statement_stands_on_its_first_row),
		cmocka_unit_test(a_number_that_is_not_there_is_the_other_one),
	};

	return cmocka_run_group_tests(tests, open_db, close_db);
}
