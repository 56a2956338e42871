/* hist.c - counting in a hash table gives what GROUP BY gives, and reports are the ones that use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/sql/hist_internal.h"

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

static void counts(void **state)
{
	(void)state;
	/* 700 different rows; their counts, squared, differ from those of any other distribution of 10000. */
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

/* All of the figures of @values ("SELECT key, value"), counted by rows first or by values: the same. */
static void same_figures(const char *values)
{
	static const char all[] =
		"SELECT group_concat(quote(key) || ' ' || calls || ' ' || quote(time) || ' ' || "
		"quote(least) || ' ' || quote(most) || ' ' || quote(med) || ' ' || "
		"quote(round(squares, 3)), ',') FROM (SELECT * FROM sl_figures_rows((SELECT "
		"sl_figures(k0 %s, k1, n) FROM sl_hist_rows((SELECT %s(k, v) FROM (%s))))) ORDER "
		"BY "
		"key)";
	static const char *const keys[] = {"", "% 2"}; /* as it is, or of several rows */

	for (int i = 0; i < 2; i++) {
		char *by_row = sqlite3_mprintf(all, keys[i], "sl_hist", values);
		char *by_value = sqlite3_mprintf(all, keys[i], "sl_hist_values", values);
		char *want = strdup(value(by_row));

		assert_true(strlen(want) > 20);
		assert_string_equal(value(by_value), want);
		free(want);
		sqlite3_free(by_row);
		sqlite3_free(by_value);
	}
}

static void values(void **state)
{
	(void)state;
	/* few, few and often, many, many and often; in order, turned round, in none */
	same_figures(NUMBERS "SELECT n / 3000 AS k, n % 3 AS v FROM c");
	same_figures(NUMBERS "SELECT 0 AS k, n AS v FROM c");
	same_figures(NUMBERS "SELECT n % 4 AS k, -n AS v FROM c");
	same_figures(NUMBERS "SELECT n % 4 AS k, n * 7919 % 10007 % 900 AS v FROM c");
	same_figures(NUMBERS
		     "SELECT n % 4 AS k, n * 7919 % 10007 % 3001 * (1 - n % 3) AS v FROM c");
	same_figures(NUMBERS "SELECT n % 3 AS k, nullif(n % 11, 3) AS v FROM c");
	/* real ones from the start, and later on */
	same_figures(NUMBERS "SELECT n % 2 AS k, (n * 7919 % 10007 - 5000) / 4.0 AS v FROM c");
	same_figures(NUMBERS
		     "SELECT n / 2500 AS k, iif(n < 4000, n % 777, n % 555 / 8.0) AS v FROM c");
	assert_string_equal(
		value("SELECT group_concat(quote(k0) || n, ' ') FROM sl_hist_rows((SELECT "
		      "sl_hist_values(column1, 1) FROM (VALUES(NULL),('a'),(1),('a'))))"),
		"NULL1 'a'2 11");
	/* A blob of that size is a value like others. */
	assert_string_equal(
		value("SELECT calls || ' ' || time FROM sl_figures_rows((SELECT sl_figures(1, "
		      "zeroblob(24), 2)))"),
		"2 0.0");
	/* What was taken is gone. */
	assert_int_equal(
		sqlite3_exec(db,
			     "SELECT * FROM sl_figures_rows((SELECT sl_figures(1, k1, n) FROM "
			     "(SELECT k1, n FROM sl_hist_rows((SELECT sl_hist_values(1, 2)))), "
			     "(SELECT 1 "
			     "UNION ALL SELECT 2)))",
			     NULL, NULL, NULL),
		SQLITE_MISUSE);
}

/* Values stay apart where a text uses them. */
static void values_that_are_read(void **state)
{
	static const char steps[] =
		", total AS MATERIALIZED ( SELECT k, sum(n) AS calls, sum(n * v) AS time, min(v) "
		"AS least, max(v) AS "
		"most, 1.0 * sum(n * v) / sum(n) AS mean FROM %s GROUP BY k ), ranked AS ( SELECT "
		"k, v, n, sum(n) OVER "
		"(PARTITION BY k ORDER BY v) AS upto FROM %s ), spread AS ( SELECT t.k, sum(n * (v "
		"- mean) * (v - "
		"mean)) AS squares, (min(v) FILTER (WHERE 2 * upto >= calls) + min(v) FILTER "
		"(WHERE 2 * upto > calls)) "
		"/ 2.0 AS med FROM ranked AS r JOIN total AS t ON t.k = r.k GROUP BY t.k ) ";
	static const struct {
		const char *before, *from, *behind;
		bool apart;
	} texts[] = {
		{"", "hist", "SELECT 1", false},
		{"", "hist", "SELECT max(v) FROM hist", true},
		{"", "hist", "SELECT sum(n) FROM hist", true},
		{", named AS (SELECT k, v, sum(n) AS n FROM hist GROUP BY 1, 2)", "named",
		 "SELECT 1", false},
		{", named AS (SELECT k, h.v, sum(n) AS n FROM hist AS h GROUP BY 1, 2)", "named",
		 "SELECT 1", false},
		{", named AS (SELECT k, v + 1 AS v, sum(n) AS n FROM hist GROUP BY 1, 2)", "named",
		 "SELECT 1", true},
		{", named AS (SELECT k, v, sum(n) AS n FROM hist WHERE v > 0 GROUP BY 1, 2)",
		 "named", "SELECT 1", true},
		{", named AS (SELECT k, v, sum(n) AS n FROM hist GROUP BY 1, 2)", "named",
		 "SELECT max(v) FROM named", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *all = sqlite3_mprintf(steps, texts[i].from, texts[i].from);
		char *text =
			sqlite3_mprintf("WITH t AS (SELECT k, max(v) AS v FROM s), hist AS (SELECT "
					"k, v, count(*) AS n FROM t GROUP BY 1, 2 UNION ALL "
					"SELECT a, b, count(*) FROM u GROUP BY 1, 2 UNION ALL "
					"SELECT -1 AS k, b, count(*) FROM w GROUP BY 2)%s%s%s",
					texts[i].before, all, texts[i].behind);
		char *sql = hist_rewrite(text, NULL, true);

		assert_non_null(strstr(sql, "sl_figures("));
		assert_true(texts[i].apart == (strstr(sql, "sl_hist(") != NULL));
		assert_true(texts[i].apart == (strstr(sql, "sl_hist_values(") == NULL));
		free(sql);
		sqlite3_free(text);
		sqlite3_free(all);
	}
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
	static const char *const names[] = {"stats/reports/osrt_sum.sql",
					    "stats/reports/cuda_api_sum.sql",
					    "stats/reports/cuda_gpu_kern_sum.sql",
					    "stats/reports/nvtx_sum.sql",
					    "stats/reports/cuda_gpu_mem_time_sum.sql",
					    "stats/reports/cuda_gpu_mem_size_sum.sql"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *sql = hist_rewrite(text_of(names[i]), NULL, true);

		assert_non_null(strstr(sql, "sl_hist_rows((SELECT sl_hist_values("));
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
		cmocka_unit_test_setup_teardown(values, setup, teardown),
		cmocka_unit_test(values_that_are_read),
		cmocka_unit_test(reports_are_found),
		cmocka_unit_test(the_rest_stays),
		cmocka_unit_test(percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
