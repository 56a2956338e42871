/* why_ranges.c - what has no stack: its place is the innermost NVTX range; without one, each call and kernel is a group of its own. */
#include "tests/unit/why/why_test.h"

/* A start/end range of a thread. */
static void process_range(int tid, double from, double to, const char *text)
{
	sql("INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES "
	    "(%lld, %lld, 60, %Q, %lld, 0)",
	    ns_of(from), ns_of(to), text, tid_of(tid));
}

/* "PLACE: REASON MS" of each culprit. */
static const char *culprits(void)
{
	const struct why *y = &test.y;
	char **lines = calloc(y->culprits_cnt + 1, sizeof(*lines));
	const char *all;

	for (size_t i = 0; i < y->culprits_cnt; i++) {
		const struct why_culprit *c = &y->culprits[i];
		const char *place = y->walk.places.list[c->place].text;

		assert_true(
			asprintf(&lines[i], "%s: %s%s %g", place ? place : "-",
				 why_reason_name(why_main_reason(c)),
				 place ? ""
				       : string_of_map(y, &y->model.names, c->part.cause.name, " "),
				 (double)c->ns / MS) > 0);
	}
	all = join_lines(lines, y->culprits_cnt);
	free(lines);
	return all;
}

/* 0-10 outside of ranges, 10-20 and 40-50 in the outer one, 20-40 in the inner one, then in none. */
static void place_is_the_innermost_range(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	range(MAIN, 10, 50, "outer");
	range(MAIN, 20, 40, "inner");
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at range inner 20\n"
				     "COMPUTE at range outer 20\n");
	assert_string_equal(culprits(), "-: COMPUTE 20\nrange inner: COMPUTE 20\n"
					"range outer: COMPUTE 20\n");
}

/* Of ranges that begin together, the longer is the outer one; of those that end together, neither goes on. */
static void ranges_that_begin_or_end_together(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	range(MAIN, 10, 20, "inner");
	range(MAIN, 10, 40, "outer");
	range(MAIN, 30, 40, "last");
	ask();
	assert_string_equal(parts(), "COMPUTE 30\n"
				     "COMPUTE at range inner 10\n"
				     "COMPUTE at range last 10\n"
				     "COMPUTE at range outer 10\n");
}

/* a 10-30, b 20-50, c 25-27: 20-25 b, 25-27 c, 27-50 b, as b began last of those that are open. */
static void start_end_ranges_may_overlap(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	process_range(MAIN, 10, 30, "a");
	process_range(MAIN, 20, 50, "b");
	process_range(MAIN, 25, 27, "c");
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at range a 10\n"
				     "COMPUTE at range b 28\n"
				     "COMPUTE at range c 2\n");
}

/* A wait in a range has that range; the time that another thread made pass has the range of that thread. */
static void wait_has_the_range_of_its_thread(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "sem_wait", 10, 40, NULL);
	runs(MAIN, 40, 60, .by = OTHER);
	runs(OTHER, 0, 50);
	range(MAIN, 5, 55, "wait");
	range(OTHER, 20, 45, "work");
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at range wait 20\n"
				     "COMPUTE at range work @101 20\n");
}

/* A kernel has the range in which it was launched, whatever range waits for it. */
static void kernel_has_the_range_of_its_launch(void **state)
{
	(void)state;
	report(60);
	cuda(MAIN, "cudaLaunchKernel", 5, 6, NULL, 1);
	kernel(6, 40, 1, .name = "k");
	cuda(MAIN, "cudaDeviceSynchronize", 20, 40, NULL, 2);
	range(MAIN, 2, 10, "forward");
	range(MAIN, 15, 50, "log");
	ask();
	assert_string_equal(parts(), "COMPUTE 17\n"
				     "COMPUTE at range forward 7\n"
				     "COMPUTE at range log 15\n"
				     "GPU at range forward 20\n"
				     "GPU_CALL at range forward 1\n");
}

/* Nine names that differ in their numbers alone are one; eight are not. */
static void numbered(int cnt, const char *text)
{
	report(100);
	runs(MAIN, 0, 100);
	for (int i = 0; i < cnt; i++) {
		char name[32];

		snprintf(name, sizeof(name), "step %d of 9", i + 1);
		range(MAIN, 10 * i, 10 * i + 10, name);
	}
	ask();
	assert_string_equal(parts(), text);
}

static void many_numbered_names_are_one(void **state)
{
	(void)state;
	numbered(9, "COMPUTE 10\nCOMPUTE at range step # of # 90\n");
}

static void few_numbered_names_stay_apart(void **state)
{
	(void)state;
	numbered(2, "COMPUTE 80\nCOMPUTE at range step 1 of 9 10\n"
		    "COMPUTE at range step 2 of 9 10\n");
}

/* Python's lock is no place, and not in the way of the range around it. */
static void ranges_of_the_gil_are_no_place(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	sql("INSERT INTO NVTX_EVENTS(start, eventType, text, globalTid, domainId) VALUES (0, 75, "
	    "'GIL Trace', %lld, 7)",
	    tid_of(MAIN));
	sql("INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES "
	    "(%lld, %lld, 59, 'Holding GIL', %lld, 7)",
	    ns_of(20), ns_of(30), tid_of(MAIN));
	range(MAIN, 0, 60, "all");
	ask();
	assert_string_equal(parts(), "COMPUTE at range all 60\n");
}

/* Samples have lines: ranges are no places there. */
static void samples_are_better_places(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	range(MAIN, 0, 60, "all");
	sample(MAIN, 10, L(1));
	ask();
	assert_int_equal(test.y.model.range_names_cnt, 0);
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f1 60\n");
}

/* A thread of which ranges alone are recorded. */
static void thread_with_ranges_alone_is_a_thread(void **state)
{
	(void)state;
	report(60);
	sql("DELETE FROM SL_PROCESS_TREE");
	range(OTHER, 10, 30, "work");
	range(OTHER, 30, 50, "rest");
	ask();
	assert_int_not_equal(test.y.focus, WHY_NONE);
	assert_string_equal(culprits(), "range rest: COMPUTE 20\nrange work: COMPUTE 20\n");
}

/* ---- groups ---- */

static void calls(void)
{
	report(100);
	runs(MAIN, 0, 100);
	cuda(MAIN, "cudaMalloc", 10, 20, NULL, 1);
	cuda(MAIN, "cudaMalloc", 30, 35, NULL, 2);
	cuda(MAIN, "cudaFreeHost", 40, 60, NULL, 3);
}

static void calls_without_stacks_are_groups_of_their_own(void **state)
{
	(void)state;
	calls();
	ask();
	assert_string_equal(culprits(), "-: COMPUTE 65\n-: GPU_CALL cudaFreeHost 20\n"
					"-: GPU_CALL cudaMalloc 15\n");
}

/* "Do without" is no advice for what computes somewhere, nor for all of the time. */
static void gains_are_of_calls_alone(void **state)
{
	(void)state;
	calls();
	ask();
	assert_int_equal(test.y.gains_cnt, 2);
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		assert_true(test.y.culprits[test.y.gains[i].culprit].part.cause.name != WHY_NONE);
}

static void all_of_the_time_is_no_gain(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	cuda(MAIN, "cudaMalloc", 5, 95, NULL, 1);
	ask();
	assert_int_equal(test.y.gains_cnt, 0);
}

static void less_than_all_of_the_time_is_a_gain(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 100);
	cuda(MAIN, "cudaMalloc", 5, 94.99, NULL, 1);
	ask();
	assert_int_equal(test.y.gains_cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(place_is_the_innermost_range),
		TEST(ranges_that_begin_or_end_together),
		TEST(start_end_ranges_may_overlap),
		TEST(wait_has_the_range_of_its_thread),
		TEST(kernel_has_the_range_of_its_launch),
		TEST(many_numbered_names_are_one),
		TEST(few_numbered_names_stay_apart),
		TEST(ranges_of_the_gil_are_no_place),
		TEST(samples_are_better_places),
		TEST(thread_with_ranges_alone_is_a_thread),
		TEST(calls_without_stacks_are_groups_of_their_own),
		TEST(gains_are_of_calls_alone),
		TEST(all_of_the_time_is_no_gain),
		TEST(less_than_all_of_the_time_is_a_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
