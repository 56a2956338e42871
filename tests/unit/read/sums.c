/* sums.c - sum() and abs() of a report's connection: SQLite's own results, and no failure where those overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporters/read/sums.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Each row's first column, a space after each. */
static const char *rows(bool is_ours, const char *sql)
{
	static char text[2][1024];
	char *to = text[is_ours];
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int rc;

	to[0] = 0;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	if (is_ours)
		assert_int_equal(sums_register(db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *cell = (const char *)sqlite3_column_text(stmt, 0);

		strncat(to, cell ? cell : "NULL", sizeof(text[0]) - strlen(to) - 2);
		strcat(to, " ");
	}
	if (rc != SQLITE_DONE)
		strcat(to, sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return to;
}

#define MOST  "9223372036854775807"
#define LEAST "-9223372036854775808"

static void sums_are_those_of_sqlite(void **state)
{
	static const char *const queries[] = {
		"SELECT sum(column1) FROM (VALUES (1), (2), (NULL))",
		"SELECT sum(column1) FROM (VALUES (NULL))",
		"SELECT sum(1) FROM (SELECT 1 WHERE 0)",
		"SELECT sum(column1) FROM (VALUES (1), (2.5), (-4))",
		"SELECT sum(column1) FROM (VALUES ('7'), ('x'), (x'31'))",
		"SELECT sum(DISTINCT column1) FROM (VALUES (3), (3), (4))",
		"SELECT sum(column1) FILTER (WHERE column1 > 1) FROM (VALUES (1), (2), (3))",
		"SELECT sum(column1) OVER (ORDER BY column1 ROWS BETWEEN 1 PRECEDING AND 1 "
		"FOLLOWING) FROM (VALUES (1), (2), (3.5), (NULL), (9), (10))",
		"SELECT sum(column1) OVER (ORDER BY column1 ROWS UNBOUNDED PRECEDING) FROM (VALUES "
		"(1), (2), (3))",
		"SELECT typeof(sum(column1)) FROM (VALUES (1), (2.0))",
		"SELECT sum(column1) FROM (VALUES (" MOST "), (-5), (" LEAST "))",
		"SELECT abs(column1) FROM (VALUES (1), (-2), (NULL), (-2.5), ('x'), ('-3'), "
		"(" MOST "))",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		assert_string_equal(rows(true, queries[i]), rows(false, queries[i]));
}

static void a_sum_that_is_too_large_is_the_largest_number(void **state)
{
	(void)state;
	assert_string_equal(rows(true, "SELECT sum(column1) FROM (VALUES (" MOST "), (1))"),
			    MOST " ");
	assert_string_equal(rows(true, "SELECT sum(column1) FROM (VALUES (" LEAST "), (-1))"),
			    LEAST " ");
	assert_string_equal(rows(true, "SELECT sum(column1) OVER (ROWS 1 PRECEDING) FROM (VALUES "
				       "(" MOST "), (1), (-3))"),
			    MOST " " MOST " -2 ");
	assert_string_equal(rows(true, "SELECT abs(" LEAST ")"), MOST " ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_sqlite),
		cmocka_unit_test(a_sum_that_is_too_large_is_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
