/* stats_hist.c - counting in a hash table gives what GROUP BY gives, and reports are the ones that use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/embed.h"
#include "exporters/hist_internal.h"

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
	static char text[256];
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	return text;
}

#define NUMBERS "WITH RECURSIVE c(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM c WHERE n < 9999) "

static void counts(void **state)
{
	(void)state;
	/* 700 different rows; their counts, squared, tell them from any other distribution of 10000. */
	assert_string_equal(
		value(NUMBERS "SELECT count(*) || ' ' || sum(n) || ' ' || sum(n * n) FROM "
			      "sl_hist_rows((SELECT sl_hist(n % 7, n % 100) FROM c))"),
		value(NUMBERS "SELECT count(*) || ' ' || sum(n) || ' ' || sum(n * n) FROM (SELECT "
			      "count(*) AS n FROM c GROUP BY n % 7, n % 100)"));
	assert_string_equal(value("SELECT count(*) FROM sl_hist_rows((SELECT sl_hist(1) WHERE 0))"),
			    "0");
	assert_string_equal(value("SELECT count(*) FROM sl_hist_rows(99)"), "0");
	assert_string_equal(value("SELECT group_concat(quote(k0) || n, ' ') FROM (SELECT * FROM "
				  "sl_hist_rows((SELECT "
				  "sl_hist(column1) FROM "
				  "(VALUES(NULL),('a'),(1),(NULL),('a'),(x'61'),(1.0)))) ORDER BY "
				  "typeof(k0))"),
			    "X'61'1 11 NULL2 1.01 'a'2");
}

/* More rows than there is memory for: some come twice, with a part of their count in each. */
static void spills(void **state)
{
	size_t before = hist_bytes_max;

	(void)state;
	hist_bytes_max = 4096;
	assert_string_equal(
		value(NUMBERS "SELECT sum(n) || ' ' || count(DISTINCT k0 || k1) || ' ' || "
			      "(count(*) > 2000) FROM "
			      "sl_hist_rows((SELECT sl_hist(n % 2000, 'x' || n % 2000) FROM c))"),
		"10000 2000 1");
	assert_string_equal(
		value(NUMBERS
		      "SELECT calls || ' ' || time || ' ' || least || ' ' || most || ' ' || med "
		      "FROM "
		      "sl_figures_rows((SELECT sl_figures('all', k0, n) FROM sl_hist_rows((SELECT "
		      "sl_hist(n % 2000) FROM c))))"),
		"10000 9995000 0 1999 999.5");
	hist_bytes_max = before;
}

static void figures(void **state)
{
	(void)state;
	/* 1 2 2 3 100: sum 108, mean 21.6, squares about it 7685.2 */
	assert_string_equal(value("SELECT calls || ' ' || time || ' ' || least || ' ' || most || ' "
				  "' || mean || ' ' || "
				  "round(squares, 6) || ' ' || med FROM sl_figures_rows((SELECT "
				  "sl_figures(7, column1, column2) "
				  "FROM (VALUES(100, 1), (2, 2), (3, 1), (1, 1))))"),
			    "5 108 1 100 21.6 7685.2 2.0");
	assert_string_equal(value("SELECT time || ' ' || least || ' ' || med FROM "
				  "sl_figures_rows((SELECT sl_figures(7, "
				  "column1, 1) FROM (VALUES(-1), (-2.5), (4), (3))))"),
			    "3.5 -2.5 1.0");
	assert_string_equal(value("SELECT calls || coalesce(time, '-') || coalesce(med, '-') FROM "
				  "sl_figures_rows((SELECT "
				  "sl_figures(7, NULL, 3)))"),
			    "3--");
	assert_string_equal(
		value("SELECT group_concat(quote(key) || calls, ' ') FROM sl_figures_rows((SELECT "
		      "sl_figures(column1, 1, 1) FROM (VALUES('b'), (NULL), ('b'), ('a'))))"),
		"'b'2 NULL1 'a'1");
	assert_int_equal(sqlite3_exec(db,
				      "SELECT * FROM sl_figures_rows((SELECT sl_figures(1, "
				      "9223372036854775807, 2)))",
				      NULL, NULL, NULL),
			 SQLITE_ERROR);
}

static const char *text_of(const char *name)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, name) == 0)
			return e->text;
	return NULL;
}

/* Those of the default set that millions of rows go through. */
static void reports_are_found(void **state)
{
	static const char *const names[] = {"reports/osrt_sum.sql",
					    "reports/cuda_api_sum.sql",
					    "reports/cuda_gpu_kern_sum.sql",
					    "reports/nvtx_sum.sql",
					    "reports/cuda_gpu_mem_time_sum.sql",
					    "reports/cuda_gpu_mem_size_sum.sql"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *sql = hist_rewrite(text_of(names[i]), NULL, true);

		assert_non_null(strstr(sql, "sl_hist_rows((SELECT sl_hist("));
		assert_non_null(strstr(sql, "sl_figures_rows((SELECT sl_figures("));
		free(sql);
	}
}

static void the_rest_stays(void **state)
{
	static const char *const texts[] = {
		"SELECT a, count(*) AS n FROM t GROUP BY 1", /* not called hist */
		"WITH hist AS (SELECT a, count(*) AS m FROM t GROUP BY 1) SELECT * FROM "
		"hist",
		"WITH hist AS (SELECT a, b, count(*) AS n FROM t GROUP BY 1) SELECT * FROM "
		"hist", /* b is left out */
		"WITH hist AS (SELECT a, count(*) AS n FROM t GROUP BY 1 HAVING n > 1) "
		"SELECT * FROM hist",
		"WITH hist AS (SELECT a, count(*) AS n FROM t GROUP BY a) SELECT * FROM "
		"hist",
		"SELECT 'hist AS (SELECT a, count(*) AS n FROM t GROUP BY 1)'",
		"-- hist AS (SELECT a, count(*) AS n FROM t GROUP BY 1)\nSELECT 1",
		"",
		"SELECT '",
		"SELECT \"a",
		"/* ",
		"WITH hist AS (SELECT count(*) AS n FROM",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *sql = hist_rewrite(texts[i], NULL, true);

		assert_string_equal(sql, texts[i]);
		free(sql);
	}
}

static void percentiles(void **state)
{
	struct percentiles p = {.cnt = 0};
	char why[128], *sql;

	(void)state;
	assert_int_equal(percentiles_parse(&p, "50,99.9", why, sizeof(why)), 0);
	assert_int_equal(percentiles_parse(&p, NULL, why, sizeof(why)), 0);
	assert_int_equal(p.cnt, 2);
	assert_int_equal(p.each[1].num, 999);
	assert_int_equal(p.each[1].den, 1000);
	sql = hist_rewrite("SELECT 1/* percentiles: , x{i} * {den} >= {num} AS \"P{p}\"*/;", &p,
			   false);
	assert_string_equal(
		sql, "SELECT 1 , x0 * 100 >= 50 AS \"P50\" , x1 * 1000 >= 999 AS \"P99.9\";");
	free(sql);
	assert_int_equal(
		percentiles_parse(&p, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", why, sizeof(why)), -1);
	assert_int_equal(percentiles_parse(&p, "1e1", why, sizeof(why)), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts, setup, teardown),
		cmocka_unit_test_setup_teardown(spills, setup, teardown),
		cmocka_unit_test_setup_teardown(figures, setup, teardown),
		cmocka_unit_test(reports_are_found),
		cmocka_unit_test(the_rest_stays),
		cmocka_unit_test(percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
