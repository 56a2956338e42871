/* hist.c - histograms, statistics and percentiles of small sets of values, and of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/sql/tables/hist_values.h"

static sqlite3 *db;

static int setup(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) != SQLITE_OK ||
	       hist_register(db, NULL, NULL) != SQLITE_OK;
}

static int teardown(void **state)
{
	(void)state;
	return sqlite3_close(db) != SQLITE_OK;
}

/* The only value of a query, as text. */
static const char *value(const char *sql)
{
	static char text[1024];
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	return text;
}

#define NUMBERS "WITH RECURSIVE c(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM c WHERE n < 9999) "

static void sl_hist_has_a_row_for_each_key(void **state)
{
	(void)state;
	assert_string_equal(
		value("SELECT count(*) FROM sl_hist_rows((SELECT sl_hist(1, 2) WHERE 0))"), "0");
	assert_string_equal(value("SELECT count(*) FROM sl_hist_rows(99)"), "0");
	/* keys of each type, in the order they came: a text is no blob, 1 no 1.0, NULL equals NULL */
	assert_string_equal(
		value("SELECT group_concat(quote(k0) || ' ' || n, ',') FROM sl_hist_rows((SELECT "
		      "sl_hist(column1, 5) FROM "
		      "(VALUES(NULL),('a'),(1),(NULL),('a'),(x'61'),(1.0))))"),
		"NULL 2,'a' 2,1 1,X'61' 1,1.0 1");
	/* a column beyond the keys is NULL */
	assert_string_equal(value("SELECT quote(k0) || quote(k1) FROM sl_hist_rows((SELECT "
				  "sl_hist(1, 5)))"),
			    "1NULL");
	/* 700 pairs of keys, each of 10000 / 700 values: 14 or 15 */
	assert_string_equal(
		value(NUMBERS
		      "SELECT count(*) || ' ' || sum(n) || ' ' || min(n) || ' ' || max(n) FROM "
		      "sl_hist_rows((SELECT sl_hist(n % 7, n % 100, n) FROM c))"),
		"700 10000 14 15");
}

static void sl_sums_adds_up_by_key(void **state)
{
	(void)state;
	/* NULL does not count; the sum of nothing but NULL is NULL; limits stay */
	assert_string_equal(
		value("SELECT group_concat(k0 || k1 || ':' || n || ' ' || total || ' ' || least || "
		      "' ' || most || ' ' || quote(others), ',') FROM sl_hist_rows((SELECT "
		      "sl_sums(column1, 'x', column2, column3) FROM "
		      "(VALUES(1, 5, 7), (2, -3, NULL), (1, NULL, 9), (1, 0, NULL), (2, 4, NULL), "
		      "(1, -6, 8), "
		      "(3, 9223372036854775807, 1), (3, 1, 2))))"),
		"1x:3 -1 -6 5 15,2x:2 1 -3 4 NULL,3x:2 9223372036854775807 1 9223372036854775807 "
		"3");
	assert_string_equal(
		value("SELECT count(*) FROM sl_hist_rows((SELECT sl_sums(1, 2, 3) WHERE 0))"), "0");
	assert_string_equal(value(NUMBERS
				  "SELECT count(*) || ' ' || sum(n) || ' ' || sum(total) FROM "
				  "sl_hist_rows((SELECT sl_sums(n % 7, n % 100, n, n) FROM c))"),
			    "700 10000 49995000");
}

/* Tables that are just full: a column beyond the keys is no value of another row. */
static void full_tables(void **state)
{
	char sql[512], want[32];

	(void)state;
	for (int cnt = 1; cnt <= 8192; cnt *= 2) {
		snprintf(sql, sizeof(sql),
			 NUMBERS "SELECT count(k0) || ' ' || count(k1) || ' ' || count(k6) FROM "
				 "sl_hist_rows((SELECT sl_hist(n, 5) FROM c WHERE n < %d))",
			 cnt);
		snprintf(want, sizeof(want), "%d 0 0", cnt);
		assert_string_equal(value(sql), want);
	}
}

/* Filled from C: HIST_NULL stands for NULL, which counts and has no value. */
static void values_from_c(void **state)
{
	struct hist_of_db *of = NULL;
	struct group *group;
	struct hist *h;
	char sql[256];

	(void)state;
	assert_int_equal(hist_register(db, NULL, &of), SQLITE_OK);
	h = hist_new(of, 1);
	assert_non_null(h);
	assert_int_equal(hist_add_value(h, 7, 5, &group), SQLITE_OK);
	assert_int_equal(hist_add_value(h, 7, HIST_NULL, &group), SQLITE_OK);
	assert_int_equal(hist_add_value(h, 7, 9, &group), SQLITE_OK);
	group->extra = 3;
	assert_int_equal(hist_add_value(h, -1, HIST_NULL, &group), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(key || ':' || n || ' ' || quote(total) || ' ' || quote(min) "
		 "|| ' ' || "
		 "extra, ',') FROM sl_stats_rows(%lld)",
		 (long long)hist_done(h));
	assert_string_equal(value(sql), "7:3 14 5 3,-1:1 NULL NULL 0");
}

#define STATS                                                                           \
	"n || ' ' || quote(total) || ' ' || quote(min) || ' ' || quote(max) || ' ' || " \
	"quote(mean) || ' ' || quote(median) || ' ' || quote(round(stddev, 6))"

/* All statistics of the values of one key. */
static const char *stats(const char *values)
{
	char *sql =
		sqlite3_mprintf("SELECT " STATS " FROM sl_stats_rows((SELECT sl_stats(7, column1) "
				"FROM (VALUES %s)))",
				values);
	const char *text = value(sql);

	sqlite3_free(sql);
	return text;
}

static void sl_stats_computes_mean_median_and_deviation(void **state)
{
	(void)state;
	/* sum 108, mean 21.6, squares about it 7685.2, / 4 = 1921.3 */
	assert_string_equal(stats("(100), (2), (3), (1), (2)"), "5 108 1 100 21.6 2.0 43.832636");
	/* an even number: between the two in the middle */
	assert_string_equal(stats("(4), (1), (9), (2)"), "4 16 1 9 4.0 3.0 3.559026");
	assert_string_equal(stats("(8)"), "1 8 8 8 8.0 8.0 0.0");
	/* one real value makes all of them real: -1 - 2.5 + 4 + 3 */
	assert_string_equal(stats("(-1), (-2.5), (4), (3)"), "4 3.5 -2.5 4.0 0.875 1.0 3.119161");
	/* NULL counts, but has no value; it stands in front of all in the order of the median */
	assert_string_equal(stats("(NULL), (5), (NULL), (7), (9)"), "5 21 5 9 4.2 5.0 2.807134");
	assert_string_equal(stats("(NULL), (NULL)"), "2 NULL NULL NULL NULL NULL NULL");
	assert_string_equal(stats("(NULL)"), "1 NULL NULL NULL NULL NULL 0.0");
	/* a blob and a text are 0, as sum() has it */
	assert_string_equal(stats("(zeroblob(24)), ('x')"), "2 0.0 0.0 0.0 0.0 0.0 0.0");
	assert_string_equal(
		value("SELECT group_concat(quote(key) || n, ' ') FROM sl_stats_rows((SELECT "
		      "sl_stats(column1, 1) FROM (VALUES('b'), (NULL), ('b'), ('a'))))"),
		"'b'2 NULL1 'a'1");
	/* The total stops at the largest integer, and the table is made. */
	assert_string_equal(
		value("SELECT n || ' ' || total || ' ' || max FROM sl_stats_rows((SELECT "
		      "sl_stats(1, 9223372036854775807) FROM (VALUES(1), (2))))"),
		"2 9223372036854775807 9223372036854775807");
}

/*
 * Many values: 0...9999 in an order that no run of is sorted (7919 has no divisor in common with 10000), with gaps, often,
 * and real from the start or later. sum = n (n - 1) / 2; the squares about the mean are n (n^2 - 1) / 12.
 */
static void statistics_of_many_values_are_exact(void **state)
{
	static const struct {
		const char *value, *want;
	} cases[] = {
		{"n", "10000 49995000 0 9999 4999.5 4999.5 2886.89568"},
		{"-n", "10000 -49995000 -9999 0 -4999.5 -4999.5 2886.89568"},
		{"n * 7919 % 10000", "10000 49995000 0 9999 4999.5 4999.5 2886.89568"},
		{"n * 7919 % 10000 - 5000", "10000 -5000 -5000 4999 -0.5 -0.5 2886.89568"},
		/* 0, 1 and 2: 3334, 3333 and 3333 times */
		{"n % 3", "10000 9999 0 2 0.9999 1.0 0.816558"},
		/* quarters: exact in a double */
		{"n * 7919 % 10000 / 4.0",
		 "10000 12498750.0 0.0 2499.75 1249.875 1249.875 721.72392"},
		{"iif(n < 5000, n, n * 1.0)",
		 "10000 49995000.0 0.0 9999.0 4999.5 4999.5 2886.89568"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *direct =
			sqlite3_mprintf(NUMBERS "SELECT " STATS " FROM sl_stats_rows((SELECT "
						"sl_stats('all', %s) FROM c))",
					cases[i].value);
		/* the same from histograms of seven keys */
		char *merged =
			sqlite3_mprintf(NUMBERS "SELECT " STATS " FROM sl_stats_rows((SELECT "
						"sl_stats('all', hist) FROM sl_hist_rows((SELECT "
						"sl_hist(n %% 7, %s) FROM c))))",
					cases[i].value);

		assert_string_equal(value(direct), cases[i].want);
		assert_string_equal(value(merged), cases[i].want);
		sqlite3_free(direct);
		sqlite3_free(merged);
	}
}

/* A histogram is merged once: its values are gone then. */
static void a_histogram_is_merged_once(void **state)
{
	(void)state;
	assert_string_equal(
		value("SELECT group_concat(key || ' ' || n || ' ' || total, ',') FROM "
		      "sl_stats_rows((SELECT sl_stats(k0 % 2, hist) FROM sl_hist_rows((SELECT "
		      "sl_hist(column1, column2) FROM (VALUES(1, 10), (2, 5), (3, 7), (4, "
		      "NULL))))))"),
		"1 2 17,0 2 5");
	assert_int_equal(sqlite3_exec(db,
				      "SELECT * FROM sl_stats_rows((SELECT sl_stats(1, hist) FROM "
				      "(SELECT hist FROM sl_hist_rows((SELECT sl_hist(1, 2)))), "
				      "(VALUES(1), (2))))",
				      NULL, NULL, NULL),
			 SQLITE_MISUSE);
}

static void percentiles_are_parsed_and_computed(void **state)
{
	struct percentiles p = {.cnt = 0};
	char why[128], *sql;

	(void)state;
	assert_int_equal(percentiles_parse(&p, "50,99.9", why, sizeof(why)), 0);
	assert_int_equal(percentiles_parse(&p, NULL, why, sizeof(why)), 0);
	assert_int_equal(p.cnt, 2);
	assert_int_equal(p.each[1].num, 999);
	assert_int_equal(p.each[1].den, 1000);
	sql = percentiles_expand("SELECT 1/* percentiles: , x{i} * {den} >= {num} AS \"P{p}\"*/;",
				 &p);
	assert_string_equal(
		sql, "SELECT 1 , x0 * 100 >= 50 AS \"P50\" , x1 * 1000 >= 999 AS \"P99.9\";");
	free(sql);
	sql = percentiles_expand("SELECT 1/* percentiles: , x{i}*/;", NULL);
	assert_string_equal(sql, "SELECT 1;");
	free(sql);
	/* by nearest rank, of 10, 20, 30, 40: half of them do not exceed 20, 99.9 % not 40; half and a bit needs 30 */
	assert_int_equal(percentiles_parse(&p, "50.1,100", why, sizeof(why)), 0);
	assert_int_equal(hist_register(db, &p, NULL), SQLITE_OK);
	assert_string_equal(
		value("SELECT p0 || ' ' || p1 || ' ' || p2 || ' ' || p3 || quote(p4) FROM "
		      "sl_stats_rows((SELECT sl_stats(1, column1) FROM (VALUES(30), (10), "
		      "(40), (20))))"),
		"20 40 30 40NULL");
	assert_int_equal(percentiles_parse(&p, "1,2,3,4,5,6,7,8,9,10,11,12,13", why, sizeof(why)),
			 -1);
	assert_int_equal(percentiles_parse(&p, "1e1", why, sizeof(why)), -1);
	assert_int_equal(percentiles_parse(&p, "0", why, sizeof(why)), -1);
	assert_int_equal(percentiles_parse(&p, "100.1", why, sizeof(why)), -1);
}

static void sl_hist_values_gives_each_value_once_in_order(void **state)
{
	(void)state;
	assert_string_equal(
		value("SELECT group_concat(k0 || ':' || value || 'x' || times, ' ') FROM "
		      "sl_hist_rows((SELECT sl_hist(column1, column2) FROM "
		      "(VALUES(1,7),(2,9),(1,3),(1,7),(2,NULL),(1,7)))) CROSS JOIN "
		      "sl_hist_values(hist)"),
		"1:3x1 1:7x3 2:9x1");
	assert_string_equal(
		value("SELECT group_concat(value || 'x' || times, ' ') FROM sl_hist_rows((SELECT "
		      "sl_hist(1, column1) FROM (VALUES(0.5),(-2),(0.5)))) CROSS JOIN "
		      "sl_hist_values(hist)"),
		"-2.0x1 0.5x2");
	/* as many as are merged on the way */
	assert_string_equal(
		value(NUMBERS "SELECT count(*) || ' ' || sum(value) || ' ' || sum(times) || ' ' || "
			      "max(times) FROM sl_hist_rows((SELECT sl_hist(1, n * 7919 % 3000) "
			      "FROM c)) CROSS JOIN sl_hist_values(hist)"),
		"3000 4498500 10000 4");
	/* the histograms of a table of sl_stats() */
	assert_string_equal(
		value("SELECT group_concat(k0 || ':' || value || 'x' || times, ' ') FROM "
		      "sl_hist_rows((SELECT sl_stats('all', hist) FROM sl_hist_rows((SELECT "
		      "sl_hist(column1, column2) FROM (VALUES(1,7),(2,9),(2,7))))))"
		      " CROSS JOIN sl_hist_values(hist)"),
		"all:7x2 all:9x1");
	assert_string_equal(value("SELECT count(*) FROM sl_hist_values('no handle')"), "0");
	assert_string_equal(value("SELECT count(*) FROM sl_hist_values"), "0");
}

static void values_that_are_taken_while_they_are_read_are_none(void **state)
{
	(void)state;
	assert_string_equal(
		value("SELECT n || ' ' || total FROM sl_stats_rows((SELECT sl_stats(1, hist) FROM "
		      "sl_hist_rows((SELECT sl_hist(1, column1) FROM (VALUES(1),(2),(3)))) "
		      "CROSS JOIN sl_hist_values(hist)))"),
		"3 6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sl_hist_has_a_row_for_each_key, setup, teardown),
		cmocka_unit_test_setup_teardown(sl_sums_adds_up_by_key, setup, teardown),
		cmocka_unit_test_setup_teardown(sl_stats_computes_mean_median_and_deviation, setup,
						teardown),
		cmocka_unit_test_setup_teardown(statistics_of_many_values_are_exact, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_histogram_is_merged_once, setup, teardown),
		cmocka_unit_test_setup_teardown(percentiles_are_parsed_and_computed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(full_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(values_from_c, setup, teardown),
		cmocka_unit_test_setup_teardown(sl_hist_values_gives_each_value_once_in_order,
						setup, teardown),
		cmocka_unit_test_setup_teardown(values_that_are_taken_while_they_are_read_are_none,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
