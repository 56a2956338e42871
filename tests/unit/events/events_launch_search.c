/* events_launch_search.c - the work of one call and the call of one piece of work, on tables by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/events/launch_search.h"

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"
#define COPIES  "CUPTI_ACTIVITY_KIND_MEMCPY"
#define P1      "0x1000000"
#define T1      "0x1000001"
#define T2      "0x2000002"

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
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return -1;
	run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(globalTid, start, correlationId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(globalPid, start, correlationId);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, correlationId)");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

/* Rows of kernels that a call started; -1 for work of another table. */
static void assert_work(int64_t call, unsigned cnt, const int64_t *rows)
{
	struct launch_row found[4];

	assert_int_equal(launch_search_work(db, call, found, 4), cnt);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(found[i].row, rows[i]);
}

static void ids_join_within_a_process(void **state)
{
	struct launch_row found[4];

	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 7), (" T2 ", 5, 7), (" T1
	    ", 20, 8), (" T1 ", 30, 0), (" T1 ", 40, NULL);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 12, 7), (" P1 ", 14, 7), (" P1
	    ", 50, 9), (" P1 ", 60, 0)");
	assert_work(1, 2, (const int64_t[]){1, 2});
	assert_work(2, 0, NULL);
	assert_work(3, 0, NULL);
	assert_work(4, 0, NULL);
	assert_work(5, 0, NULL);
	assert_work(99, 0, NULL);
	assert_int_equal(launch_search_work(db, 1, found, 1), 1);
	assert_true(launch_search_call(db, KERNELS, 2, found));
	assert_string_equal(found->table, LAUNCH_CALLS);
	assert_int_equal(found->row, 1);
	assert_int_equal(found->start, 10);
	assert_false(launch_search_call(db, KERNELS, 3, found));
	assert_false(launch_search_call(db, KERNELS, 4, found));
	assert_false(launch_search_call(db, "no_such_table", 1, found));
}

static void of_calls_with_one_id_the_first_to_begin_is_the_one(void **state)
{
	struct launch_row found;

	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 12, 7), (" T1 ", 10, 7), (" T1
	    ", NULL, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" P1 ", 15, 7)");
	assert_work(1, 0, NULL);
	assert_work(2, 1, (const int64_t[]){1});
	assert_true(launch_search_call(db, KERNELS, 1, &found));
	assert_int_equal(found.row, 2);
}

static void work_that_does_not_say_whose_it_is_belongs_to_the_first_process(void **state)
{
	struct launch_row found;

	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T2 ", 5, 7), (" T1 ", 10, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, 15, 7);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (16, 7)");
	assert_work(1, 0, NULL);
	assert_work(2, 2, (const int64_t[]){1, 1});
	assert_true(launch_search_call(db, COPIES, 1, &found));
	assert_int_equal(found.row, 2);
}

/* Where nothing is near the row at which ids reach the value, all rows are looked at. */
static void rows_far_out_of_order_are_found(void **state)
{
	struct launch_row found;

	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 1, 90000);"
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	    "INSERT "
	    "INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT " T1 ", i, i FROM n;"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT globalTid, start, correlationId FROM "
	    "CUPTI_ACTIVITY_KIND_RUNTIME");
	assert_work(1, 1, (const int64_t[]){1});
	assert_work(15000, 1, (const int64_t[]){15000});
	assert_true(launch_search_call(db, KERNELS, 1, &found));
	assert_int_equal(found.row, 1);
}

static void a_bisection_finds_where_a_column_reaches_a_value(void **state)
{
	(void)state;
	run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" T1 ", 10, 1), (" T1
	    ", NULL, 2), (" T1 ", 30, 3), (" T1 ", 40, 4)");
	assert_int_equal(table_row_near(db, LAUNCH_CALLS, "start", 5), 1);
	assert_int_equal(table_row_near(db, LAUNCH_CALLS, "start", 30), 2);
	assert_int_equal(table_row_near(db, LAUNCH_CALLS, "start", 31), 4);
	assert_int_equal(table_row_near(db, LAUNCH_CALLS, "start", 99), 4);
	assert_int_equal(table_row_near(db, KERNELS, "start", 99), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ids_join_within_a_process, make, drop),
		cmocka_unit_test_setup_teardown(of_calls_with_one_id_the_first_to_begin_is_the_one,
						make, drop),
		cmocka_unit_test_setup_teardown(
			work_that_does_not_say_whose_it_is_belongs_to_the_first_process, make,
			drop),
		cmocka_unit_test_setup_teardown(rows_far_out_of_order_are_found, make, drop),
		cmocka_unit_test_setup_teardown(a_bisection_finds_where_a_column_reaches_a_value,
						make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
