/* why_shares.c - actions on what several threads do: not under a lock, at the same time, in equal parts. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_actions_test.h"

/* ---- unlock ---- */

/* Thread 101 sleeps 5-35 at line 10 with the lock, which the main thread waits for from 10 on; it computes until 50. */
static void lock(int by, int owner)
{
	report(50);
	runs(OTHER, 0, 5);
	call(OTHER, "usleep", 5, 35, L(10));
	runs(OTHER, 35, 36);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(20));
	call(MAIN, "pthread_mutex_lock", 10, 35, L(21), .lock = 7, .owner = owner);
	runs(MAIN, 35, 50, .by = by);
	computes(MAIN, 35, 50, L(20));
}

/*
 * The wait of 25 goes. It is more than a tenth, and work stays: severe. Line 20: 25; or, if the lock keeps its order, the wait ends
 * at 35 all the same: 15.
 */
static void sleep_with_a_lock(void **state)
{
	(void)state;
	lock(OTHER, 0);
	ask();
	assert_string_equal(gains(), "10 unlock 25..25 severe\n20 remove 15..25 bad\n");
}

/* The owner by the call, which is sure by 0.7: enough. */
static void sleep_with_a_lock_by_its_owner(void **state)
{
	(void)state;
	lock(0, OTHER);
	ask();
	assert_string_equal(gains(), "10 unlock 25..25 severe\n20 remove 15..25 bad\n");
}

/* Behind two owners it is sure by 0.49: not severe. */
static void sleep_behind_two_locks(void **state)
{
	(void)state;
	report(50);
	runs(102, 0, 5);
	call(102, "usleep", 5, 35, L(10));
	runs(102, 35, 36);
	runs(OTHER, 0, 6);
	call(OTHER, "pthread_mutex_lock", 6, 35, L(22), .lock = 8, .owner = 102);
	runs(OTHER, 35, 36);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(20));
	call(MAIN, "pthread_mutex_lock", 10, 35, L(21), .lock = 7, .owner = OTHER);
	runs(MAIN, 35, 50);
	computes(MAIN, 35, 50, L(20));
	ask();
	assert_string_equal(gains(), "10 unlock 25..25 bad\n20 remove 15..25 bad\n");
	assert_near(test.y.gains[0].sure, 0.49);
}

/* More than a fifth of the time is not recorded: nothing is sure. 12.5 of 62.5 are a fifth. */
static void severe_needs_four_fifths_recorded(double unknown, const char *want)
{
	lock(OTHER, 0);
	sql("UPDATE SL_PROCESS_TREE SET start = -%lld", ns_of(unknown));
	sql("UPDATE ANALYSIS_DETAILS SET duration = 0");
	sql("INSERT INTO SL_SCHED_DETAIL VALUES (0, %lld, NULL, 0, NULL, 120)", tid_of(MAIN));
	ask();
	assert_near(of_reason(WHY_UNKNOWN), unknown);
	assert_string_equal(gains(), want);
}

static void fifth_that_is_not_recorded(void **state)
{
	(void)state;
	severe_needs_four_fifths_recorded(12.5, "10 unlock 25..25 severe\n20 remove 15..25 bad\n");
}

static void more_than_a_fifth_that_is_not_recorded(void **state)
{
	(void)state;
	severe_needs_four_fifths_recorded(12.6, "10 unlock 25..25 bad\n20 remove 15..25 bad\n");
}

/* ---- together ---- */

/* Three children sleep 20, 30 and 50 at line 31, one after the other; 1 ms on a CPU before and after each. */
static void children(void)
{
	const int sleeps[] = {20, 30, 50};
	int a = 0;

	report(110);
	for (int i = 0; i < 3; i++) {
		int pid = 200 + 100 * i, end = a + 2 + sleeps[i];

		process(pid, MAIN, a + 0.5, end);
		runs(pid, a + 0.5, a + 1, .by = MAIN);
		call(pid, "usleep", a + 1, end - 1, L(31));
		runs(pid, end - 1, end);
		if (i)
			runs(MAIN, a, a + 1, .by = pid - 100);
		else
			runs(MAIN, a, a + 1);
		call(MAIN, "waitpid", a + 1, end, L(30));
		a = end;
	}
	runs(MAIN, a, 110, .by = 400);
}

/* All at once they take as long as the longest: 50 of 100. */
static void children_one_after_the_other(void **state)
{
	(void)state;
	children();
	ask();
	assert_int_equal(test.y.gains[0].action, GAIN_TOGETHER);
	assert_near((double)test.y.gains[0].lower / MS, 50);
	assert_near((double)test.y.gains[0].upper / MS, 50);
	assert_int_equal(test.y.gains[0].cnt, 3);
	assert_int_equal(test.y.gains[0].severity, GAIN_SEVERE);
}

/* A fourth that sleeps for 0.9 has no part (a fiftieth of 50 is 1): all of it goes, and the others are as before. */
static void child_with_no_part(double ms, uint32_t cnt)
{
	children();
	runs(401, 60, 61, .by = 400);
	call(401, "usleep", 61, 61 + ms, L(31));
	runs(401, 61 + ms, 63);
	ask();
	assert_int_equal(test.y.gains[0].action, GAIN_TOGETHER);
	assert_int_equal(test.y.gains[0].cnt, cnt);
}

static void thread_with_less_than_a_fiftieth_has_no_part(void **state)
{
	(void)state;
	child_with_no_part(0.999, 3);
}

static void thread_with_a_fiftieth_has_a_part(void **state)
{
	(void)state;
	child_with_no_part(1, 4);
}

/* ---- level ---- */

/* Two threads sleep at line 40 from 1 on; the main thread waits for the longer one, and computes at line 1 before and after. */
static void uneven(double shorter, double longer)
{
	report(100);
	runs(MAIN, 0, 1);
	sample(MAIN, 1, L(1));
	runs(OTHER, 0.5, 1, .by = MAIN);
	runs(102, 0.6, 1, .by = MAIN);
	call(OTHER, "usleep", 1, 1 + shorter, L(40));
	call(102, "usleep", 1, 1 + longer, L(40));
	runs(OTHER, 1 + shorter, 1.001 + shorter);
	runs(102, 1 + longer, 1.001 + longer);
	call(MAIN, "pthread_join", 1, 1.001 + longer, L(30));
	runs(MAIN, 1.001 + longer, 100, .by = 102);
	computes(MAIN, 1 + longer, 100, L(1));
	ask();
}

/* 20 and 80 are 50 each: 30 are won. Of line 1 the last 18.999, and 0.6, by which thread 102 is born earlier. */
static void threads_with_uneven_parts(void **state)
{
	(void)state;
	uneven(20, 80);
	assert_string_equal(gains(), "40 level 30..30 severe\n1 remove 19.599..19.599 bad\n");
	assert_int_equal(test.y.gains[0].cnt, 2);
}

/* 70 is 1.4 times the mean of 50: uneven. 69 is not: to do without, as any sleep. */
static void longest_part_is_1_4_times_the_mean(void **state)
{
	(void)state;
	uneven(30, 70);
	assert_string_equal(gains(), "1 remove 29.599..29.599 bad\n40 level 20..20 severe\n");
}

static void parts_that_are_nearly_even(void **state)
{
	(void)state;
	uneven(31, 69);
	assert_string_equal(gains(), "40 remove 69..69 bad\n1 remove 30.599..30.599 bad\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sleep_with_a_lock),
		TEST(sleep_with_a_lock_by_its_owner),
		TEST(sleep_behind_two_locks),
		TEST(fifth_that_is_not_recorded),
		TEST(more_than_a_fifth_that_is_not_recorded),
		TEST(children_one_after_the_other),
		TEST(thread_with_less_than_a_fiftieth_has_no_part),
		TEST(thread_with_a_fiftieth_has_a_part),
		TEST(threads_with_uneven_parts),
		TEST(longest_part_is_1_4_times_the_mean),
		TEST(parts_that_are_nearly_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
