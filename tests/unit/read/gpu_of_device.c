/* gpu_of_device.c - sl_gpu(): which GPU a process means by a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/read/gpu_numbers.h"

static sqlite3 *db;

static int make(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) == SQLITE_OK && gpu_numbers_register(db) == SQLITE_OK
		       ? 0
		       : -1;
}

static int drop(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

static void run(const char *sql)
{
	char *err = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", sql, err);
}

static const char *ask(const char *sql)
{
	static char text[256];
	sqlite3_stmt *stmt = NULL;
	const char *value;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = (const char *)sqlite3_column_text(stmt, 0);
	sqlite3_snprintf(sizeof(text), text, "%s", value ? value : "NULL");
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	return text;
}

#define DEVICES                                                                                  \
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"     \
	"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 10), (2, 1, 10), (0, 0, 11), (NULL, " \
	"1, 11), (7, NULL, 10), (-1, 2, 11);"

static void a_device_of_a_process_is_a_gpu(void **state)
{
	(void)state;
	run(DEVICES);
	/* By the process's packed id, whatever the machine, or by that of one of its threads. */
	assert_string_equal(ask("SELECT sl_gpu(1 << 48 | 10 << 24, 0)"), "3");
	assert_string_equal(ask("SELECT sl_gpu(10 << 24 | 17, 1)"), "2");
	assert_string_equal(ask("SELECT sl_gpu(11 << 24, 0)"), "0");
	assert_string_equal(ask("SELECT group_concat(sl_gpu(p << 24, d)) FROM (SELECT 10 AS p, 0 "
				"AS d UNION ALL SELECT 10, 1 UNION ALL SELECT 12, 1)"),
			    "3,2,1");
}

static void a_device_that_is_not_known_is_called_as_its_process_does(void **state)
{
	(void)state;
	run(DEVICES);
	assert_string_equal(ask("SELECT sl_gpu(11 << 24, 1)"), "1");
	assert_string_equal(ask("SELECT sl_gpu(11 << 24, 2)"), "2");
	assert_string_equal(ask("SELECT sl_gpu(12 << 24, 0)"), "0");
	assert_string_equal(ask("SELECT sl_gpu(NULL, 5)"), "5");
	assert_string_equal(ask("SELECT sl_gpu(10 << 24, NULL)"), "NULL");
	/* A device above 32 bits is none of those. */
	assert_string_equal(ask("SELECT sl_gpu(10 << 24, 'a')"), "a");
}

static void a_report_may_lack_the_table(void **state)
{
	(void)state;
	assert_string_equal(ask("SELECT sl_gpu(10 << 24, 4)"), "4");
}

/* A filter's view, or that of an older schema, stands in front of the table. */
static void the_lower_of_two_numbers_counts(void **state)
{
	(void)state;
	run("CREATE TEMP VIEW TARGET_INFO_CUDA_DEVICE AS SELECT 5 AS gpuId, 0 AS cudaId, 10 AS pid "
	    "UNION ALL SELECT 4, 0, 10");
	assert_string_equal(ask("SELECT sl_gpu(10 << 24, 0)"), "4");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_of_a_process_is_a_gpu),
		TEST(a_device_that_is_not_known_is_called_as_its_process_does),
		TEST(a_report_may_lack_the_table),
		TEST(the_lower_of_two_numbers_counts),
	};

	return cmocka_run_group_tests_name("gpu_of_device", tests, NULL, NULL);
}
