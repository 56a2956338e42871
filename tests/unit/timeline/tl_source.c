/* tl_source.c - one table as a source: the order of its rows, their times and ends, rows and columns that are left out. */
#include "tl_test.h"

static void a_report_without_rows_or_tables_has_no_events(void **state)
{
	(void)state;
	check("strings: (1, 'x');", "");
	check("strings: (1, 'x');"
	      "CREATE TABLE OSRT_API(start, end, globalTid, nameId);"
	      "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text);"
	      "CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid);",
	      "");
}

static void a_table_without_a_column_of_time_is_left_out(void **state)
{
	(void)state;
	check("strings: (1, 'x');"
	      "SYSCALL(start, globalTid, nameId): (1, 2, 1);"
	      "OSRT_API(end, globalTid, nameId): (1, 2, 1);"
	      "SCHED_EVENTS(cpu, isSchedIn, globalTid): (1, 1, 1);",
	      "");
}

static void a_column_that_is_not_there_reads_as_null(void **state)
{
	(void)state;
	/* Calls without a thread and a name, work without a stream, a copy of no kind. */
	check("strings: (1, 'x');"
	      "SYSCALL(start, end): (10, 11);"
	      "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, bytes): (20, 21, 4);"
	      "CUPTI_ACTIVITY_KIND_MEMSET(start, end): (30, 31);"
	      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end): (40, 41);"
	      "NVTX_EVENTS(start, end, eventType): (50, 51, 59);",
	      "thread 0.0: 10 +1 ''\n"
	      "stream 0: 20 +1 'Memcpy Unknown (Unknown -> Unknown)'\n"
	      "stream 0: 30 +1 'Memset (Unknown)'\n"
	      "waits of 0: 40 +1 'Synchronization'\n"
	      "thread 0.0: 50 +1 ''\n");
}

static void arguments_of_columns_that_are_not_there_are_left_out(void **state)
{
	(void)state;
	check_with(
		&(struct tl_options){.activities = TL_ACT_KERNEL}, 0,
		"strings: (1, 'add');"
		"CUPTI_ACTIVITY_KIND_KERNEL(start, end, streamId, shortName, gridY, gridX, "
		"blockX, registersPerThread): (10, 20, 7, 1, 2, 3, NULL, NULL);",
		/* Of a vector a missing part reads as 0; one whose first part is NULL is left out. */
		"stream 7: 10 +10 'add' {stream=7, grid=3x2x0}\n");
}

static void kinds_of_copies_beyond_those_that_exist_are_unknown(void **state)
{
	(void)state;
	check("strings: (1, 'x');"
	      "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, streamId, copyKind, srcKind, "
	      "dstKind): (10, 11, 1, 2, 2, 1), (20, 21, 1, 10, 8, 6), "
	      "(30, 31, 1, 13, 0, 0), (40, 41, 1, 14, 4, 5), (50, 51, 1, -1, 3, 256), "
	      "(60, 61, 1, 255, 7, -7), (70, 71, 1, 0, 0, 0);"
	      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, contextId, syncType): (80, "
	      "81, 1, 0), (81, 82, 1, 1), (82, 83, 1, 2), (83, 84, 1, 5), (84, 85, 1, -1);",
	      "stream 1: 10 +1 'Memcpy DtoH (Device -> Pinned)'\n"
	      "stream 1: 20 +1 'Memcpy PtoP (Unknown -> Managed Static)'\n"
	      "stream 1: 30 +1 'Memcpy DtoD (Unified memory)'\n"
	      "stream 1: 40 +1 'Memcpy Unknown (Managed -> Device Static)'\n"
	      "stream 1: 50 +1 'Memcpy Unknown (Array -> Unknown)'\n"
	      "stream 1: 60 +1 'Memcpy Unknown (Unknown -> Unknown)'\n"
	      "stream 1: 70 +1 'Memcpy Unknown (Pageable -> Pageable)'\n"
	      "waits of 1: 80 +1 'Synchronization'\n"
	      "waits of 1: 81 +1 'Event Sync'\n"
	      "waits of 1: 82 +1 'Stream Wait Event'\n"
	      "waits of 1: 83 +1 'Synchronization'\n"
	      "waits of 1: 84 +1 'Synchronization'\n");
}

static void times_beyond_all_sense_are_cut_and_never_run_backwards(void **state)
{
	(void)state;
	/*
	 * 2^62 - 1 = 4611686018427387903 bounds times and ends. -2^63 is NULL's number, so such a row is none. A span
	 * longer than 63 bits, and one that ends before it starts, have no duration.
	 */
	check("strings: (1, 'a');"
	      "libc: (-9223372036854775807, 9223372036854775807, 1, 1), "
	      "(-9223372036854775807 - 1, 5, 1, 1), (-100, -90, 1, 1), (NULL, 7, 1, 1), "
	      "(50, 40, 1, 1), (60, NULL, 1, 1), "
	      "(4611686018427387900, 4611686018427387910, 1, 1), "
	      "(9223372036854775807, 9223372036854775807, 1, 1);",
	      "thread 0.1: -4611686018427387903 +0 'a'\n"
	      "thread 0.1: -100 +10 'a'\n"
	      "thread 0.1: 50 +0 'a'\n"
	      "thread 0.1: 60 open 'a'\n"
	      "thread 0.1: 4611686018427387900 +3 'a'\n"
	      "thread 0.1: 4611686018427387903 +0 'a'\n");
}

static void a_shift_moves_every_time_and_stops_at_the_bounds(void **state)
{
	struct tl_options opt = {.activities = TL_ACT_OSRT, .no_args = true, .shift = 100};
	const char *sql =
		"strings: (1, 'a');"
		"libc: (-9223372036854775807, -9223372036854775800, 1, 1), (5, 10, 1, 1), "
		"(9223372036854775800, NULL, 1, 1);";

	(void)state;
	check_with(&opt, 0, sql,
		   "thread 0.1: -4611686018427387903 +7 'a'\n"
		   "thread 0.1: 105 +5 'a'\n"
		   "thread 0.1: 4611686018427387903 open 'a'\n");
	opt.shift = -100;
	check_with(&opt, 0, sql,
		   "thread 0.1: -4611686018427387903 +7 'a'\n"
		   "thread 0.1: -95 +5 'a'\n"
		   "thread 0.1: 4611686018427387903 open 'a'\n");
}

static void of_rows_that_start_together_the_longest_comes_first(void **state)
{
	const char *want = "thread 0.1: 10 open 'd'\n"
			   "thread 0.1: 10 +20 'c'\n"
			   "thread 0.1: 10 +5 'b'\n"
			   "thread 0.1: 10 +5 'e'\n"
			   "thread 0.1: 10 +0 'a'\n"
			   "thread 0.1: 12 +1 'f'\n";
	const char *sql = "strings: (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f');"
			  "libc: (12, 13, 1, 6), (10, 10, 1, 1), (10, 15, 1, 2), (10, 30, 1, 3), "
			  "(10, NULL, 1, 4), (10, 15, 1, 5);";
	struct tl_options opt = {.activities = TL_ACT_OSRT, .no_args = true};
	uint32_t few = tl_late_max;

	(void)state;
	check_with(&opt, 0, sql, want);
	/* The same where SQLite sorts: no late row may be fetched, or the rows are filtered. */
	tl_late_max = 0;
	check_with(&opt, 0, sql, want);
	tl_late_max = 3;
	check_with(&opt, 0, sql, want);
	tl_late_max = few;
	opt.filtered = true;
	check_with(&opt, 0, sql, want);
}

static void late_rows_of_a_kind_that_is_left_out_stay_out(void **state)
{
	(void)state;
	check("strings: (1, 'a');"
	      "ranges: (50, 60, 59, 1, NULL, 'range', NULL, NULL), "
	      "(10, NULL, 75, 1, 1, 'd', NULL, NULL), (20, NULL, 33, 1, 1, 'c', NULL, 1), "
	      "(5, NULL, 34, 1, NULL, 'mark', NULL, NULL), "
	      "(30, 40, 60, 1, NULL, NULL, 1, NULL), "
	      "(60, 61, 76, 1, 1, 'gone', NULL, NULL);",
	      "thread 0.1: 5 'mark'\n"
	      "async 0: 30 +10 'a'\n"
	      "thread 0.1: 50 +10 'range'\n");
}

static void a_sink_without_arguments_gets_the_same_tracks(void **state)
{
	struct tl_options opt = {.activities = TL_ACT_KERNEL | TL_ACT_NVTX | TL_ACT_CUDA_API};

	(void)state;
	/* It is spared columns of ranges and calls, none that say where work lies. */
	for (int no_args = 0; no_args < 2; no_args++) {
		opt.no_args = no_args;
		check_with(
			&opt, SHOW_TRACKS,
			"strings: (1, 'a');"
			"CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, globalPid, deviceId, "
			"contextId, "
			"streamId): (10, 11, $70, 3, 2, 7);",
			no_args ? "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
				  "2: gpu 3 of 70 'GPU 3' in 1, pid 16777216 tid 0 sort 3\n"
				  "3: stream 7 'stream 7' in 2, pid 16777216 tid 7 sort 14\n"
				  "stream 7: 10 +1 'CUDA graph'\n"
				: "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
				  "2: gpu 3 of 70 'GPU 3' in 1, pid 16777216 tid 0 sort 3\n"
				  "3: stream 7 'stream 7' in 2, pid 16777216 tid 7 sort 14\n"
				  "stream 7: 10 +1 'CUDA graph' {device=3, context=2, stream=7}\n");
	}
}

static void rows_that_mark_begins_and_ends_of_calls_are_no_calls(void **state)
{
	const char *rows =
		"OSRT_API(start, end, globalTid, nameId, eventClass): (10, 11, 1, 1, 27), "
		"(20, 21, 1, 1, 31), (30, 31, 1, 1, 36), (40, 41, 1, 1, NULL), "
		"(50, 51, 1, 1, 37);";
	char sql[1000];

	(void)state;
	snprintf(sql, sizeof(sql), "%s%s", "strings: (1, 'a');", rows);
	check(sql, "thread 0.1: 10 +1 'a'\n"
		   "thread 0.1: 40 +1 'a'\n"
		   "thread 0.1: 50 +1 'a'\n");
	/* Our own reports have no such rows, so that nothing needs to be left out. */
	snprintf(sql, sizeof(sql), "%s%s%s", "strings: (1, 'a');", rows,
		 "SL_PROCESS_TREE(globalPid): (0);");
	check(sql, "thread 0.1: 10 +1 'a'\n"
		   "thread 0.1: 20 +1 'a'\n"
		   "thread 0.1: 30 +1 'a'\n"
		   "thread 0.1: 40 +1 'a'\n"
		   "thread 0.1: 50 +1 'a'\n");
}

static bool rows_2_and_3(void *rows, const char *table, int64_t *after, int64_t *upto)
{
	(void)rows;
	*after = 1;
	*upto = 3;
	return strcmp(table, "OSRT_API") == 0;
}

static void a_run_over_some_rows_reads_these_alone(void **state)
{
	const char *sql = "strings: (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');"
			  "libc: (40, 41, 1, 1), (30, 31, 1, 2), (20, 21, 1, 3), (10, 11, 1, 4);"
			  "SYSCALL(start, end, globalTid, nameId): (15, 16, 1, 5), (25, 26, 1, 5);";
	struct tl_options opt = {.activities = TL_ACT_ALL, .no_args = true, .rows = rows_2_and_3};

	(void)state;
	check_with(&opt, SHOW_ROWS, sql,
		   "thread 0.1: 15 +1 'e' (SYSCALL 1, syscall)\n"
		   "thread 0.1: 20 +1 'c' (OSRT_API 3, osrt)\n"
		   "thread 0.1: 25 +1 'e' (SYSCALL 2, syscall)\n"
		   "thread 0.1: 30 +1 'b' (OSRT_API 2, osrt)\n");
	opt.rows = NULL;
	/* A half of 4 rows, and of 2. */
	opt.part = 0.5;
	check_with(&opt, SHOW_ROWS, sql,
		   "thread 0.1: 15 +1 'e' (SYSCALL 1, syscall)\n"
		   "thread 0.1: 30 +1 'b' (OSRT_API 2, osrt)\n"
		   "thread 0.1: 40 +1 'a' (OSRT_API 1, osrt)\n");
	opt.only_table = "OSRT_API";
	opt.only_row = 3;
	check_with(&opt, SHOW_ROWS, sql, "thread 0.1: 20 +1 'c' (OSRT_API 3, osrt)\n");
	opt.only_row = 9;
	check_with(&opt, SHOW_ROWS, sql, "");
}

static void a_filter_hides_rows_and_with_them_their_numbers(void **state)
{
	struct tl_options opt = {.activities = TL_ACT_OSRT, .no_args = true, .filtered = true};
	sqlite3 *db = report_of("strings: (1, 'a'), (2, 'b');"
				"libc: (30, 31, 1, 1), (20, 21, 2, 2), (10, 11, 1, 1);");
	char *text;

	(void)state;
	assert_int_equal(db_read_narrow(db, "OSRT_API", NULL, "globalTid = 1"), SQLITE_OK);
	text = timeline_of(db, &opt, SHOW_ROWS);
	assert_string_equal(text, "thread 0.1: 10 +1 'a' (OSRT_API 0, osrt)\n"
				  "thread 0.1: 30 +1 'a' (OSRT_API 0, osrt)\n");
	free(text);
	sqlite3_close(db);
}

static void texts_of_rows_that_are_read_together_stay_apart(void **state)
{
	/* 300 marks are read 128 at a time, with texts as long as their number. */
	sqlite3 *db = report_of(
		"strings: (7, 'by number');"
		"CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text, textId);"
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
		"299) INSERT INTO NVTX_EVENTS SELECT i, NULL, 34, 1, CASE WHEN i % 3 < 2 "
		"THEN substr(printf('%0300d', i), -(i % 290)) END, CASE WHEN i % 6 = 2 THEN "
		"7 END FROM n");
	char *text = timeline_of(
		db, &(struct tl_options){.activities = TL_ACT_NVTX, .no_args = true}, 0);
	char *line = text, want[400], digits[301];

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(digits, sizeof(digits), "%0300d", i);
		/* substr(x, -0) is all of it */
		snprintf(want, sizeof(want), "thread 0.1: %d '%s'", i,
			 i % 6 == 2   ? "by number"
			 : i % 3 == 2 ? ""
				      : digits + (i % 290 ? 300 - i % 290 : 0));
		line[strcspn(line, "\n")] = '\0';
		assert_string_equal(line, want);
		line += strlen(line) + 1;
	}
	free(text);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_without_rows_or_tables_has_no_events),
		cmocka_unit_test(a_table_without_a_column_of_time_is_left_out),
		cmocka_unit_test(a_column_that_is_not_there_reads_as_null),
		cmocka_unit_test(arguments_of_columns_that_are_not_there_are_left_out),
		cmocka_unit_test(kinds_of_copies_beyond_those_that_exist_are_unknown),
		cmocka_unit_test(times_beyond_all_sense_are_cut_and_never_run_backwards),
		cmocka_unit_test(a_shift_moves_every_time_and_stops_at_the_bounds),
		cmocka_unit_test(of_rows_that_start_together_the_longest_comes_first),
		cmocka_unit_test(late_rows_of_a_kind_that_is_left_out_stay_out),
		cmocka_unit_test(a_sink_without_arguments_gets_the_same_tracks),
		cmocka_unit_test(rows_that_mark_begins_and_ends_of_calls_are_no_calls),
		cmocka_unit_test(a_run_over_some_rows_reads_these_alone),
		cmocka_unit_test(a_filter_hides_rows_and_with_them_their_numbers),
		cmocka_unit_test(texts_of_rows_that_are_read_together_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
