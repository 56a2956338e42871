/* why_bounds.c - what a wait still costs when its cause is gone: processors, the GIL, other work; and the cost of each message. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_actions_test.h"

/* ---- processors and the GIL ---- */

/*
 * 101 and 102 sleep, 0-30 and 0-40 at line 3, and compute for 10 each; the main thread waits for them. Without the sleeps both are done
 * at 10, or one after the other at 20.
 */
static void two_workers(const char *exe, const char *cpus)
{
	report(50);
	sql("UPDATE SL_PROCESS_TREE SET exe = %Q", exe);
	if (cpus)
		sql("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Local (CLI)', 'CpuCores', 4, "
		    "%Q)",
		    cpus);
	runs(MAIN, 0, 0.1);
	call(MAIN, "pthread_join", 0.1, 40, L(8));
	runs(MAIN, 40, 40.1, .by = OTHER);
	call(MAIN, "pthread_join", 40.1, 49.9, L(8));
	runs(MAIN, 49.9, 50, .by = 102);
	for (int i = 0; i < 2; i++) {
		int tid = OTHER + i, a = 30 + 10 * i;

		runs(tid, 0, 0.1, .by = MAIN);
		call(tid, "usleep", 0.1, a, "f /me/a.py:3");
		runs(tid, a, a + 9.9, .ready = a);
		computes(tid, a, a + 9, "g /me/a.py:4");
		sample(tid, a + 9.9, "g /me/a.py:4");
	}
	ask();
}

static double won_by_no_sleeps(void)
{
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		if (test.y.walk.places.list[test.y.gains[i].place].line == 3) {
			assert_near(us_of(test.y.gains[i].lower), us_of(test.y.gains[i].upper));
			return us_of(test.y.gains[i].lower);
		}
	fail_msg("no gain at line 3");
	return 0;
}

static void two_processors_are_enough_for_two_workers(void **state)
{
	(void)state;
	two_workers("/bin/p100", "2");
	assert_near(won_by_no_sleeps(), 39.7);
}

/* 9.9 + 9.9 and 0.1 of each of three: 20.1 of 50. */
static void one_processor_does_one_after_the_other(void **state)
{
	(void)state;
	two_workers("/bin/p100", "1");
	assert_near(won_by_no_sleeps(), 50 - 20.3);
}

static void number_of_processors_may_be_unknown(void **state)
{
	(void)state;
	two_workers("/bin/p100", NULL);
	assert_near(won_by_no_sleeps(), 39.7);
}

static void gil_lets_one_after_the_other_compute(void **state)
{
	(void)state;
	two_workers("/usr/bin/python3.11", "8");
	assert_near(won_by_no_sleeps(), 50 - 19.8);
}

/* ---- one change ---- */

/* A sleep in f is one change, what a comprehension of f computes another one. */
static void sleep_and_comprehension_of_a_function_are_two_changes(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 1);
	call(MAIN, "usleep", 1, 31, "f /me/a.py:5");
	runs(MAIN, 31, 50, .ready = 31);
	computes(MAIN, 31, 50, "f.<locals>.<genexpr> /me/a.py:7");
	ask();
	assert_string_equal(gains(), "5 remove 30..30 bad\n7 remove 19..19 bad\n");
}

/* ---- looks for a job ---- */

/* Thread 101 works for the main thread, which made it, until @done; the main thread looks for the result after @cnt sleeps, together 40, at line 5. */
static void looks(int cnt, int maker, double done)
{
	double each = 40.0 / cnt, a = 10;

	report(60);
	runs(MAIN, 0, 10);
	for (int i = 0; i < cnt; i++) {
		call(MAIN, "usleep", a, a + each, L(5));
		a += each;
		runs(MAIN, a, i + 1 < cnt ? a + 0.1 : 60, .ready = a);
		a += 0.1;
	}
	runs(OTHER, 9.9, done, .by = maker);
	runs(102, 0, 60);
	ask();
}

/* Nothing but what follows the end of the work can be won: the last sleep ends at 50.3. */
static void sleep_lasts_for_the_job_in_both_bounds(void **state)
{
	(void)state;
	looks(4, MAIN, 45);
	assert_string_equal(gains(), "5 remove 5.3..5.3 bad\n");
}

/* Two sleeps are no loop of looks: perhaps both could go. */
static void two_sleeps_beside_a_job_may_go(void **state)
{
	(void)state;
	looks(2, MAIN, 35);
	assert_string_equal(gains(), "5 remove 15.1..40 bad\n");
}

/* The work is for another thread: nothing is known of why it sleeps. */
static void sleep_beside_work_for_others_may_go(void **state)
{
	(void)state;
	looks(4, 102, 45);
	assert_string_equal(gains(), "5 remove 40..40 bad\n");
}

/* ---- messages ---- */

/*
 * So many exchanges of @period: the main thread sends at line 5 in 40 us, and waits for the answer, which 101 makes in the rest, at line
 * 7. Then it computes for 10 ms at line 6.
 */
static void exchange(int cnt, double period)
{
	double end = cnt * period;

	report(end + 10);
	for (int i = 0; i < cnt; i++) {
		double a = i * period;

		runs(MAIN, a, a + 0.04, .by = i ? OTHER : 0, .ready = a);
		call(MAIN, "write", a, a + 0.04, L(5), .path = "pipe:[1]");
		call(MAIN, "read", a + 0.04, a + period, L(5), .path = "pipe:[2]");
		runs(OTHER, a + 0.04, a + period, .by = MAIN);
		call(OTHER, "write", a + 0.05, a + period, L(7), .path = "pipe:[2]");
	}
	runs(MAIN, end, end + 10, .by = OTHER);
	computes(MAIN, end, end + 10, L(6));
	ask();
}

/* All of 200 x 0.2 is the cost of messages: 0.55 of it, or all, but for what is before the first call at a line and after the last. */
static void many_messages_cost_what_each_costs(void **state)
{
	(void)state;
	exchange(200, 0.2);
	assert_string_equal(gains(), "7 batch 21.973..39.95 bad\n"
				     "5 batch 21.918..39.85 bad\n"
				     "6 remove 10..10 bad\n");
	assert_true(test.y.gains[0].is_of_messages);
}

static void few_messages_are_no_stream(void **state)
{
	(void)state;
	exchange(99, 0.2);
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		assert_false(test.y.gains[i].is_of_messages);
}

static void slow_messages_have_work_in_them(void **state)
{
	(void)state;
	exchange(200, 0.6);
	for (size_t i = 0; i < test.y.gains_cnt; i++)
		assert_false(test.y.gains[i].is_of_messages);
}

/* Two messages in 0.6 are no stream; with those that are too short for a row, 2000, they are. */
static void short_messages_count_by_their_totals(void **state)
{
	(void)state;
	sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 100, 0, 0, 'pipe:[1]')");
	sql("INSERT INTO SL_FILE_TOTALS VALUES (%lld, 1, 4, 0, 2000, 2000, 0)", tid_of(MAIN));
	exchange(200, 0.6);
	assert_true(test.y.gains[0].is_of_messages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_processors_are_enough_for_two_workers),
		TEST(one_processor_does_one_after_the_other),
		TEST(number_of_processors_may_be_unknown),
		TEST(gil_lets_one_after_the_other_compute),
		TEST(sleep_and_comprehension_of_a_function_are_two_changes),
		TEST(sleep_lasts_for_the_job_in_both_bounds),
		TEST(two_sleeps_beside_a_job_may_go),
		TEST(sleep_beside_work_for_others_may_go),
		TEST(many_messages_cost_what_each_costs),
		TEST(few_messages_are_no_stream),
		TEST(slow_messages_have_work_in_them),
		TEST(short_messages_count_by_their_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
