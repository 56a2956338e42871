/* events_gpu_work.c - the relation of all work of GPUs, on tables by hand: all of them, some of them, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/events/gpu_work.h"

static sqlite3 *db;

static void run(const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

static int make(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) == SQLITE_OK ? 0 : -1;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

/* The rows of a query: columns by spaces, rows by "; "; NULL is "-". */
static const char *rows(const char *sql)
{
	static char text[1024];
	sqlite3_stmt *stmt = NULL;
	size_t len = 0;

	text[0] = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *value = (const char *)sqlite3_column_text(stmt, i);

			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						i     ? " "
						: len ? "; "
						      : "",
						value ? value : "-");
		}
	}
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	return text;
}

#define COMMON                                                                             \
	"globalPid INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, " \
	"streamId "                                                                        \
	"INTEGER, start INTEGER, end INTEGER, correlationId INTEGER"

static void make_all(void)
{
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(" COMMON ", graphNodeId INTEGER, shortName "
	    "INTEGER, demangledName INTEGER, mangledName INTEGER);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(" COMMON ", graphNodeId INTEGER, copyKind "
	    "INTEGER, bytes INTEGER, srcKind INTEGER, dstKind INTEGER);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(" COMMON
	    ", graphNodeId INTEGER, bytes INTEGER, memKind INTEGER);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(" COMMON ", graphId INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (11, 12, 13, 14, 15, 16, 17, 18, 19, "
	    "20, 21);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (31, 32, 33, 34, 35, 36, 37, 38, 39, "
	    "40, 41, 42, 43);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (51, 52, 53, 54, 55, 56, 57, 58, 59, "
	    "60, 61, 62), (71, 72, 73, NULL, 75, 76, NULL, 78, NULL, 80, 81, 82)");
}

static void every_column_of_every_table_is_in_the_view(void **state)
{
	(void)state;
	make_all();
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT * FROM SL_GPU_WORK"),
			    "kernel 51 52 53 54 55 56 57 58 59 60 61 62 - - - - 0; "
			    "kernel 71 72 73 - 75 76 - 78 - 80 81 82 - - - - 0; "
			    "graph 1 2 3 4 5 6 7 8 - - - - - - - - 0; "
			    "memcpy 31 32 33 34 35 36 37 38 39 - - - 40 41 42 43 0; "
			    "memset 11 12 13 14 15 16 17 18 19 - - - - 20 21 - 0");
}

static void columns_have_the_names_that_the_header_gives(void **state)
{
	(void)state;
	make_all();
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(
		rows("SELECT group_concat(name, ' ') FROM pragma_table_info('SL_GPU_WORK')"),
		"kind globalPid deviceId contextId greenContextId streamId start end "
		"correlationId graphNodeId shortName demangledName mangledName copyKind "
		"bytes srcKind dstKind process");
}

static void tables_that_are_absent_have_no_rows(void **state)
{
	(void)state;
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(" COMMON ", bytes INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (11, 12, 13, 14, 15, 16, 17, 18, 20)");
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT kind, start, bytes, srcKind FROM SL_GPU_WORK"),
			    "memset 16 20 -");
}

static void columns_that_are_absent_are_null(void **state)
{
	(void)state;
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, shortName "
	    "INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 3)");
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT * FROM SL_GPU_WORK"),
			    "kernel - - - - - 1 2 - - 3 - - - - - - -");
}

/* It is of the process with the least number that calls CUDA. */
static void work_that_does_not_say_whose_it_is_has_a_process(void **state)
{
	(void)state;
	assert_int_equal(gpu_work_unsaid(db), GPU_WORK_NONE);
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(globalTid INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0x5000001), (NULL), (0x3000009);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(globalPid INTEGER, start INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0x5000000, 1), (NULL, 2);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3)");
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT start, process FROM SL_GPU_WORK"), "1 5; 2 3; 3 3");
	assert_string_equal(rows("SELECT * FROM SL_GPU_KERNELS"), "83886080 1 5; - 2 3");
	assert_int_equal(gpu_work_unsaid(db), 3);
}

static void a_report_without_any_table_has_an_empty_view(void **state)
{
	(void)state;
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT count(*) FROM SL_GPU_WORK"), "0");
	assert_string_equal(rows("SELECT * FROM SL_GPU_WORK"), "");
}

static void tables_may_be_views_of_the_report(void **state)
{
	(void)state;
	run("CREATE TABLE rows(start, end, correlationId); INSERT INTO rows VALUES (1, 2, 3);"
	    "CREATE VIEW CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS SELECT * FROM rows");
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	assert_string_equal(rows("SELECT kind, start, end, correlationId FROM SL_GPU_WORK"),
			    "graph 1 2 3");
}

static void a_filter_of_a_table_counts_for_the_view(void **state)
{
	(void)state;
	make_all();
	assert_int_equal(gpu_work_register(db), SQLITE_OK);
	run("CREATE TEMP VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM "
	    "main.CUPTI_ACTIVITY_KIND_KERNEL WHERE start > 70");
	assert_string_equal(rows("SELECT start FROM SL_GPU_WORK WHERE kind = 'kernel'"), "76");
}

static int note(void *ctx, sqlite3_value **v)
{
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 64 - len, "%s%s:%lld", len ? " " : "",
		 (const char *)sqlite3_value_text(v[0]), (long long)sqlite3_value_int64(v[1]));
	return sqlite3_value_int64(v[1]) == 76 ? SQLITE_ABORT : SQLITE_OK;
}

static void rows_of_a_kind_are_given_to_a_reader(void **state)
{
	char text[64] = "";

	(void)state;
	make_all();
	for (unsigned kind = 0; kind < GPU_WORK_KINDS; kind++)
		assert_int_equal(
			gpu_work_values(db, kind, "kind, start", "WHERE start < 70", note, text),
			SQLITE_OK);
	assert_string_equal(text, "kernel:56 graph:6 memcpy:36 memset:16");
}

static void a_reader_can_end_the_reading(void **state)
{
	char text[64] = "";

	(void)state;
	make_all();
	assert_int_equal(gpu_work_values(db, GPU_WORK_KERNEL, "kind, start", "", note, text),
			 SQLITE_ABORT);
	assert_string_equal(text, "kernel:56 kernel:76");
}

static void an_absent_table_gives_a_reader_nothing(void **state)
{
	char text[64] = "";

	(void)state;
	assert_int_equal(gpu_work_values(db, GPU_WORK_MEMCPY, "kind, bytes", "", note, text),
			 SQLITE_OK);
	assert_string_equal(text, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_column_of_every_table_is_in_the_view),
		TEST(columns_have_the_names_that_the_header_gives),
		TEST(tables_that_are_absent_have_no_rows),
		TEST(columns_that_are_absent_are_null),
		TEST(work_that_does_not_say_whose_it_is_has_a_process),
		TEST(a_report_without_any_table_has_an_empty_view),
		TEST(tables_may_be_views_of_the_report),
		TEST(a_filter_of_a_table_counts_for_the_view),
		TEST(rows_of_a_kind_are_given_to_a_reader),
		TEST(a_reader_can_end_the_reading),
		TEST(an_absent_table_gives_a_reader_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
