/* events_launches.c - which call started which work, on tables by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/events/sorter.h"
#include "exporters/read/sql_rows.h"

static sqlite3 *db;
static char text[2048];

static void run(const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

#define P1 "0x1000000"
#define T1 "0x1000001"
#define P2 "0x2000000"
#define T2 "0x2000002"

static int make(void **state)
{
	(void)state;
	text[0] = '\0';
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return -1;
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(globalTid, start, end, nameId, "
	    "correlationId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(globalPid, start, end, correlationId, "
	    "graphNodeId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(globalPid, start, end, correlationId, bytes)");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

static void add(const char *part)
{
	strncat(text, part, sizeof(text) - strlen(text) - 1);
}

static int note_work(void *ctx, const struct launch_call *call, const int64_t *words)
{
	char part[64];

	(void)ctx;
	snprintf(part, sizeof(part), "%llx@%lld:%lld ", (unsigned long long)call->tid,
		 (long long)call->start, (long long)words[0]);
	add(part);
	return words[0] == 999 ? SQLITE_ABORT : SQLITE_OK;
}

static int note_call(void *ctx, const struct launch_call *call)
{
	(void)ctx;
	add(call->end == LAUNCH_OPEN ? "open; " : "; ");
	return call->start == 998 ? SQLITE_INTERRUPT : SQLITE_OK;
}

/* The join of all work, as "thread@start of the call:start of the work ..."; a semicolon behind the work of a call. */
static int join(void)
{
	static const struct launch_reader reader = {note_work, note_call};
	struct launches *l = launches_new(1);
	int rc = launches_read_calls(l, db);

	if (rc == SQLITE_OK)
		rc = launches_read_work(l, db, -1u, "start", "");
	if (rc == SQLITE_OK)
		rc = launches_join(l, &reader, NULL);
	launches_free(l);
	return rc;
}

static void assert_join(const char *want)
{
	assert_int_equal(join(), SQLITE_OK);
	assert_string_equal(text, want);
}

static void ids_of_two_processes_are_apart(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T2 ", 10, 11, 1, 7), (" T1
	    ", 20, 21, 1, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 30, 31, 7, NULL), (" P2
	    ", 40, 41, 7, NULL)");
	assert_join("1000001@20:30 ; 2000002@10:40 ; ");
}

static void id_0_is_none(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 0), (" T1
	    ", 12, 13, 1, NULL);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" P1 ", 30, 31, 0, 8), (" P1
	    ", 32, 33, NULL, 8)");
	assert_join("");
}

static void nodes_of_a_graph_belong_to_the_call_that_launched_it(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" P1 ", 50, 51, 7, 8);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 40, 41, 7, 2), (" P1
	    ", 30, 31, 7, 1)");
	assert_join("1000001@10:40 1000001@10:30 1000001@10:50 ; ");
}

static void a_graph_as_a_whole_belongs_to_its_call(void **state)
{
	(void)state;
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(globalPid, start, end, correlationId);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (" P1 ", 30, 31, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 7)");
	assert_join("1000001@10:30 ; ");
}

static void work_without_a_call_and_a_call_without_work_are_left_out(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 1, 2, 1, 1), (" T1
	    ", 3, 4, 1, 3), (" T1 ", 5, 6, 1, 5);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 30, 31, 2, NULL), (" P1
	    ", 40, 41, 3, NULL), (" P1 ", 50, 51, 9, NULL), (" P2 ", 60, 61, 5, NULL)");
	assert_join("1000001@3:40 ; ");
}

static void of_calls_with_one_id_the_first_to_begin_counts(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 12, 13, 2, 7), (" T1
	    ", 10, 20, 1, 7), (" T1 ", 11, 14, 3, 7), (" T1 ", 30, 31, 1, 8);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 40, 41, 8, NULL), (" P1
	    ", 50, 51, 7, NULL)");
	assert_join("1000001@10:50 ; 1000001@30:40 ; ");
}

static void work_without_a_process_is_of_the_least_process(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T2 ", 10, 11, 1, 7), (" T1
	    ", 20, 21, 1, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, 30, 31, 7, NULL)");
	assert_join("1000001@20:30 ; ");
}

/* A call without a thread or a beginning cannot be placed. */
static void a_call_that_did_not_return_counts(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, NULL, 1, 7), (NULL, 1, 2, "
	    "1, 8), (" T1 ", NULL, 2, 1, 9);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 30, NULL, 7, NULL), (" P1
	    ", 31, 32, 8, NULL), (" P1 ", 33, 34, 9, NULL)");
	assert_join("1000001@10:30 open; ");
}

static void kinds_of_work_can_be_left_out(void **state)
{
	static const struct launch_reader reader = {note_work, NULL};
	struct launches *l = launches_new(1);

	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" P1 ", 50, 51, 7, 8), (" P1
	    ", 52, 53, 7, NULL);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 40, 41, 7, NULL)");
	assert_int_equal(launches_read_calls(l, db), SQLITE_OK);
	assert_int_equal(
		launches_read_work(l, db, 1u << GPU_WORK_MEMCPY, "bytes", "WHERE start >= 50"),
		SQLITE_OK);
	assert_int_equal(launches_join(l, &reader, NULL), SQLITE_OK);
	launches_free(l);
	assert_string_equal(text, "1000001@10:8 1000001@10:-9223372036854775808 ");
}

static void tables_may_be_missing(void **state)
{
	(void)state;
	run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 7)");
	assert_join("");
	run("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME");
	assert_int_equal(join(), SQLITE_ERROR);
}

static void errors_of_the_reader_end_the_join(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 7), (" T1
	    ", 998, 999, 1, 8);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 30, 31, 7, NULL), (" P1
	    ", 40, 41, 8, NULL), (" P1 ", 50, 51, 9, NULL)");
	assert_int_equal(join(), SQLITE_INTERRUPT);
	run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 999 WHERE start = 30");
	text[0] = '\0';
	assert_int_equal(join(), SQLITE_ABORT);
	assert_string_equal(text, "1000001@10:999 ");
}

static void many(void)
{
	run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
	    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT " T1
	    " + i % 3 * 0x1000000, i * 13 % 50, i + 60, 1, i * 7 % 20 FROM n;"
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT iif(i % 7, " P1
	    " + i % 3 * 0x1000000, NULL), 100 + i, 200 + i, i * 11 % 23, NULL FROM n");
}

static void many_launches_go_through_files(void **state)
{
	size_t most = sorter_bytes_max;
	char in_memory[sizeof(text)];

	(void)state;
	many();
	assert_int_equal(join(), SQLITE_OK);
	memcpy(in_memory, text, sizeof(text));
	text[0] = '\0';
	sorter_bytes_max = 300;
	assert_int_equal(join(), SQLITE_OK);
	sorter_bytes_max = most;
	assert_string_equal(text, in_memory);
	assert_true(strlen(text) > 500);
}

static int note_text(void *ctx, sqlite3_stmt *stmt)
{
	const char *value = (const char *)sqlite3_column_text(stmt, 0);

	(void)ctx;
	add(value ? value : "-");
	return SQLITE_OK;
}

static void sql_has_the_same_rows(void **state)
{
	static const struct launch_reader reader = {note_work, NULL};
	struct launches *l = launches_new(1);
	char in_c[sizeof(text)];

	(void)state;
	many();
	assert_int_equal(launches_read_calls(l, db), SQLITE_OK);
	assert_int_equal(launches_read_work(l, db, -1u, "start", ""), SQLITE_OK);
	assert_int_equal(launches_join(l, &reader, NULL), SQLITE_OK);
	launches_free(l);
	memcpy(in_c, text, sizeof(text));
	assert_true(strlen(in_c) > 500);
	text[0] = '\0';
	assert_int_equal(launches_register(db), SQLITE_OK);
	assert_int_equal(launches_register(db), SQLITE_OK);
	assert_int_equal(
		sql_rows(db,
			 "SELECT printf('%x@%d:%d ', globalTid, callStart, start) FROM SL_LAUNCHES "
			 "WHERE globalTid IS NOT NULL ORDER BY globalTid >> 24, correlationId, "
			 "start",
			 note_text, NULL),
		SQLITE_OK);
	assert_string_equal(text, in_c);
}

static void work_without_a_call_has_null_in_sql(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 11, 1, 0), (" T1
	    ", 20, 21, 5, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 30, 31, 0, NULL), (" P2
	    ", 40, 41, 7, NULL), (" P1 ", 50, 51, 7, NULL)");
	assert_int_equal(launches_register(db), SQLITE_OK);
	assert_int_equal(
		sql_rows(db,
			 "SELECT start || ' ' || coalesce(callStart || ' ' || callEnd || "
			 "' ' || globalTid || ' ' || nameId, '-') || '; ' FROM SL_LAUNCHES",
			 note_text, NULL),
		SQLITE_OK);
	assert_string_equal(text, "30 -; 40 -; 50 20 21 16777217 5; ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_of_two_processes_are_apart),
		TEST(id_0_is_none),
		TEST(nodes_of_a_graph_belong_to_the_call_that_launched_it),
		TEST(a_graph_as_a_whole_belongs_to_its_call),
		TEST(work_without_a_call_and_a_call_without_work_are_left_out),
		TEST(of_calls_with_one_id_the_first_to_begin_counts),
		TEST(work_without_a_process_is_of_the_least_process),
		TEST(a_call_that_did_not_return_counts),
		TEST(kinds_of_work_can_be_left_out),
		TEST(tables_may_be_missing),
		TEST(errors_of_the_reader_end_the_join),
		TEST(many_launches_go_through_files),
		TEST(sql_has_the_same_rows),
		TEST(work_without_a_call_has_null_in_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
