/* wall.c - the one wall time: life of the root process, cut to what was recorded and to filters; else the events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporters/read/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporters/read/db_read.h"

#define PID(pid) "((1<<48)|(" #pid "<<24))"
#define TREE                                                                                      \
	"CREATE TABLE SL_PROCESS_TREE(globalPid INTEGER, parentGlobalPid INTEGER, start INTEGER," \
	" end INTEGER, kind INTEGER, traced INTEGER, exe TEXT, commandLine TEXT, exitStatus "     \
	"INTEGER);"
#define CALLS \
	"CREATE TABLE OSRT_API(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
#define DURATION(ns)                                                                             \
	"CREATE TABLE ANALYSIS_DETAILS(globalVid INTEGER, duration INTEGER, startTime INTEGER, " \
	"stopTime INTEGER); INSERT INTO ANALYSIS_DETAILS VALUES(0, " #ns ", 0, " #ns ");"
#define CAPTURES                                                                \
	"CREATE TABLE SL_CAPTURES(number INTEGER, start INTEGER, end INTEGER);" \
	"INSERT INTO SL_CAPTURES VALUES(1, 200, 300), (2, 400, 500);"

/* "basis start end recorded" of a report with these tables. */
static const char *wall(const char *tables, const char *time, const char *pids)
{
	static char text[128];
	char path[] = "/tmp/wall.XXXXXX", why[200];
	struct db_filter f = {0};
	struct wall w;
	sqlite3 *db;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "CREATE TABLE StringIds(id INTEGER, value TEXT);", 0, 0, 0), 0);
	assert_int_equal(sqlite3_exec(db, tables, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_non_null(db = db_read_open(path, why, sizeof(why)));
	assert_int_equal(db_filter_time(&f, time, why, sizeof(why)), 0);
	assert_int_equal(db_filter_pid(&f, pids, why, sizeof(why)), 0);
	assert_int_equal(db_filter_apply(db, &f, why, sizeof(why)), 0);
	assert_int_equal(wall_table(db, &f, &w), SQLITE_OK);
	snprintf(text, sizeof(text), "%d %lld %lld %lld", (int)w.basis, (long long)w.start,
		 (long long)w.end, (long long)w.recorded);
	sqlite3_close(db);
	db_filter_free(&f);
	unlink(path);
	return text;
}

/* A launcher that is not traced, the root with an exec, a child that outlives it. */
static const char family[] = TREE CALLS "INSERT INTO OSRT_API VALUES(5, 5000, " PID(
	11) ", 1);"
	    "INSERT INTO SL_PROCESS_TREE VALUES(" PID(
		    1) ", NULL, 0, 9000, 0, 0, '', '', 0),"
		       "(" PID(10) ", " PID(
			       1) ", 100, 150, 1, 1, '', '', 0),"
				  "(" PID(10) ", " PID(
					  1) ", 150, 700, 2, 1, '', '', 0),"
					     "(" PID(11) ", " PID(
						     10) ", 160, 5000, 1, 1, '', '', 0);";

static void wall_time_is_that_of_the_root(void **state)
{
	(void)state;
	assert_string_equal(wall(family, NULL, NULL), "1 100 700 0");
	assert_string_equal(wall(family, "120/600", NULL), "1 120 600 0");
	assert_string_equal(wall(family, NULL, "11"), "1 160 5000 0");
}

static void wall_time_is_cut_to_what_was_recorded(void **state)
{
	char sql[4096];

	(void)state;
	snprintf(sql, sizeof(sql), "%s%s", family, DURATION(650));
	assert_string_equal(wall(sql, NULL, NULL), "1 100 650 650");
	snprintf(sql, sizeof(sql), "%s%s", family, CAPTURES);
	assert_string_equal(wall(sql, NULL, NULL), "1 200 500 0");
	/* It was there before, and is still there. */
	snprintf(sql, sizeof(sql),
		 "%s UPDATE SL_PROCESS_TREE SET start = -50 WHERE start = 100; %s%s", family,
		 "UPDATE SL_PROCESS_TREE SET end = NULL WHERE end = 700;", DURATION(800));
	assert_string_equal(wall(sql, NULL, NULL), "1 0 800 800");
	/* Cut off by a kill: no duration either. */
	snprintf(sql, sizeof(sql), "%s UPDATE SL_PROCESS_TREE SET end = NULL WHERE end = 700;",
		 family);
	assert_string_equal(wall(sql, NULL, NULL), "1 100 5000 0");
}

static void wall_time_spans_several_roots(void **state)
{
	char sql[4096];

	(void)state;
	snprintf(sql, sizeof(sql), "%s%s", family,
		 "INSERT INTO SL_PROCESS_TREE VALUES(" PID(30) ", " PID(
			 1) ", 50, 600, 0, 1, '', '', 0);");
	assert_string_equal(wall(sql, NULL, NULL), "2 50 700 0");
}

static void wall_time_without_a_tree_is_that_of_the_events(void **state)
{
	(void)state;
	assert_string_equal(
		wall(CALLS "INSERT INTO OSRT_API VALUES(5, 50, 1, 1), (9, 30, 1, 1);" DURATION(99),
		     NULL, NULL),
		"3 5 50 99");
	assert_string_equal(wall(CALLS DURATION(99), NULL, NULL), "4 0 99 99");
	assert_string_equal(wall(CALLS, NULL, NULL), "0 0 0 0");
	/* Programs without libc: only the kernel's view of them. */
	assert_string_equal(wall(TREE "INSERT INTO SL_PROCESS_TREE VALUES(" PID(
					 10) ", NULL, 7, 77, 1, 0, '', '', 0);",
				 NULL, NULL),
			    "1 7 77 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wall_time_is_that_of_the_root),
		cmocka_unit_test(wall_time_is_cut_to_what_was_recorded),
		cmocka_unit_test(wall_time_spans_several_roots),
		cmocka_unit_test(wall_time_without_a_tree_is_that_of_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
