/* tl_io.c - bytes per second in bins of 10 ms: the bytes of a call are spread evenly over the time it took. */
#include "tl_test.h"

static const struct tl_options io = {.activities = TL_ACT_IO, .no_args = true};

static void a_call_counts_in_each_bin_it_reaches_into(void **state)
{
	(void)state;
	/*
	 * 1,000 bytes in 10 ms, half of them in each of two bins: 500 in 10 ms are 50,000 a second. The second call
	 * begins where a bin does and is over in it, 300 bytes.
	 */
	check_with(&io, SHOW_ROWS,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (15000000, 25000000, $70.71, 1, 1000), "
		   "(20000000, 20000010, $70.72, 1, 300);",
		   "counter 'read' of process 70: 10000000 = 50000 (OSRT_API 0, io)\n"
		   "counter 'read' of process 70: 20000000 = 80000 (OSRT_API 0, io)\n"
		   "counter 'read' of process 70: 30000000 = 0 (OSRT_API 0, io)\n");
}

static void a_value_is_shown_only_where_it_changes(void **state)
{
	(void)state;
	/* 50 ms at 100 bytes in 10 ms: a long call is steady. In the bin from 90 ms another 40 bytes come. */
	check_with(&io, 0,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (0, 50000000, $70.71, 2, 500), (90000000, 90000001, $70.71, 2, 40);",
		   "counter 'written' of process 70: 0 = 10000\n"
		   "counter 'written' of process 70: 50000000 = 0\n"
		   "counter 'written' of process 70: 90000000 = 4000\n"
		   "counter 'written' of process 70: 100000000 = 0\n");
}

static void a_call_of_years_takes_no_longer_than_a_short_one(void **state)
{
	(void)state;
	/* 10^18 ns, 10^11 bins, a byte in each; after 10 s 5 more in one of them. */
	check_with(&io, 0,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (0, 1000000000000000000, 1, 1, 100000000000), "
		   "(10000000000, 10000000000, 2, 4, 5);",
		   "counter 'read' of process 0: 0 = 100\n"
		   "counter 'read' of process 0: 10000000000 = 600\n"
		   "counter 'read' of process 0: 10010000000 = 100\n"
		   "counter 'read' of process 0: 1000000000000000000 = 0\n");
}

static void processes_and_directions_have_curves_of_their_own(void **state)
{
	(void)state;
	/* poll moves nothing; fgets reads and fputs writes; no thread, no bytes and NULL are none. */
	check_with(
		&io, SHOW_TRACKS,
		"strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		"(5, 'fputs'), (6, 'fgets');"
		"moved: (1, 2, $70.71, 1, 10), (2, 3, $80.81, 1, 20), "
		"(3, 4, $70.72, 5, 30), (4, 5, $70.71, 3, 99), (5, 6, $70.71, 6, 1), "
		"(6, 7, NULL, 1, 99), (7, 8, $70.71, 1, 0), (8, 9, $70.71, 1, NULL), "
		"(9, 10, $70.71, 1, -5);",
		"1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
		"2: counter 'read' of process 70 'read' in 1, pid 70 tid 0 sort 0 unit 'bytes/s'\n"
		"counter 'read' of process 70: 0 = 1100\n"
		"3: process 80 '' in 0, pid 80 tid 0 sort 80\n"
		"4: counter 'read' of process 80 'read' in 3, pid 80 tid 0 sort 0 unit 'bytes/s'\n"
		"counter 'read' of process 80: 0 = 2000\n"
		"5: counter 'written' of process 70 'written' in 1, pid 70 tid 0 sort 0 unit "
		"'bytes/s'\n"
		"counter 'written' of process 70: 0 = 3000\n"
		"counter 'read' of process 70: 10000000 = 0\n"
		"counter 'read' of process 80: 10000000 = 0\n"
		"counter 'written' of process 70: 10000000 = 0\n");
}

static void bins_before_0_begin_at_multiples_of_10_ms_too(void **state)
{
	(void)state;
	check_with(&io, 0,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (-1, 1, 1, 1, 20), (-25000000, -25000000, 1, 1, 7);",
		   "counter 'read' of process 0: -30000000 = 700\n"
		   "counter 'read' of process 0: -20000000 = 0\n"
		   "counter 'read' of process 0: -10000000 = 1000\n"
		   "counter 'read' of process 0: 10000000 = 0\n");
}

static void calls_that_no_time_can_hold_are_left_out(void **state)
{
	(void)state;
	/* Before -2^61, after 2^61, and one that ends before it begins. */
	check_with(&io, 0,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (-2305843009213693953, 5, 1, 1, 10), "
		   "(0, 2305843009213693952, 1, 1, 10), (20, 10, 1, 1, 10), "
		   "(30000000, 30000000, 1, 1, 1);",
		   "counter 'read' of process 0: 30000000 = 100\n"
		   "counter 'read' of process 0: 40000000 = 0\n");
}

static void check_curves(const struct tl_options *opt, const char *report, const char *want)
{
	sqlite3 *db = report_of(report);
	char *text = timeline_of(db, opt, 0), *line = NULL;
	size_t at = 0;

	for (char *p = strtok_r(text, "\n", &line); p; p = strtok_r(NULL, "\n", &line)) {
		if (strncmp(p, "counter", 7) != 0)
			continue;
		assert_memory_equal(want + at, p, strlen(p));
		at += strlen(p) + 1;
	}
	assert_int_equal(at, strlen(want));
	free(text);
	sqlite3_close(db);
}

static void rows_out_of_order_are_sorted(void **state)
{
	const char *report = "strings: (1, 'read'), (2, 'launch');"
			     "moved: (50000000, 50000001, 1, 1, 5), (0, 1, 1, 1, 2), "
			     "(20000000, 20000001, 1, 1, 3);"
			     "cuda: (10, 20, 1, 2, 1), (30, 40, 1, 2, 2);";
	const char *want = "counter 'read' of process 0: 0 = 200\n"
			   "counter 'read' of process 0: 10000000 = 0\n"
			   "counter 'read' of process 0: 20000000 = 300\n"
			   "counter 'read' of process 0: 30000000 = 0\n"
			   "counter 'read' of process 0: 50000000 = 500\n"
			   "counter 'read' of process 0: 60000000 = 0\n";
	struct tl_options opt = io;

	(void)state;
	check_curves(&opt, report, want);
	/* And where the source of the calls has found late rows already; that of others, which has none, counts not. */
	opt.activities |= TL_ACT_OSRT;
	check_curves(&opt, report, want);
	opt.activities |= TL_ACT_CUDA_API;
	check_curves(&opt, report, want);
	opt.activities &= ~TL_ACT_OSRT;
	check_curves(&opt, report, want);
}

static void a_report_without_bytes_has_no_curve(void **state)
{
	(void)state;
	check_with(&io, 0,
		   "strings: (1, 'read');"
		   "OSRT_API(start, end, globalTid, nameId): (1, 2, 3, 1);",
		   "");
	check_with(&io, 0,
		   "strings: (1, 'read'), (2, 'write'), (3, 'poll'), (4, 'recv'), "
		   "(5, 'fputs'), (6, 'fgets');"
		   "moved: (1, 2, 3, 3, 5);",
		   "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_counts_in_each_bin_it_reaches_into),
		cmocka_unit_test(a_value_is_shown_only_where_it_changes),
		cmocka_unit_test(a_call_of_years_takes_no_longer_than_a_short_one),
		cmocka_unit_test(processes_and_directions_have_curves_of_their_own),
		cmocka_unit_test(bins_before_0_begin_at_multiples_of_10_ms_too),
		cmocka_unit_test(calls_that_no_time_can_hold_are_left_out),
		cmocka_unit_test(rows_out_of_order_are_sorted),
		cmocka_unit_test(a_report_without_bytes_has_no_curve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
