/* why_replay_waits.c - waits in the replay that no order is known of: polls, jobs, births, a driver's locks. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_replay_test.h"

/* ---- polls and timers ---- */

/*
 * The main thread looks each 10 ms (a condition with a time limit) until at 40 thread 101 wakes it: what 101 does is line 9. Without
 * that, the first look ends by it.
 */
static void fewer_looks_if_the_event_comes_earlier(void **state)
{
	(void)state;
	report(50);
	runs(OTHER, 0, 41);
	computes(OTHER, 0, 40, L(9));
	for (int i = 0; i < 4; i++) {
		runs(MAIN, i ? 10 * i - 0.1 : 0, 10 * i, .ready = i ? 10 * i - 0.1 : 0);
		call(MAIN, "pthread_cond_timedwait", 10 * i, i < 3 ? 10 * i + 9.9 : 40, L(5));
	}
	runs(MAIN, 40, 50, .by = OTHER);
	computes(MAIN, 40, 50, L(1));
	ask();
	/* All but 0.3 on a CPU between the looks, and line 1: 39.7. */
	assert_near(won(9, 0), 39.7);
}

/* ---- looks in a loop ---- */

#define LIMIT 110 /* ETIMEDOUT */

/*
 * Three looks, 10-20, 21-31, 32-42, the main thread without a CPU until 46; thread 101, whose line is 9, is done at 44. @lock: it waits for
 * a lock of thread 102 between the first two.
 */
static void looks_until_it_is_done(bool lock)
{
	report(60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0,
		     .by = lock && i == 1 ? 102 : 0);
		call(MAIN, "pthread_cond_timedwait", 10 + 11 * i, 20 + 11 * i - (lock && !i), L(5),
		     .result = LIMIT);
	}
	if (lock) {
		runs(MAIN, 19, 19.5, .ready = 19);
		call(MAIN, "pthread_mutex_lock", 19.5, 20, L(6));
		runs(102, 0, 30);
	}
	runs(MAIN, 46, 60, .ready = 42);
	runs(OTHER, 0, 44);
	computes(OTHER, 0, 44, L(9));
	ask();
}

/* Were it done at once, neither a look nor what is between two looks would be needed: all of 10-46. */
static void no_look_is_needed_for_what_is_there(void **state)
{
	(void)state;
	looks_until_it_is_done(false);
	assert_near(won(9, 0), 36);
	/* A half of 42, as far as it was at the end of the last look; then 4 without a CPU. */
	assert_near(won(9, 0.5), 21);
}

static void lock_between_looks_does_not_end_them(void **state)
{
	(void)state;
	looks_until_it_is_done(true);
	assert_near(won(9, 0), 36);
}

/* ---- other jobs ---- */

/*
 * The main thread makes 101 (line 9, until 50) and 102 (line 7, until 30), and waits for 101 at line 5; then it computes for @ms, and
 * sleeps.
 */
static void two_jobs(double ms)
{
	report(80);
	runs(MAIN, 0, 10);
	call(MAIN, "pthread_join", 10, 50, L(5));
	runs(MAIN, 50, 50 + ms, .by = OTHER);
	call(MAIN, "usleep", 50 + ms, 70, L(6));
	runs(MAIN, 70, 80, .ready = 70);
	runs(OTHER, 5, 50, .by = MAIN);
	computes(OTHER, 5, 50, L(9));
	runs(102, 5, 30, .by = MAIN);
	computes(102, 5, 30, L(7));
	ask();
}

/* Without 101's work, the main thread still has to wait for 102: from 51 to 30. */
static void other_job_is_waited_for_as_well(void **state)
{
	(void)state;
	two_jobs(1);
	assert_near(won(9, 0), 21);
}

/* It computes for 15 before it needs that: from 10 to 25, and then to 30. */
static void other_job_is_needed_at_the_next_wait(void **state)
{
	(void)state;
	two_jobs(15);
	assert_near(won(9, 0), 35);
}

/* A job of the waker that was done before is no other one: twice 20 of line 9, the second given at 30. */
static void jobs_in_turn_need_no_others(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "sem_wait", 10, 30, L(5));
	runs(MAIN, 30, 31, .by = OTHER);
	call(MAIN, "sem_wait", 31, 50, L(5));
	runs(MAIN, 50, 60, .by = OTHER);
	runs(OTHER, 10, 30.5, .by = MAIN);
	call(OTHER, "sem_wait", 30.5, 31, L(4));
	runs(OTHER, 31, 50.5, .by = MAIN);
	computes(OTHER, 10, 50, L(9));
	ask();
	assert_near(won(9, 0), 39);
}

/* Twice, a job of 20 ms (line 7) of a thread that the main thread has just woken; it sleeps for 30 (line 5), longer than the job. */
static void jobs(const char *name, int maker)
{
	report(80);
	runs(102, 0, 80);
	for (int i = 0; i < 2; i++) {
		int a = 40 * i;

		runs(MAIN, a, a + 10, .ready = a);
		call(MAIN, name, a + 10, a + 40, L(5));
		computes(MAIN, a, a + 10, L(1));
		runs(OTHER, a + 10, a + 30, .by = maker);
		computes(OTHER, a + 10, a + 30, L(7));
		call(OTHER, "sem_wait", a + 30, i ? a + 30 : a + 50, NULL);
	}
	ask();
}

/*
 * Without the sleeps the main thread still waits for the first job, which ends at 30, then computes, and waits for the second, 40-60:
 * 20 of the 80 are won. Of 0.9 of each sleep, 27, the job is over before: 3 each.
 */
static void sleep_lasts_until_the_jobs_are_done(void **state)
{
	(void)state;
	jobs("usleep", MAIN);
	assert_near(won(5, 0), 60);
	assert_near(won(5, 0, .keeps_jobs = true), 20);
	/* 0.5 of each is 15: still less than the job of 20. */
	assert_near(won(5, 0.5, .keeps_jobs = true), 20);
	assert_near(won(5, 0.9, .keeps_jobs = true), 6);
}

/* Another thread gave the jobs: the sleeps do not wait for them. */
static void jobs_of_others_are_not_waited_for(void **state)
{
	(void)state;
	jobs("usleep", 102);
	assert_near(won(5, 0, .keeps_jobs = true), 60);
}

/* The job waits in the middle, 15-20 of each, for the GIL or a lock that thread 102 gives back: it is not done until 30. */
static void job_that_waits_for(const char *name, const char *stack)
{
	report(80);
	runs(102, 0, 80);
	for (int i = 0; i < 2; i++) {
		int a = 40 * i;

		runs(MAIN, a, a + 10, .ready = a);
		call(MAIN, "usleep", a + 10, a + 40, L(5));
		computes(MAIN, a, a + 10, L(1));
		runs(OTHER, a + 10, a + 15, .by = MAIN);
		call(OTHER, name, a + 15, a + 20, stack);
		runs(OTHER, a + 20, a + 30, .by = 102);
		call(OTHER, "sem_wait", a + 30, i ? a + 30 : a + 50, NULL);
	}
	ask();
	assert_near(won(5, 0, .keeps_jobs = true), 20);
}

static void wait_for_the_gil_is_part_of_a_job(void **state)
{
	(void)state;
	job_that_waits_for("pthread_cond_timedwait", "take_gil /usr/bin/python3; " L(7));
}

static void wait_for_a_lock_is_part_of_a_job(void **state)
{
	(void)state;
	job_that_waits_for("pthread_mutex_lock", L(7));
}

/* A job that was done at 15, before the sleep began at 20, is none that the sleep waits for: without lines 1 and 5, 40. */
static void job_that_was_done_before_the_sleep(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 20);
	computes(MAIN, 0, 10, L(2));
	computes(MAIN, 10, 20, L(1));
	call(MAIN, "usleep", 20, 50, L(5));
	runs(MAIN, 50, 60);
	computes(MAIN, 50, 60, L(3));
	runs(OTHER, 10, 15, .by = MAIN);
	call(OTHER, "sem_wait", 15, 15, NULL);
	ask();
	assert_near(won_by((struct replay_edit){.culprits = bit_of(1) | bit_of(5),
						.sync = REPLAY_ANY,
						.keeps_jobs = true}),
		    40);
}

/* A read is no wait for whatever is ready. */
static void wait_for_a_file_does_not_wait_for_jobs(void **state)
{
	(void)state;
	jobs("read", MAIN);
	assert_near(won(5, 0, .keeps_jobs = true), 60);
}

/* ---- polls that end from outside ---- */

/* poll() of 30 at line 5 returns @result: with one, something came. */
static void polls(int result)
{
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "poll", 10, 40, L(5), .result = result);
	runs(MAIN, 40, 60);
	computes(MAIN, 40, 60, L(1));
	ask();
}

static void input_comes_no_earlier(void **state)
{
	(void)state;
	polls(1);
	assert_near(won(5, 0, .keeps_jobs = true), 0);
	assert_near(won(5, 0), 30);
}

static void time_limit_of_a_poll_comes_earlier(void **state)
{
	(void)state;
	polls(0);
	assert_near(won(5, 0, .keeps_jobs = true), 30);
}

/* One that never ends waits for something from outside. */
static void poll_without_end_ends_as_it_did(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "poll", 10, 10, L(5));
	ask();
	assert_near(won(5, 0, .keeps_jobs = true), 0);
	assert_near(won(5, 0), 50);
}

/* ---- births and ends ---- */

/* The child is made at 10, after 10 ms of line 1; it sleeps until 30 and ends, which the main thread waits for (line 5). */
static void child(double born)
{
	report(40);
	process(CHILD, MAIN, born, 30);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "waitpid", 10, 30, L(5));
	runs(MAIN, 30, 40, .by = CHILD);
	computes(MAIN, 30, 40, L(2));
	runs(CHILD, born, 12, .by = MAIN);
	call(CHILD, "usleep", 12, 29, L(9));
	runs(CHILD, 29, 30);
	ask();
}

static void child_is_born_when_its_parent_comes(void **state)
{
	(void)state;
	child(10);
	assert_near(won(1, 0), 10);
	assert_near(won(9, 0), 17);
	assert_near(
		won_by((struct replay_edit){.culprits = bit_of(1) | bit_of(9), .sync = REPLAY_ANY}),
		27);
}

/* Born before the parent had done the half of line 1, at 5: 5 earlier, and the line's rest does not matter. */
static void child_is_born_in_the_middle_of_its_parents_span(void **state)
{
	(void)state;
	child(5);
	assert_near(won(1, 0), 5);
}

/* Who woke it first is not known: its process has a parent, whose main thread it was. */
static void child_of_an_unknown_waker_is_its_parents(void **state)
{
	(void)state;
	report(40);
	process(CHILD, MAIN, 10, 30);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "waitpid", 10, 30, L(5));
	runs(MAIN, 30, 40, .by = CHILD);
	runs(CHILD, 10, 30);
	ask();
	assert_near(won(1, 0), 10);
}

/* Of a thread with neither waker nor parent, the birth stays where it was. */
static void thread_of_no_parent_is_born_as_it_was(void **state)
{
	(void)state;
	report(40);
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, NULL, 5, 40, 0, 1, '/bin/x', 'x', 0)",
	    pid_of(CHILD));
	sql("UPDATE SL_PROCESS_TREE SET parentGlobalPid = 1 WHERE globalPid = %lld", pid_of(CHILD));
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "recv", 10, 30, L(5));
	runs(MAIN, 30, 40, .by = CHILD);
	runs(CHILD, 10, 30);
	ask();
	assert_near(won(1, 0), 0);
}

/*
 * The child's thread 201 waits for a second one; the main thread of the child ends the process at 29, which ends that wait,
 * wherever 201 is: 17 of the sleep are won, though 201 has polled 12-29.
 */
static void end_of_a_process_ends_its_threads(void **state)
{
	(void)state;
	report(40);
	process(CHILD, MAIN, 5, 30);
	runs(MAIN, 0, 10);
	call(MAIN, "waitpid", 10, 30, L(5));
	runs(CHILD, 5, 12, .by = MAIN);
	call(CHILD, "usleep", 12, 28, L(9));
	runs(CHILD, 28, 29.5);
	runs(201, 6, 7, .by = CHILD);
	runs(201, 20, 21, .ready = 20);
	runs(201, 29, 30, .by = CHILD);
	runs(MAIN, 30, 40, .by = 201);
	ask();
	assert_near(won(9, 0), 16);
}

/* ---- locks of a GPU's driver ---- */

/*
 * 0-50 line 110, 50-51.5 line 112; in a launch at line 111 the main thread waits 52-55 until thread 101, which runs all the time,
 * wakes it, in the call @name from @from to @to; NULL: in none of libc.
 */
static void driver(const char *name, double from, double to)
{
	report(100);
	runs(MAIN, 0, 52);
	computes(MAIN, 0, 50, L(110));
	computes(MAIN, 50, 51, L(112));
	runs(OTHER, 0, 56);
	cuda(MAIN, "cudaLaunchKernel", 51.5, 56, L(111), 1);
	if (name)
		call(MAIN, name, from, to, NULL);
	runs(MAIN, 55, 100, .by = OTHER);
	computes(MAIN, 56, 100, L(113));
	ask();
}

/* Nothing asks for the order in which a driver gives its locks: the wait of 3 is as long whenever it begins. */
static void lock_of_a_driver_makes_no_order(void **state)
{
	(void)state;
	driver(NULL, 0, 0);
	assert_near(won(110, 0), 50);
}

static void unknown_wait_in_a_driver_makes_no_order(void **state)
{
	(void)state;
	driver("frobnicate", 51.9, 55);
	assert_near(won(110, 0), 50);
}

/* It waits for a message of the other thread, which comes when it did. */
static void message_in_a_driver_makes_an_order(void **state)
{
	(void)state;
	driver("recv", 51.9, 55);
	assert_near(won(110, 0), 0);
}

/* A call that ended at 52, as the wait began, is not what it waits in. */
static void call_that_ends_as_a_wait_begins(void **state)
{
	(void)state;
	driver("recv", 51.9, 52);
	assert_near(won(110, 0), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fewer_looks_if_the_event_comes_earlier),
		TEST(no_look_is_needed_for_what_is_there),
		TEST(lock_between_looks_does_not_end_them),
		TEST(other_job_is_waited_for_as_well),
		TEST(other_job_is_needed_at_the_next_wait),
		TEST(jobs_in_turn_need_no_others),
		TEST(sleep_lasts_until_the_jobs_are_done),
		TEST(jobs_of_others_are_not_waited_for),
		TEST(wait_for_the_gil_is_part_of_a_job),
		TEST(wait_for_a_lock_is_part_of_a_job),
		TEST(job_that_was_done_before_the_sleep),
		TEST(wait_for_a_file_does_not_wait_for_jobs),
		TEST(input_comes_no_earlier),
		TEST(time_limit_of_a_poll_comes_earlier),
		TEST(poll_without_end_ends_as_it_did),
		TEST(child_is_born_when_its_parent_comes),
		TEST(child_is_born_in_the_middle_of_its_parents_span),
		TEST(child_of_an_unknown_waker_is_its_parents),
		TEST(thread_of_no_parent_is_born_as_it_was),
		TEST(end_of_a_process_ends_its_threads),
		TEST(lock_of_a_driver_makes_no_order),
		TEST(unknown_wait_in_a_driver_makes_no_order),
		TEST(message_in_a_driver_makes_an_order),
		TEST(call_that_ends_as_a_wait_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
