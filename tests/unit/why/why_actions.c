/* why_actions.c - what could be won: which action is tried at which line, its bounds, and how it is judged. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_actions_test.h"

/* ---- remove ---- */

/* To do without is not known to be possible: no more than bad. The wait of 40 and the 60 computing. */
static void lines_that_could_go(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 60, L(1));
	call(MAIN, "usleep", 60, 100, L(2));
	ask();
	assert_string_equal(gains(), "1 remove 60..60 bad\n2 remove 40..40 bad\n");
	assert_true(test.y.has_replay);
	assert_int_equal(test.y.replay_error, 0);
}

/* Compiled code that calls nothing: no share of its 40 is sure. Of the function that calls a library all 20. */
static void compiled_code_has_no_lower_bound(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	for (int t = 1; t <= 60; t++)
		sample(MAIN, t,
		       t <= 40 ? "f /me/a /me/a.c:3"
			       : "deflate /usr/lib/libz.so.1; g /me/a /me/a.c:4");
	ask();
	assert_string_equal(gains(), "4 remove 20..20 bad\n3 remove 0..40 up to\n");
}

/* In half of its samples the line computes itself, in half a library does: 20 of 40 are sure, within a factor of three. */
static void half_compiled_code(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	for (int t = 1; t <= 40; t++)
		sample(MAIN, t,
		       t % 2 ? "f /me/a /me/a.c:3"
			     : "deflate /usr/lib/libz.so.1; f /me/a /me/a.c:3");
	ask();
	assert_string_equal(gains(), "3 remove 20..40 bad\n");
}

/* A comprehension of a function is its function's line: one gain of 30, at the line with more. */
static void comprehension_is_of_its_function(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	computes(MAIN, 0, 20, "f /me/a.py:5");
	computes(MAIN, 20, 30, "f.<locals>.<genexpr> /me/a.py:7");
	computes(MAIN, 30, 40, "f.<locals>.g /me/a.py:9");
	ask();
	assert_string_equal(gains(), "5 remove 30..30 bad\n9 remove 10..10 bad\n");
	assert_int_equal(__builtin_popcountll(test.y.gains[0].culprits), 2);
}

/* The same line in two functions is one line; the same number in another file is not. */
static void equal_lines_of_two_files(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 30, "f /me/a.py:5");
	computes(MAIN, 30, 50, "g /me/a.py:5");
	computes(MAIN, 50, 60, "h /me/b.py:5");
	ask();
	assert_string_equal(gains(), "5 remove 50..50 bad\n5 remove 10..10 bad\n");
}

/* Lines of main() that compute are one culprit, but not one change: surely its first line's 30, perhaps the 20 of the other. */
static void lines_of_main_are_no_one_change(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 30, "main /me/a.py:1");
	computes(MAIN, 30, 50, "main /me/a.py:2");
	computes(MAIN, 50, 60, L(3));
	ask();
	assert_string_equal(gains(), "1 remove 30..50 bad\n3 remove 10..10 bad\n");
}

/* Lines of any other function are. */
static void lines_of_a_function_are_one_change(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 30, "mains /me/a.py:1");
	computes(MAIN, 30, 50, "mains /me/a.py:2");
	computes(MAIN, 50, 60, L(3));
	ask();
	assert_string_equal(gains(), "1 remove 50..50 bad\n3 remove 10..10 bad\n");
}

/* ---- how many are tried ---- */

/* Nine lines of 10: the first six; none is better. */
static void six_lines_are_tried(void **state)
{
	(void)state;
	report(90);
	runs(MAIN, 0, 90);
	for (int i = 0; i < 9; i++) {
		char line[32];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, i + 1);
		computes(MAIN, 10 * i, 10 * i + 10, line);
	}
	ask();
	assert_int_equal(test.y.culprits_cnt, 9);
	assert_int_equal(test.y.gains_cnt, 6);
	/* Equal bounds: in the order of the culprits. */
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(test.y.gains[i].culprit, i);
}

/* Line 2 has 1 of 100 ms and is tried; line 3 has 0.999. 1 % is a note, which comes last. */
static void lines_with_less_than_a_hundredth_are_not_tried(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	computes(MAIN, 0, 98, L(1));
	sample(MAIN, 98.001, L(1));
	sample(MAIN, 99, L(3));
	sample(MAIN, 100, L(2));
	ask();
	assert_string_equal(gains(), "1 remove 98.001..98.001 bad\n2 remove 1..1 info\n");
	assert_int_equal(test.y.culprits_cnt, 3);
}

/* 2 of 100 are bad, 1.999 a note. */
static void two_hundredths_are_bad(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	computes(MAIN, 0, 96, L(1));
	sample(MAIN, 96.001, L(1));
	sample(MAIN, 98, L(3));
	sample(MAIN, 100, L(2));
	ask();
	assert_string_equal(gains(), "1 remove 96.001..96.001 bad\n"
				     "2 remove 2..2 bad\n"
				     "3 remove 1.999..1.999 info\n");
}

/* Seventy lines of 1 ms in 70: a bit for each of the first 64, and six gains. */
static void more_lines_than_bits(void **state)
{
	(void)state;
	report(70);
	runs(MAIN, 0, 70);
	for (int i = 0; i < 70; i++) {
		char line[32];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, i + 1);
		sample(MAIN, i + 1, line);
	}
	ask();
	assert_int_equal(test.y.culprits_cnt, 70);
	assert_int_equal(test.y.gains_cnt, 6);
	for (int i = 0; i < 6; i++)
		assert_near((double)test.y.gains[i].lower / MS, 1);
}

/* ---- batch ---- */

/* So many times 5 ms at line 1 and 5 in fsync() at line 2. */
static void syncs(int cnt, const char *name)
{
	report(10 * cnt);
	for (int i = 0; i < cnt; i++) {
		runs(MAIN, 10 * i, 10 * i + 5);
		computes(MAIN, 10 * i, 10 * i + 5, L(1));
		call(MAIN, name, 10 * i + 5, 10 * i + 10, L(2), .path = "/data");
	}
	ask();
}

/* Ten calls of 50 ms: fewer than half of them (0.45) win 27.5, none 50. */
static void ten_calls_that_cost(void **state)
{
	(void)state;
	syncs(10, "fsync");
	assert_string_equal(gains(), "1 remove 50..50 bad\n2 batch 27.5..50 bad\n");
}

static void nine_calls_are_not_many(void **state)
{
	(void)state;
	syncs(9, "fsync");
	assert_string_equal(gains(), "1 remove 45..45 bad\n2 remove 45..45 bad\n");
}

/* Reads do not cost by themselves. */
static void ten_reads_are_no_batch(void **state)
{
	(void)state;
	syncs(10, "read");
	assert_string_equal(gains(), "1 remove 50..50 bad\n2 remove 50..50 bad\n");
}

/* ---- the GPU ---- */

/*
 * Line 2 launches 0-1 (kernel 1-21, waited for at line 3) and 41-42 (42-62, likewise); line 4 computes 21-41. The first wait is
 * needless: without it line 4 is over at 21, and the second kernel at 42. The last one is not: nothing follows.
 */
static void wait_that_is_needless(void **state)
{
	(void)state;
	report(62);
	runs(MAIN, 0, 1);
	runs(MAIN, 21, 42);
	computes(MAIN, 21, 41, L(4));
	for (int i = 0; i < 2; i++) {
		int a = 41 * i;

		cuda(MAIN, "cudaLaunchKernel", a, a + 1, L(2), 2 * i + 1);
		cuda(MAIN, "cudaDeviceSynchronize", a + 1, a + 21, L(3), 2 * i + 2);
		kernel(a + 1, a + 21, 2 * i + 1);
	}
	ask();
	assert_near(of_reason(WHY_GPU_SYNC), 20);
	assert_string_equal(gains(), "3 sync 20..20 severe\n"
				     "4 remove 20..20 bad\n"
				     "2 remove 2..2 bad\n");
}

/*
 * Kernels in two streams, 1-11 and 1-25; line 3 waits for the first, 1-11, while the second goes on: what the GPU does is line 2's,
 * and line 3 is no culprit. Line 4 computes 11-31 and 32-42; line 5 waits 31-32 for nothing. Without line 3's wait line 4 is over
 * 10 earlier, but no record shows that it could be: bad.
 */
static void wait_at_a_line_that_is_no_culprit(void **state)
{
	const struct why_gain *g = test.y.gains;

	(void)state;
	report(42);
	runs(MAIN, 0, 1);
	runs(MAIN, 11, 42);
	computes(MAIN, 11, 31, L(4));
	computes(MAIN, 32, 42, L(4));
	cuda(MAIN, "cudaLaunchKernel", 0, 1, L(2), 1);
	cuda(MAIN, "cudaStreamSynchronize", 1, 11, L(3), 2);
	cuda(MAIN, "cudaStreamSynchronize", 31, 32, L(5), 3);
	kernel(1, 11, 1);
	kernel(1, 25, 1, .stream = 8);
	ask();
	g = test.y.gains;
	assert_int_equal(g[0].action, GAIN_REMOVE);
	assert_int_equal(g[1].action, GAIN_SYNC);
	assert_int_equal(g[1].culprit, WHY_NONE);
	assert_int_equal(test.y.walk.places.list[g[1].place].line, 3);
	assert_near((double)g[1].lower / MS, 10);
	assert_near((double)g[1].upper / MS, 10);
	assert_int_equal(g[1].severity, GAIN_BAD);
}

/* Kernels 12-20 and 12-14 in two streams: 3 ms one of them is alone, which equal parts would win. */
static void streams_with_uneven_parts(void **state)
{
	const struct why_gain *g;
	size_t i = 0;

	(void)state;
	report(40);
	runs(MAIN, 0, 12);
	runs(MAIN, 20, 40);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 20, 40, L(1));
	cuda(MAIN, "cudaLaunchKernel", 11, 12, L(2), 1);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 20, L(3), 2);
	kernel(12, 20, 1);
	kernel(12, 14, 1, .stream = 9);
	ask();
	while (i < test.y.gains_cnt && test.y.gains[i].action != GAIN_LEVEL)
		i++;
	assert_true(i < test.y.gains_cnt);
	g = &test.y.gains[i];
	assert_near((double)g->lower / MS, 3);
	assert_near((double)g->upper / MS, 3);
	assert_int_equal(g->cnt, 0);
	assert_int_equal(test.y.walk.places.list[g->place].line, 2);
}

/* Of a GPU in several ranges at once there is no replay. */
static void ranges_of_a_gpu_have_no_gains(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	computes(MAIN, 0, 40, L(1));
	cuda(MAIN, "cudaLaunchKernel", 0, 1, L(2), 1);
	kernel(1, 2, 1);
	range(MAIN, 0, 10, "part");
	range(MAIN, 20, 30, "part");
	ask_how(&(struct why_ask){.of_gpu = true, .nvtx = "part"});
	assert_int_equal(test.y.gains_cnt, 0);
	ask_how(&(struct why_ask){.nvtx = "part"});
	assert_true(test.y.gains_cnt > 0);
	ask_how(&(struct why_ask){.of_gpu = true});
	assert_true(test.y.gains_cnt > 0);
}

/* ---- without a replay ---- */

/* Without switches nothing is known of what waits for what: no more than the time, and nothing is sure. */
static void without_switches_gains_are_bounds(void **state)
{
	(void)state;
	report(100);
	call(MAIN, "usleep", 10, 70, L(2));
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 70, 100, L(1));
	ask();
	assert_string_equal(gains(), "2 remove 0..60 up to\n1 remove 0..40 up to\n");
	assert_false(test.y.has_replay);
}

/*
 * Kernels of one stream that overlap, 11-30 and 12-31: the replay puts the second behind the first, and comes to 78 instead of 60. No gain
 * is more than a bound.
 */
static void replay_that_is_wrong_gives_bounds(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 12);
	runs(MAIN, 31, 60);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 31, 60, L(4));
	cuda(MAIN, "cudaLaunchKernel", 10, 11, L(2), 1);
	cuda(MAIN, "cudaLaunchKernel", 11, 12, L(2), 2);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 31, L(3), 3);
	kernel(11, 30, 1);
	kernel(12, 31, 2);
	ask();
	assert_int_equal(test.y.replay_error, 18 * MS);
	assert_false(test.y.has_replay);
	assert_true(test.y.gains_cnt > 1);
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		assert_true(test.y.gains[i].is_up_to);
	assert_true(test.y.gains[0].lower > 0);
}

/* A report of nothing has nothing to win. */
static void nothing_is_won_of_nothing(void **state)
{
	(void)state;
	ask();
	assert_int_equal(test.y.gains_cnt, 0);
	assert_int_equal(test.y.focus, WHY_NONE);
}

/* Line 3 surely wins 1.5, and that is a note; of line 2, a poll that input ends, nothing is sure, but 60 are possible. */
static void notes_come_last(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 30);
	computes(MAIN, 0, 30, L(1));
	call(MAIN, "poll", 30, 90, L(2), .result = 1);
	runs(MAIN, 90, 100);
	computes(MAIN, 90, 98, L(1));
	sample(MAIN, 98.5, L(1));
	sample(MAIN, 100, L(3));
	ask();
	assert_string_equal(
		gains(), "1 remove 38.5..38.5 bad\n2 remove 0..60 up to\n3 remove 1.5..1.5 info\n");
}

/* Of a poll of 60 that input ends nothing is sure: it comes after the 30 and 10 computing. */
static void larger_lower_bounds_come_first(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 30);
	computes(MAIN, 0, 30, L(1));
	call(MAIN, "poll", 30, 90, L(2), .result = 1);
	runs(MAIN, 90, 100);
	computes(MAIN, 90, 100, L(3));
	ask();
	assert_string_equal(gains(),
			    "1 remove 30..30 bad\n3 remove 10..10 bad\n2 remove 0..60 up to\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_that_could_go),
		TEST(compiled_code_has_no_lower_bound),
		TEST(half_compiled_code),
		TEST(comprehension_is_of_its_function),
		TEST(equal_lines_of_two_files),
		TEST(lines_of_main_are_no_one_change),
		TEST(lines_of_a_function_are_one_change),
		TEST(six_lines_are_tried),
		TEST(lines_with_less_than_a_hundredth_are_not_tried),
		TEST(two_hundredths_are_bad),
		TEST(more_lines_than_bits),
		TEST(ten_calls_that_cost),
		TEST(nine_calls_are_not_many),
		TEST(ten_reads_are_no_batch),
		TEST(wait_that_is_needless),
		TEST(wait_at_a_line_that_is_no_culprit),
		TEST(streams_with_uneven_parts),
		TEST(ranges_of_a_gpu_have_no_gains),
		TEST(without_switches_gains_are_bounds),
		TEST(replay_that_is_wrong_gives_bounds),
		TEST(nothing_is_won_of_nothing),
		TEST(notes_come_last),
		TEST(larger_lower_bounds_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
