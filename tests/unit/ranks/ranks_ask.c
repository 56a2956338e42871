/* ranks_ask.c - the text of a question for an engine: its views, its parameters, and what is older. */
#include "ranks_test.h"

#include "exporters/ranks/ask.h"
#include "exporters/ranks/superseded_rows.h"

static char *script;

static void ask(const struct ask *a)
{
	free(script);
	script = ask_script(a);
	assert_non_null(script);
}

static int free_script(void **state)
{
	(void)state;
	free(script);
	script = NULL;
	return 0;
}

static void view_is_made_of_the_tables_that_are_named(void **state)
{
	const struct ask a = {
		.folder = "/ds", .sql = "SELECT n FROM SL_LOST", .run = "one", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_string_equal(
		script, "CREATE TEMP VIEW SL_LOST AS SELECT * FROM "
			"read_parquet('/ds/SL_LOST/run=one/node=*/part-0.parquet', "
			"hive_partitioning = true, hive_types_autocast = false, union_by_name = "
			"true);\nSELECT n FROM SL_LOST");
}

/* A comparison needs both runs; views for people have all; what is no name of a run is no folder. */
static void files_of_other_runs_are_opened_where_they_are_asked_for(void **state)
{
	struct ask a = {
		.folder = "/ds", .sql = "SL_LOST", .run = "one", .base = "two", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_non_null(strstr(script, "/SL_LOST/run=*/"));
	a.base = NULL;
	a.all_views = true;
	ask(&a);
	assert_non_null(strstr(script, "/SL_LOST/run=*/"));
	a.all_views = false;
	a.run = "../one";
	ask(&a);
	assert_non_null(strstr(script, "/SL_LOST/run=*/"));
}

/* SL_CLOCK is the beginning of SL_CLOCK_FIT, and no part of a word is a table. */
static void names_of_tables_are_whole_words(void **state)
{
	struct ask a = {.folder = "/ds", .run = "one", .engine = "duckdb"};

	(void)state;
	a.sql = "SELECT * FROM SL_CLOCK_FIT";
	ask(&a);
	assert_non_null(strstr(script, "VIEW SL_CLOCK_FIT AS"));
	assert_null(strstr(script, "VIEW SL_CLOCK AS"));
	a.sql = "SELECT * FROM SL_CLOCK_FIT JOIN SL_CLOCK";
	ask(&a);
	assert_non_null(strstr(script, "VIEW SL_CLOCK AS"));
	a.sql = "SELECT * FROM SL_CLOCKs";
	ask(&a);
	assert_null(strstr(script, "VIEW"));
}

static int views(const char *text)
{
	int cnt = 0;

	for (const char *at = text; (at = strstr(at, "CREATE TEMP VIEW ")); at++)
		cnt++;
	return cnt;
}

/* tables.def has 10 tables. */
static void views_of_all_tables_where_they_are_asked_for(void **state)
{
	struct ask a = {.folder = "/ds", .run = "one", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_int_equal(views(script), 10);
	a.sql = "SELECT 1";
	ask(&a);
	assert_int_equal(views(script), 0);
	a.all_views = true;
	ask(&a);
	assert_int_equal(views(script), 10);
	assert_string_equal(script + strlen(script) - 8, "SELECT 1");
}

static void parameters_are_put_in_as_text(void **state)
{
	struct ask a = {.folder = "/ds",
			.sql = "-- title: x :run\n-- about: y\nSELECT :run, :base, :top, :running, "
			       ":topper, :run",
			.run = "o'ne",
			.base = "two",
			.top = 7,
			.engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_string_equal(script, "SELECT 'o''ne', 'two', 7, :running, :topper, 'o''ne'");
	a.base = NULL;
	a.top = -9223372036854775807;
	ask(&a);
	assert_string_equal(script,
			    "SELECT 'o''ne', '', -9223372036854775807, :running, :topper, 'o''ne'");
}

static void quotes_in_the_folder_are_quoted_as_the_engine_asks(void **state)
{
	struct ask a = {.folder = "/d's", .sql = "SL_LOST", .run = "one", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_non_null(strstr(script, "'/d''s/SL_LOST/run=one/"));
	a.engine = "spark";
	ask(&a);
	assert_non_null(
		strstr(script, "(path '/d\\'s/SL_LOST/run=one', basePath '/d\\'s/SL_LOST')"));
}

static void spark_reads_names_in_quotes(void **state)
{
	struct ask a = {
		.folder = "/ds", .sql = "SELECT 1 FROM SL_LOST", .run = "one", .engine = "spark"};

	(void)state;
	ask(&a);
	assert_string_equal(
		script,
		"SET spark.sql.ansi.enabled=true;\nSET "
		"spark.sql.ansi.doubleQuotedIdentifiers=true;\nSET "
		"spark.sql.sources.partitionColumnTypeInference.enabled=false;\nCREATE OR REPLACE "
		"TEMPORARY VIEW SL_LOST (`rank` BIGINT, `what` STRING, `n` BIGINT, run STRING, "
		"node "
		"STRING) USING parquet OPTIONS (path '/ds/SL_LOST/run=one', basePath "
		"'/ds/SL_LOST');\nSELECT 1 FROM SL_LOST");
}

/* Names of folders in which an engine would look for others. */
static void characters_of_patterns_stand_for_themselves(void **state)
{
	struct ask a = {.folder = "/d[1]*?{a}", .sql = "SL_LOST", .run = "one", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_non_null(strstr(script, "'/d[[]1][*][?]{a}/SL_LOST/run=one/node=*/part-0.parquet'"));
	a.engine = "spark";
	ask(&a);
	/* A backslash is two in Spark's texts. */
	assert_non_null(strstr(script,
			       "(path '/d\\\\[1\\\\]\\\\*\\\\?\\\\{a\\\\}/SL_LOST/run=one', "
			       "basePath '/d[1]*?{a}/SL_LOST')"));
}

/* SL_STEPS has restarts, SL_LOST ranks alone, SL_CLOCK neither. */
static void older_rows_are_left_out_by_what_the_table_has(void **state)
{
	struct older o = {.sql = (char[]){"NOT old"}, .restarts = (char[]){"NOT restarted"}};
	struct ask a = {.folder = "/ds", .run = "one", .engine = "duckdb", .older = &o};

	(void)state;
	ask(&a);
	assert_non_null(strstr(script, "VIEW SL_STEPS AS"));
	assert_non_null(
		strstr(strstr(script, "VIEW SL_STEPS AS"), "false) WHERE NOT restarted;\n"));
	assert_int_equal(strncmp(strstr(strstr(script, "VIEW SL_LOST AS"), "true)") + 5,
				 " WHERE NOT old;\n", 16),
			 0);
	assert_int_equal(
		strncmp(strstr(strstr(script, "VIEW SL_CLOCK AS"), "= true)") + 7, ";\n", 2), 0);
	/* In Spark the view has a view of all below it. */
	a.engine = "spark";
	a.sql = "SL_LOST";
	ask(&a);
	assert_non_null(strstr(script, "VIEW SL_LOST_all (`rank` BIGINT, "));
	assert_non_null(
		strstr(script, "VIEW SL_LOST AS SELECT * FROM SL_LOST_all WHERE NOT old;\n"));
	/* No rank was started again: what is older is so everywhere. */
	o.restarts = NULL;
	a.engine = "duckdb";
	a.sql = "SL_STEPS";
	ask(&a);
	assert_non_null(strstr(script, "WHERE NOT old;\n"));
	o.sql = NULL;
	ask(&a);
	assert_null(strstr(script, "WHERE NOT"));
}

/* Older files lack them. */
static void columns_that_were_added_are_there_as_null(void **state)
{
	const struct ask a = {
		.folder = "/ds", .sql = "SL_COLLECTIVES SL_KERNELS", .engine = "duckdb"};

	(void)state;
	ask(&a);
	assert_non_null(strstr(
		script, "union_by_name = true) UNION ALL BY NAME SELECT CAST(NULL AS BIGINT) AS "
			"\"restart\", CAST(NULL AS VARCHAR) AS \"comm\" WHERE false);\n"));
	assert_non_null(strstr(script,
			       "union_by_name = true) UNION ALL BY NAME SELECT CAST(NULL AS "
			       "BIGINT) AS \"restart\" WHERE false);\n"));
}

static void steps_are_a_condition_of_tables_that_have_them(void **state)
{
	struct older o = {.sql = (char[]){"NOT old"}};
	const int64_t steps[] = {3, 7};
	struct ask a = {.folder = "/ds", .run = "one", .engine = "duckdb", .steps = steps};

	(void)state;
	ask(&a);
	assert_non_null(
		strstr(strstr(script, "VIEW SL_STEPS AS"), ") WHERE step BETWEEN 3 AND 7;\n"));
	assert_non_null(strstr(strstr(script, "VIEW SL_COLLECTIVES AS"),
			       ") WHERE step BETWEEN 3 AND 7;\n"));
	assert_null(strstr(strstr(script, "VIEW SL_KERNELS AS"), "step BETWEEN"));
	a.older = &o;
	a.engine = "spark";
	a.sql = "SL_STEPS";
	ask(&a);
	assert_non_null(strstr(script,
			       "VIEW SL_STEPS AS SELECT * FROM SL_STEPS_all WHERE NOT old AND step "
			       "BETWEEN 3 AND 7;\n"));
}

static void text_for_people_is_around_the_statement(void **state)
{
	const struct ask a = {
		.folder = "/ds",
		.run = "one",
		.engine = "duckdb",
		.top = 5,
		.for_people = true,
		.sql = "-- title: t\n-- column: minute = m\n-- column: ratio = r\nSELECT 1 LIMIT "
		       ":top;\n"};
	size_t len;

	(void)state;
	ask(&a);
	len = strlen(script);
	assert_true(len > 100);
	assert_non_null(strstr(script, "CREATE TEMP MACRO sl_text(x) AS "));
	assert_non_null(strstr(
		script, "\nSELECT sl_minute(\"minute\") AS \"minute\", sl_text(\"ratio\") AS "
			"\"ratio\" FROM (SELECT 1 LIMIT 5) LIMIT 5;\n"));
}

static void questions_are_found_by_name(void **state)
{
	char name[64], seen[2048] = "";
	size_t cnt = 0;

	(void)state;
	for (; ask_name(cnt, name); cnt++) {
		const char *text = ask_question(name);
		const struct ask a = {.folder = "/ds",
				      .sql = text,
				      .run = "one",
				      .base = "two",
				      .top = 5,
				      .engine = "duckdb"};

		assert_non_null(text);
		assert_int_equal(strncmp(text, "-- title: ", 10), 0);
		/* Each is of tables that there are, and no parameter is left. */
		ask(&a);
		assert_true(views(script) > 0);
		assert_null(strstr(script, ":run"));
		assert_null(strstr(script, ":base"));
		assert_null(strstr(script, ":top"));
		strcat(seen, name);
		strcat(seen, " ");
	}
	assert_non_null(strstr(seen, "straggler "));
	assert_null(ask_name(cnt + 1000, name));
	assert_null(ask_question("no_such"));
	assert_null(ask_question("../rollups/here"));
	assert_null(ask_question(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(view_is_made_of_the_tables_that_are_named, free_script),
		cmocka_unit_test_teardown(files_of_other_runs_are_opened_where_they_are_asked_for,
					  free_script),
		cmocka_unit_test_teardown(names_of_tables_are_whole_words, free_script),
		cmocka_unit_test_teardown(views_of_all_tables_where_they_are_asked_for,
					  free_script),
		cmocka_unit_test_teardown(parameters_are_put_in_as_text, free_script),
		cmocka_unit_test_teardown(quotes_in_the_folder_are_quoted_as_the_engine_asks,
					  free_script),
		cmocka_unit_test_teardown(spark_reads_names_in_quotes, free_script),
		cmocka_unit_test_teardown(characters_of_patterns_stand_for_themselves, free_script),
		cmocka_unit_test_teardown(older_rows_are_left_out_by_what_the_table_has,
					  free_script),
		cmocka_unit_test_teardown(columns_that_were_added_are_there_as_null, free_script),
		cmocka_unit_test_teardown(steps_are_a_condition_of_tables_that_have_them,
					  free_script),
		cmocka_unit_test_teardown(text_for_people_is_around_the_statement, free_script),
		cmocka_unit_test_teardown(questions_are_found_by_name, free_script),
	};

	return cmocka_run_group_tests_name("ranks_ask", tests, NULL, NULL);
}
