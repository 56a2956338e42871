/* tl_rows.c - numbers of rows: how many there are, which are read, which lie after their place in time. */
#include "tl_test.h"

static void rows_are_counted_by_the_number_of_the_last(void **state)
{
	sqlite3 *db =
		report_of("strings: (1, 'x');"
			  "SYSCALL(start, end, globalTid, nameId): (1, 2, 3, 1), (1, 2, 3, 1);"
			  "DELETE FROM SYSCALL WHERE rowid = 1;"
			  "libc: (1, 2, 3, 1);"
			  "UPDATE OSRT_API SET rowid = 1000;"
			  "CREATE TABLE GPU_METRICS(timestamp);");

	(void)state;
	assert_int_equal(tl_rows_cnt(db, "SYSCALL"), 2);
	assert_int_equal(tl_rows_cnt(db, "OSRT_API"), 1000);
	assert_int_equal(tl_rows_cnt(db, "GPU_METRICS"), 0);
	/* A view for a table that the file lacks is none. */
	assert_int_equal(tl_rows_cnt(db, "NVTX_EVENTS"), 0);
	sqlite3_close(db);
}

static bool of_libc(void *of_rows, const char *table, int64_t *after, int64_t *upto)
{
	*after = *(int64_t *)of_rows;
	*upto = 9;
	return strcmp(table, "OSRT_API") == 0;
}

static void rows_that_are_read_are_those_of_the_strictest_option(void **state)
{
	int64_t after = 4;
	struct tl_options opt = {0};
	struct tl_run r = {
		.opt = &opt,
		.db = report_of(
			"strings: (1, 'x'); libc: (1, 2, 3, 1), (1, 2, 3, 1), (1, 2, 3, 1);")};
	char bound[TL_BOUND] = "x";

	(void)state;
	tl_bound(&r, "OSRT_API", bound, sizeof(bound));
	assert_string_equal(bound, "");
	opt.rows = of_libc;
	opt.of_rows = &after;
	tl_bound(&r, "OSRT_API", bound, sizeof(bound));
	assert_string_equal(bound, "rowid > 4 AND rowid <= 9 AND ");
	tl_bound(&r, "SYSCALL", bound, sizeof(bound));
	assert_string_equal(bound, "");
	/* Two thirds of 3 rows. */
	opt.part = 0.67;
	tl_bound(&r, "OSRT_API", bound, sizeof(bound));
	assert_string_equal(bound, "rowid <= 2 AND ");
	opt.only_table = "OSRT_API";
	opt.only_row = INT64_MIN;
	tl_bound(&r, "OSRT_API", bound, sizeof(bound));
	assert_string_equal(bound, "rowid = -9223372036854775808 AND ");
	tl_bound(&r, "SYSCALL", bound, sizeof(bound));
	assert_string_equal(bound, "rowid <= 0 AND ");
	sqlite3_close(r.db);
}

static void check_order(const char *rows, int with_ends, int without)
{
	char *report = sqlite3_mprintf("strings: (1, 'x'); CREATE TABLE SYSCALL(start, end);"
				       "CREATE INDEX by_start ON SYSCALL(start, end);"
				       "INSERT INTO SYSCALL SELECT * FROM (%s)",
				       rows);
	sqlite3 *db = report_of(report);

	assert_int_equal(tl_in_order(db, "SYSCALL", "start", "end"), with_ends);
	assert_int_equal(tl_in_order(db, "SYSCALL", "start", NULL), without);
	sqlite3_free(report);
	sqlite3_close(db);
}

static void rows_are_in_order_where_starts_ascend_and_ends_descend(void **state)
{
	sqlite3 *db = report_of("strings: (1, 'x');");

	(void)state;
	/* As they lie, whatever an index would have. */
	check_order("SELECT 1, 2 WHERE 0", 1, 1);
	check_order("VALUES (1, 2)", 1, 1);
	check_order("VALUES (1, 2), (2, 3), (5, 4)", 1, 1);
	check_order("VALUES (2, 3), (1, 2)", 0, 0);
	check_order("VALUES (1, 5), (1, 3), (1, 3), (2, 9)", 1, 1);
	check_order("VALUES (1, 3), (1, 5)", 0, 1);
	/* Without an end it lasts longest. */
	check_order("VALUES (1, NULL), (1, 9223372036854775807), (1, 5)", 1, 1);
	check_order("VALUES (1, 5), (1, NULL)", 0, 1);
	check_order("VALUES (-9223372036854775808, 5), (-9223372036854775807, 5)", 1, 1);
	assert_int_equal(tl_in_order(db, "no such table", "start", NULL), -1);
	sqlite3_close(db);
}

static void check_sorted(const char *report, const char *want)
{
	struct tl_options opt = {.activities = TL_ACT_SYSCALL | TL_ACT_DIAGNOSTIC};
	uint32_t few = tl_late_max;

	/* Rows many at a time, or one by one where arguments are read too. */
	for (int no_args = 0; no_args < 2; no_args++) {
		opt.no_args = no_args;
		/* Fetched one by one, and sorted by SQLite, after none, one or two were found. */
		check_with(&opt, SHOW_ROWS, report, want);
		for (tl_late_max = 0; tl_late_max < 3; tl_late_max++)
			check_with(&opt, SHOW_ROWS, report, want);
		tl_late_max = few;
	}
}

static void late_rows_take_their_place_in_time(void **state)
{
	(void)state;
	check_sorted(
		"strings: (1, 'a');"
		"SYSCALL(start, end, globalTid, nameId): (50, 51, 1, 1), (10, 11, 1, 1), "
		"(60, 61, 1, 1), (20, 21, 1, 1), (NULL, 21, 1, 1), (70, 71, 1, 1), (55, 56, 1, 1);",
		"thread 0.1: 10 +1 'a' (SYSCALL 2, syscall)\n"
		"thread 0.1: 20 +1 'a' (SYSCALL 4, syscall)\n"
		"thread 0.1: 50 +1 'a' (SYSCALL 1, syscall)\n"
		"thread 0.1: 55 +1 'a' (SYSCALL 7, syscall)\n"
		"thread 0.1: 60 +1 'a' (SYSCALL 3, syscall)\n"
		"thread 0.1: 70 +1 'a' (SYSCALL 6, syscall)\n");
}

static void late_moments_of_one_time_stay_in_the_order_of_their_rows(void **state)
{
	(void)state;
	check_sorted(
		"strings: (1, 'a');"
		"DIAGNOSTIC_EVENT(timestamp, severity, text, globalPid): (20, NULL, 'a', NULL), "
		"(20, NULL, 'b', NULL), (10, NULL, 'c', NULL), (10, NULL, 'd', NULL), (20, NULL, "
		"'e', NULL);",
		"machine: 10 'c' (DIAGNOSTIC_EVENT 3, diagnostic)\n"
		"machine: 10 'd' (DIAGNOSTIC_EVENT 4, diagnostic)\n"
		"machine: 20 'a' (DIAGNOSTIC_EVENT 1, diagnostic)\n"
		"machine: 20 'b' (DIAGNOSTIC_EVENT 2, diagnostic)\n"
		"machine: 20 'e' (DIAGNOSTIC_EVENT 5, diagnostic)\n");
}

static void of_rows_that_start_together_those_before_shorter_ones_are_not_late(void **state)
{
	(void)state;
	/* Three rows begin with the first, of which only the one without an end lies after its place. */
	check_sorted("strings: (1, 'a');"
		     "SYSCALL(start, end, globalTid, nameId): (10, 20, 1, 1), (10, 15, 1, 1), "
		     "(10, 12, 1, 1), (10, NULL, 1, 1), (30, 31, 1, 1);",
		     "thread 0.1: 10 open 'a' (SYSCALL 4, syscall)\n"
		     "thread 0.1: 10 +10 'a' (SYSCALL 1, syscall)\n"
		     "thread 0.1: 10 +5 'a' (SYSCALL 2, syscall)\n"
		     "thread 0.1: 10 +2 'a' (SYSCALL 3, syscall)\n"
		     "thread 0.1: 30 +1 'a' (SYSCALL 5, syscall)\n");
}

static void late_rows_below_0_and_above_32_bits_are_sorted(void **state)
{
	(void)state;
	/* 2^32 = 4294967296 is one too large for the list of late rows, -3 lies before all. */
	check_sorted("strings: (1, 'a');"
		     "CREATE TABLE SYSCALL(start, end, globalTid, nameId);"
		     "INSERT INTO SYSCALL(rowid, start, end, globalTid, nameId) VALUES (-3, 30, "
		     "31, 1, 1), "
		     "(-2, 20, 21, 1, 1), (5, 10, 11, 1, 1), (4294967296, 15, 16, 1, 1);",
		     "thread 0.1: 10 +1 'a' (SYSCALL 5, syscall)\n"
		     "thread 0.1: 15 +1 'a' (SYSCALL 4294967296, syscall)\n"
		     "thread 0.1: 20 +1 'a' (SYSCALL -2, syscall)\n"
		     "thread 0.1: 30 +1 'a' (SYSCALL -3, syscall)\n");
	check_sorted("strings: (1, 'a');"
		     "CREATE TABLE SYSCALL(start, end, globalTid, nameId);"
		     "INSERT INTO SYSCALL(rowid, start, end, globalTid, nameId) VALUES (1, 30, 31, "
		     "1, 1), "
		     "(4294967295, 20, 21, 1, 1);",
		     "thread 0.1: 20 +1 'a' (SYSCALL 4294967295, syscall)\n"
		     "thread 0.1: 30 +1 'a' (SYSCALL 1, syscall)\n");
}

static void of_late_rows_of_hours_the_longest_comes_first_too(void **state)
{
	(void)state;
	/*
	 * Rows come by their ends: of those that start at 10 the shortest first, 2^31 - 1, 2^31, 5 s, 6 s, 2^33, 1 h, 2 h,
	 * 2^62, without an end.
	 */
	check_sorted(
		"strings: (1, 'a');"
		"SYSCALL(start, end, globalTid, nameId): (90, 91, 1, 1), (10, 20, 1, 1), "
		"(10, 2147483657, 1, 1), (10, 2147483658, 1, 1), (10, 5000000010, 1, 1), "
		"(10, 6000000010, 1, 1), (10, 8589934602, 1, 1), (10, 3600000000010, 1, 1), "
		"(10, 7200000000010, 1, 1), (10, 4611686018427387904, 1, 1), (10, NULL, 1, 1);",
		"thread 0.1: 10 open 'a' (SYSCALL 11, syscall)\n"
		"thread 0.1: 10 +4611686018427387893 'a' (SYSCALL 10, syscall)\n"
		"thread 0.1: 10 +7200000000000 'a' (SYSCALL 9, syscall)\n"
		"thread 0.1: 10 +3600000000000 'a' (SYSCALL 8, syscall)\n"
		"thread 0.1: 10 +8589934592 'a' (SYSCALL 7, syscall)\n"
		"thread 0.1: 10 +6000000000 'a' (SYSCALL 6, syscall)\n"
		"thread 0.1: 10 +5000000000 'a' (SYSCALL 5, syscall)\n"
		"thread 0.1: 10 +2147483648 'a' (SYSCALL 4, syscall)\n"
		"thread 0.1: 10 +2147483647 'a' (SYSCALL 3, syscall)\n"
		"thread 0.1: 10 +10 'a' (SYSCALL 2, syscall)\n"
		"thread 0.1: 90 +1 'a' (SYSCALL 1, syscall)\n");
	/* And against one that is not late. */
	check_sorted("strings: (1, 'a');"
		     "SYSCALL(start, end, globalTid, nameId): (10, 5000000010, 1, 1), (10, "
		     "6000000010, 1, 1);",
		     "thread 0.1: 10 +6000000000 'a' (SYSCALL 2, syscall)\n"
		     "thread 0.1: 10 +5000000000 'a' (SYSCALL 1, syscall)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_counted_by_the_number_of_the_last),
		cmocka_unit_test(rows_that_are_read_are_those_of_the_strictest_option),
		cmocka_unit_test(rows_are_in_order_where_starts_ascend_and_ends_descend),
		cmocka_unit_test(late_rows_take_their_place_in_time),
		cmocka_unit_test(late_moments_of_one_time_stay_in_the_order_of_their_rows),
		cmocka_unit_test(
			of_rows_that_start_together_those_before_shorter_ones_are_not_late),
		cmocka_unit_test(late_rows_below_0_and_above_32_bits_are_sorted),
		cmocka_unit_test(of_late_rows_of_hours_the_longest_comes_first_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
