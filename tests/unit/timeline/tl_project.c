/* tl_project.c - NVTX ranges as the GPU saw them: from the first to the last piece of work that was started in them. */
#include "tl_test.h"

static const struct tl_options projected = {.activities = TL_ACT_NVTX_KERNEL};
static const struct tl_options last = {.activities = TL_ACT_PROJECTED | TL_ACT_NVTX_KERNEL,
				       .ranges_last = true};

/* By a run of its own, and, the same, by the events of a run over all. */
static void check_projection(const char *sql, const char *want)
{
	sqlite3 *db = report_of(sql);
	char *apart = timeline_of(db, &projected, 0),
	     *together = timeline_of(db, &last, RANGES_LAST);
	char *ranges = strstr(together, "ranges of ");

	assert_string_equal(apart, want);
	assert_string_equal(ranges ? ranges : "", want);
	free(apart);
	free(together);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_range_spans_the_work_that_was_started_in_it(void **state)
{
	(void)state;
	/* In 'inner' works 2 and 3 are started, in 'outer' 1 and 4 too, 5 in none, and in 'idle' nothing. */
	check_projection("strings: (1, 'launch'), (2, 'add'), (3, 'step');"
			 "ranges: (10, 100, 59, $70.71, NULL, 'outer', NULL, NULL), "
			 "(20, 50, 59, $70.71, NULL, 'inner', NULL, NULL), "
			 "(60, 70, 59, $70.71, NULL, 'idle', NULL, NULL);"
			 "cuda: (15, 16, $70.71, 1, 1), (25, 26, $70.71, 1, 2), "
			 "(30, 31, $70.71, 1, 3), (80, 81, $70.71, 1, 4), (100, 101, $70.71, 1, 5);"
			 "kernels: (200, 210, $70, 0, 1, 7, 1, 2), (220, 230, $70, 0, 1, 7, 2, 2), "
			 "(240, 260, $70, 0, 1, 7, 3, 2), (300, 330, $70, 0, 1, 7, 4, 2), "
			 "(400, 410, $70, 0, 1, 7, 5, 2);",
			 "ranges of 71 on stream 7: 200 +130 'outer' {operations=4}\n"
			 "ranges of 71 on stream 7: 220 +40 'inner' {operations=2}\n");
}

static void each_stream_has_a_projection_of_its_own(void **state)
{
	(void)state;
	/* Work 2 begins before the call's own piece on stream 7 has ended; a piece may end before an earlier one does. */
	check_projection("strings: (1, 'launch'), (2, 'add'), (3, 'step');"
			 "ranges: (10, 100, 59, $70.71, NULL, 'a', NULL, NULL);"
			 "cuda: (15, 16, $70.71, 1, 1);"
			 "kernels: (200, 260, $70, 0, 1, 7, 1, 2), (210, 220, $70, 0, 1, 8, 1, 2), "
			 "(220, 230, $70, 0, 1, 7, 1, 2), (230, 240, $70, 0, 1, 8, 1, 2);",
			 "ranges of 71 on stream 7: 200 +60 'a' {operations=2}\n"
			 "ranges of 71 on stream 8: 210 +30 'a' {operations=2}\n");
}

static void ranges_of_equal_times_lie_in_the_order_of_their_nesting(void **state)
{
	(void)state;
	check_projection("strings: (1, 'launch'), (2, 'add'), (3, 'step');"
			 "ranges: (10, 100, 59, $70.71, NULL, 'outer', NULL, NULL), "
			 "(10, 100, 59, $70.71, NULL, 'middle', NULL, NULL), "
			 "(20, 30, 59, $70.71, NULL, 'inner', NULL, NULL);"
			 "cuda: (25, 26, $70.71, 1, 1);"
			 "kernels: (200, 210, $70, 0, 1, 7, 1, 2);",
			 "ranges of 71 on stream 7: 200 +10 'outer' {operations=1}\n"
			 "ranges of 71 on stream 7: 200 +10 'middle' {operations=1}\n"
			 "ranges of 71 on stream 7: 200 +10 'inner' {operations=1}\n");
}

static void threads_and_ranges_that_are_no_stack_stay_apart(void **state)
{
	(void)state;
	/* Thread 72's range has work of its own; of a start/end range, a mark, and the GIL's nothing is projected. */
	check_projection("strings: (1, 'launch'), (2, 'add'), (3, 'step');"
			 "ranges: (0, NULL, 75, $70.71, 9, 'GIL Trace', NULL, NULL), "
			 "(10, 100, 59, $70.71, NULL, 'a', NULL, NULL), "
			 "(10, 100, 59, $70.72, NULL, 'b', NULL, NULL), "
			 "(10, 100, 60, $70.71, NULL, 'c', NULL, NULL), "
			 "(10, 100, 59, $70.71, 9, 'd', NULL, NULL), "
			 "(12, NULL, 34, $70.71, NULL, 'e', NULL, NULL);"
			 "cuda: (15, 16, $70.71, 1, 1), (15, 16, $70.72, 1, 2);"
			 "kernels: (200, 210, $70, 0, 1, 7, 1, 2), (210, 220, $70, 0, 1, 7, 2, 2);",
			 "ranges of 71 on stream 7: 200 +10 'a' {operations=1}\n"
			 "ranges of 72 on stream 7: 210 +10 'b' {operations=1}\n");
}

static void ranges_that_overlap_have_the_calls_that_began_in_them(void **state)
{
	(void)state;
	/* 'b' begins in 'a' and ends after it: call 2 is of both, call 3 of 'b' alone, as 'a' has ended. */
	check_projection(
		"strings: (1, 'launch'), (2, 'add'), (3, 'step');"
		"ranges: (0, NULL, 75, $70.71, 1, 'dom', NULL, NULL), "
		"(10, 50, 59, $70.71, NULL, 'a', NULL, NULL), "
		"(30, 90, 59, $70.71, 1, NULL, 3, NULL);"
		"cuda: (20, 21, $70.71, 1, 1), (40, 41, $70.71, 1, 2), "
		"(60, 61, $70.71, 1, 3);"
		"kernels: (200, 210, $70, 0, 1, 7, 1, 2), (210, 220, $70, 0, 1, 7, 2, 2), "
		"(220, 230, $70, 0, 1, 7, 3, 2);",
		/* They overlap in part: the second takes another lane. */
		"ranges of 71 on stream 7: 200 +20 'a' {operations=2}\n"
		"ranges of 71 on stream 7/1: 210 +20 'step' {domain='dom', operations=2}\n");
}

static void what_has_not_ended_is_open_on_the_gpu_only_if_its_work_is(void **state)
{
	(void)state;
	check_projection(
		"strings: (1, 'launch'), (2, 'add'), (3, 'step');"
		"ranges: (10, NULL, 59, $70.71, NULL, 'open', NULL, NULL), "
		"(20, 30, 59, $70.71, NULL, 'a', NULL, NULL);"
		"cuda: (15, NULL, $70.71, 1, 1), (25, 26, $70.71, 1, 2);"
		"kernels: (200, 210, $70, 0, 1, 7, 1, 2), (-5, 220, $70, 0, 1, 8, 2, 2), "
		"(220, NULL, $70, 0, 1, 7, 2, 2), (230, 240, $70, 0, 1, 7, 2, 2);",
		/* Work that begins before its call is none of it: so call 2 waits for it to the end. */
		"ranges of 71 on stream 7: 200 open 'open' {operations=3}\n"
		"ranges of 71 on stream 7: 220 open 'a' {operations=2}\n");
}

static void a_correlation_that_occurs_twice_is_of_the_first_call(void **state)
{
	(void)state;
	check_projection("strings: (1, 'launch'), (2, 'add'), (3, 'step');"
			 "ranges: (10, 20, 59, $70.71, NULL, 'a', NULL, NULL), "
			 "(30, 40, 59, $70.71, NULL, 'b', NULL, NULL);"
			 "cuda: (15, 16, $70.71, 1, 1), (35, 36, $70.71, 1, 1);"
			 "kernels: (200, 210, $70, 0, 1, 7, 1, 2);",
			 "ranges of 71 on stream 7: 200 +10 'a' {operations=1}\n");
}

static void a_name_of_2000_characters_is_projected_whole(void **state)
{
	sqlite3 *db = report_of(
		"strings: (1, 'launch'), (2, 'add'), (3, 'step');"
		"ranges: (0, NULL, 75, $70.71, 1, printf('%.*c', 2000, 'd'), NULL, NULL), "
		"(10, 20, 59, $70.71, 1, printf('%.*c', 2000, 'n'), NULL, NULL), "
		"(12, 14, 59, $70.71, 1, '', NULL, NULL);"
		"cuda: (13, 14, $70.71, 1, 1);"
		"kernels: (200, 210, $70, 0, 1, 7, 1, 2);");
	char *text = timeline_of(db, &projected, 0), *name = strstr(text, "'nn"),
	     *domain = strstr(text, "'dd");

	(void)state;
	assert_non_null(name);
	assert_non_null(domain);
	assert_int_equal(strspn(name + 1, "n"), 2000);
	assert_int_equal(strspn(domain + 1, "d"), 2000);
	assert_non_null(strstr(text, "200 +10 '' {domain='dddd"));
	free(text);
	sqlite3_close(db);
}

static void a_range_lies_after_all_else_when_it_is_wanted_last(void **state)
{
	(void)state;
	check_with(&last, RANGES_LAST | SHOW_ROWS,
		   "strings: (1, 'launch'), (2, 'add'), (3, 'step');"
		   "ranges: (10, 20, 59, $70.71, NULL, 'a', NULL, NULL);"
		   "cuda: (15, 16, $70.71, 1, 1);"
		   "kernels: (200, 210, $70, 0, 1, 7, 1, 2), (300, 310, $70, 0, 1, 7, NULL, 2);",
		   "thread 70.71: 10 +10 'a' (NVTX_EVENTS 1, user_annotation)\n"
		   "thread 70.71: 15 +1 'launch' {correlation=1} out 1 "
		   "(CUPTI_ACTIVITY_KIND_RUNTIME 1, cuda_runtime)\n"
		   "stream 7: 200 +10 'add' {device=0, context=1, stream=7, correlation=1} in 1 "
		   "(CUPTI_ACTIVITY_KIND_KERNEL 1, kernel)\n"
		   "stream 7: 300 +10 'add' {device=0, context=1, stream=7} "
		   "(CUPTI_ACTIVITY_KIND_KERNEL 2, kernel)\n"
		   "ranges of 71 on stream 7: 200 +10 'a' {operations=1} "
		   "(NVTX_EVENTS 1, gpu_user_annotation)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_spans_the_work_that_was_started_in_it),
		cmocka_unit_test(each_stream_has_a_projection_of_its_own),
		cmocka_unit_test(ranges_of_equal_times_lie_in_the_order_of_their_nesting),
		cmocka_unit_test(threads_and_ranges_that_are_no_stack_stay_apart),
		cmocka_unit_test(ranges_that_overlap_have_the_calls_that_began_in_them),
		cmocka_unit_test(what_has_not_ended_is_open_on_the_gpu_only_if_its_work_is),
		cmocka_unit_test(a_correlation_that_occurs_twice_is_of_the_first_call),
		cmocka_unit_test(a_name_of_2000_characters_is_projected_whole),
		cmocka_unit_test(a_range_lies_after_all_else_when_it_is_wanted_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
