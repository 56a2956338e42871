/* why_replay.c - the recording once more with one change: when the main thread would have come to its end. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_replay_test.h"

/* Stack of a line of the program. */
#define L(n) "f" #n " /me/a.py:" #n

/* Samples each ms of (@from, @to]: the thread computes at the line. */
static void computes(int tid, double from, double to, const char *line)
{
	for (double t = from + 1; t <= to; t++)
		sample(tid, t, line);
}

/* ---- spans of a thread ---- */

/* 10 at line 1, 30 at line 2: without line 1 10 earlier, with 0.45 of it 5.5. */
static void computing(void)
{
	report(40);
	runs(MAIN, 0, 40);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 10, 40, L(2));
	ask();
}

static void removed_line_takes_no_time(void **state)
{
	(void)state;
	computing();
	assert_near(won(1, 0), 10);
	assert_near(won(2, 0), 30);
	assert_near(won(1, 1), 0);
}

static void share_of_a_line_stays(void **state)
{
	(void)state;
	computing();
	assert_near(won(1, 0.45), 5.5);
}

/* By thread: of the main thread's number half stays, whatever @keep is. */
static void share_by_thread(void **state)
{
	double shares[4] = {1, 1, 1, 1};

	(void)state;
	computing();
	shares[test.y.focus] = 0.5;
	assert_near(won(2, 0, .of_thread = shares), 15);
}

/* The thread sleeps 10-30 at line 5 and gets its CPU at 34. */
static void sleeping(void)
{
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "usleep", 10, 34, L(5));
	runs(MAIN, 34, 60, .ready = 30);
	computes(MAIN, 40, 60, L(1));
	ask();
}

/* Without the wait there is no waiting for a CPU after it: 24. */
static void removed_wait_has_no_wait_for_a_cpu(void **state)
{
	(void)state;
	sleeping();
	assert_near(won(5, 0), 24);
}

/* Of more than half of a wait, the wait for a CPU stays: 8 of 20 are won. Or of that, 0.4 of 4, too. */
static void shorter_wait_keeps_its_wait_for_a_cpu(void **state)
{
	(void)state;
	sleeping();
	assert_near(won(5, 0.6), 8);
	assert_near(won(5, 0.6, .without_cpu_waits = true), 8 + 1.6);
	/* Half of it is none: 10, and the 4. */
	assert_near(won(5, 0.5), 14);
}

/* 10-20 without a CPU in the middle of line 1's 20 ms: it stays unless it goes with the line. */
static void time_without_a_cpu_may_go_with_its_line(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10, .preempted = true);
	runs(MAIN, 20, 60);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 20, 30, L(1));
	computes(MAIN, 30, 60, L(2));
	ask();
	assert_near(won(1, 0), 20);
	assert_near(won(1, 0, .without_cpu_waits = true), 30);
	assert_near(won(2, 0, .without_cpu_waits = true), 30);
	assert_near(won(1, 0.5, .without_cpu_waits = true), 15);
}

/* ---- what records the program ---- */

/* 10 of CUPTI in a call; it is no line's. */
static void tracer_takes_no_time(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 30, L(1));
	for (int t = 31; t <= 40; t++)
		sample(MAIN, t, "x /lib/libcupti.so.13; y /lib/libcuda.so.1; " L(2));
	computes(MAIN, 40, 60, L(1));
	ask();
	assert_near(won(0, 1, .without_tracer = true), 10);
	assert_near(won(1, 0), 50);
	assert_near(won(1, 0, .without_tracer = true), 60);
}

/* ---- imports ---- */

#define IMPORT "x <frozen importlib._bootstrap>; " L(3)

/* Line 3 computes 10 and imports 20; the import is its own only with @with_imports. */
static void imports_go_with_their_line(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	computes(MAIN, 0, 10, L(3));
	for (int t = 11; t <= 30; t++)
		sample(MAIN, t, IMPORT);
	computes(MAIN, 30, 60, L(1));
	ask();
	assert_near(won(3, 0), 10);
	assert_near(won(3, 0, .with_imports = true), 30);
	assert_near(won(1, 0, .with_imports = true), 30);
}

/* ---- waits for other threads ---- */

/*
 * Thread 101 computes 0-10 at line 8 and 10-30 at line 9, then wakes the main thread, which has waited since 10 in @name at line 5
 * and ends at 40.
 */
static void waits_for_101(const char *name)
{
	report(40);
	runs(OTHER, 0, 31);
	computes(OTHER, 0, 10, L(8));
	computes(OTHER, 10, 30, L(9));
	runs(MAIN, 0, 10);
	call(MAIN, name, 10, 30, L(5));
	runs(MAIN, 30, 40, .by = OTHER);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 30, 40, L(1));
	ask();
}

/* Line 9 is the whole wait. Of the line before, 10 come earlier; and line 1's first 10 do not matter. */
static void wait_ends_when_the_waker_comes(void **state)
{
	struct replay_edit e = {.sync = REPLAY_ANY};

	(void)state;
	waits_for_101("pthread_cond_wait");
	assert_near(won(9, 0), 20);
	/* Line 1: the wait ends at 30 all the same; 10 at the end. */
	assert_near(won(1, 0), 10);
	/* Without both, 101 comes at 10, and the main thread has waited for it. */
	e.culprits = bit_of(9) | bit_of(1);
	assert_near(won_by(e), 30);
}

/* The line of the wait itself is not what takes the time: nothing. */
static void line_of_the_wait_alone_wins_nothing(void **state)
{
	(void)state;
	report(40);
	runs(OTHER, 0, 31);
	computes(OTHER, 0, 30, L(9));
	runs(MAIN, 0, 10);
	call(MAIN, "pthread_cond_wait", 10, 30, L(5));
	runs(MAIN, 30, 40, .by = OTHER);
	computes(MAIN, 0, 4, L(5));
	ask();
	/* Its 4 on a CPU come before a wait that ends as it did. */
	assert_near(won(5, 0), 0);
}

/* A lock: without line 1, the wait of 20 begins at 0 and, as nothing asks for an order, is as long: 20 earlier. */
static void wait_for_a_lock_keeps_its_length(void **state)
{
	(void)state;
	waits_for_101("pthread_mutex_lock");
	assert_near(won(1, 0), 20);
	assert_near(won(1, 0, .keeps_order = true), 10);
	assert_near(won(9, 0), 20);
	assert_near(won(9, 0.5), 10);
}

/* 101 runs line 7 before the main thread waits: of its 10, none is won at a lock, if it does not keep the order. */
static void time_before_a_lock_is_waited_for(void **state)
{
	(void)state;
	report(50);
	runs(OTHER, 0, 41);
	computes(OTHER, 0, 20, L(7));
	computes(OTHER, 20, 40, L(9));
	runs(MAIN, 0, 20);
	call(MAIN, "pthread_mutex_lock", 20, 40, L(5));
	runs(MAIN, 40, 50, .by = OTHER);
	computes(MAIN, 40, 50, L(1));
	/* What the focus thread never waits for has no culprit: make 101's time before one. */
	ask_how(&(struct why_ask){.tid = OTHER});
	assert_near(won(7, 0), 20);
	ask();
	assert_near(won(9, 0), 20);
}

/* The other thread wakes a third one, which wakes the main thread: 20 ms of line 9 go all the way. */
static void change_goes_along_a_chain(void **state)
{
	(void)state;
	report(60);
	runs(102, 0, 31);
	computes(102, 0, 30, L(9));
	runs(OTHER, 0, 5);
	call(OTHER, "pthread_cond_wait", 5, 30, L(6));
	runs(OTHER, 30, 41, .by = 102);
	computes(OTHER, 30, 40, L(8));
	runs(MAIN, 0, 5);
	call(MAIN, "pthread_cond_wait", 5, 40, L(5));
	runs(MAIN, 40, 60, .by = OTHER);
	computes(MAIN, 40, 60, L(1));
	ask();
	/* 5-40: without line 9 102 comes at 0, 101 at its 5 and, after 10 of line 8, at 15: 25 earlier. */
	assert_near(won(9, 0), 25);
	assert_near(won(8, 0), 10);
	/* 101 then comes at 5, and so does the main thread. */
	assert_near(
		won_by((struct replay_edit){.culprits = bit_of(9) | bit_of(8), .sync = REPLAY_ANY}),
		35);
}

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

/* ---- spans without a line ---- */

/*
 * Line 30 waits 10-31 for child 200, which has no lines: it sleeps 10-30. Line 31 waits 32-53 for process @second, which is in
 * @name 32-52. The main thread is on a CPU 31-32 and 53-60.
 */
static void children_without_lines(int second, const char *name)
{
	report(60);
	process(CHILD, MAIN, 9, 53);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(1));
	call(MAIN, "waitpid", 10, 31, L(30));
	runs(CHILD, 9, 10, .by = MAIN);
	call(CHILD, "usleep", 10, 30, NULL);
	runs(CHILD, 30, 32);
	runs(MAIN, 31, 32, .by = CHILD);
	call(MAIN, "waitpid", 32, 53, L(31));
	if (second != CHILD) {
		process(second, MAIN, 31.5, 53);
		runs(second, 31.5, 32, .by = MAIN);
	}
	call(second, name, 32, 52, NULL);
	runs(second, 52, 53);
	runs(MAIN, 53, 60, .by = second);
	computes(MAIN, 53, 60, L(1));
	ask();
}

/* Two children that do the same: each is due to the line that waits for it. 20 asleep and 1 on a CPU. */
static void equal_causes_of_two_processes(void **state)
{
	(void)state;
	children_without_lines(300, "usleep");
	assert_near(won(30, 0), 21);
	assert_near(won(31, 0), 21);
	/* Half of 9-10, of the sleep and of 30-31: the child is done at 20. */
	assert_near(won(30, 0.5), 11);
}

/*
 * One child that sleeps, and then reads: the sleep is line 30's, the read line 31's. What it computes is the first line's, as both
 * have 1 ms of it: 9-10, 30-32 and 52-53 go with line 30. So without that, the read is over at 9 + 20: 24 earlier.
 */
static void two_causes_of_one_process(void **state)
{
	(void)state;
	children_without_lines(CHILD, "read");
	assert_near(won(31, 0), 20);
	assert_near(won(30, 0), 24);
}

/* ---- spans of the focus ---- */

static void is_asked_of(const char *name)
{
	ask_how(&(struct why_ask){.nvtx = name});
}

/* Ranges 0-10 and 20-30; line 1 has 0-6 and 14-26, line 2 the rest. Of the ranges: 6 + 6 are line 1's. What is between is none's. */
static void only_what_is_in_ranges_counts(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	computes(MAIN, 0, 6, L(1));
	computes(MAIN, 6, 14, L(2));
	computes(MAIN, 14, 26, L(1));
	computes(MAIN, 26, 40, L(2));
	range(MAIN, 0, 10, "part");
	range(MAIN, 20, 30, "part");
	is_asked_of("part");
	assert_int_equal(test.y.ns, 20 * MS);
	assert_near(won(1, 0), 12);
	assert_near(won(2, 0), 8);
	assert_near(won(1, 0.5), 6);
}

/* ---- sums ---- */

/* Of line 5: 20 asleep, twice; 10 of it on a CPU: first at 0, last to 60. Waits for others are none. */
static void sums_of_a_line(void **state)
{
	struct replay_edit edit = {.keep = 1, .sync = REPLAY_ANY};
	struct replay r = {.edits = &edit, .cnt = 1};
	const struct replay_sum *s;

	(void)state;
	report(80);
	runs(MAIN, 0, 10);
	computes(MAIN, 0, 10, L(5));
	call(MAIN, "usleep", 10, 30, L(5));
	runs(MAIN, 30, 40);
	call(MAIN, "usleep", 40, 60, L(5));
	runs(MAIN, 60, 80);
	computes(MAIN, 30, 40, L(1));
	computes(MAIN, 60, 80, L(1));
	ask();
	r.culprits = test.y.culprits_cnt;
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	s = &r.sums[culprit_at(5) * test.y.model.threads_cnt + test.y.focus];
	assert_int_equal(s->ns, 50 * MS);
	assert_int_equal(s->waits, 40 * MS);
	assert_int_equal(s->first, 0);
	assert_int_equal(s->last, 60 * MS);
	replay_free(&r);
	assert_null(r.sums);
	/* A culprit beyond those that are asked for has no sums, and is not changed. */
	r.culprits = culprit_at(5);
	edit.culprits = ~UINT64_C(0);
	edit.keep = 0;
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	assert_int_equal(r.end[0], (r.culprits ? 50 : 80) * MS);
	replay_free(&r);
}

/* Of waits that no thread ends, those for something outside of the program count as such. */
static void waits_for_something_outside(void **state)
{
	static const struct {
		const char *name;
		bool is_outside;
	} waits[] = {
		{"usleep", true},        {"read", true},
		{"fsync", true},         {"recv", true},
		{"poll", true},          {"sigwait", true},
		{"sem_wait", false},     {"pthread_mutex_lock", false},
		{"pthread_join", false}, {"waitpid", false},
		{"frobnicate", false},
	};
	struct replay_edit edit = {.keep = 1, .sync = REPLAY_ANY};
	struct replay r = {.edits = &edit, .cnt = 1};

	(void)state;
	report(220);
	for (int i = 0; i < 11; i++) {
		char line[32];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, 200 + i);
		runs(MAIN, 20 * i, 20 * i + 10);
		computes(MAIN, 20 * i, 20 * i + 10, L(1));
		call(MAIN, waits[i].name, 20 * i + 10, 20 * i + 20, line);
	}
	ask();
	r.culprits = test.y.culprits_cnt;
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	for (int i = 0; i < 11; i++) {
		const struct replay_sum *s =
			&r.sums[culprit_at(200 + i) * test.y.model.threads_cnt + test.y.focus];

		assert_int_equal(s->ns, 10 * MS);
		if (s->waits != (waits[i].is_outside ? 10 * MS : 0))
			fail_msg("%s", waits[i].name);
	}
	replay_free(&r);
}

/* ---- the order of threads ---- */

/* Sixty threads that end at one time, one after the other woken by the one before, all in no time: line 9 is the first one's. */
static void many_threads_at_one_time(void **state)
{
	(void)state;
	report(60);
	runs(101, 0, 40);
	computes(101, 0, 40, L(9));
	for (int i = 2; i < 60; i++) {
		runs(100 + i, 0, 5);
		call(100 + i, "pthread_cond_wait", 5, 40, NULL);
		runs(100 + i, 40, 41, .by = 99 + i);
	}
	runs(MAIN, 0, 5);
	call(MAIN, "pthread_cond_wait", 5, 40, L(5));
	runs(MAIN, 40, 60, .by = 159);
	computes(MAIN, 40, 60, L(1));
	ask();
	/* Each is at 5 when it waits. */
	assert_near(won(9, 0), 35);
}

/* The main thread, the first of the report, is woken at 30 by a thread whose sleep ends then, too: that comes before. */
static void waker_comes_before_the_woken_at_one_time(void **state)
{
	(void)state;
	report(50);
	runs(MAIN, 0, 10);
	call(MAIN, "pthread_cond_wait", 10, 30, L(5));
	runs(MAIN, 30, 50, .by = OTHER);
	computes(MAIN, 30, 50, L(1));
	runs(OTHER, 0, 10);
	call(OTHER, "usleep", 10, 30, L(9));
	runs(OTHER, 30, 31);
	ask();
	assert_near(won(9, 0), 20);
	assert_near(won(9, 0.5), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removed_line_takes_no_time),
		TEST(share_of_a_line_stays),
		TEST(share_by_thread),
		TEST(removed_wait_has_no_wait_for_a_cpu),
		TEST(shorter_wait_keeps_its_wait_for_a_cpu),
		TEST(time_without_a_cpu_may_go_with_its_line),
		TEST(tracer_takes_no_time),
		TEST(imports_go_with_their_line),
		TEST(wait_ends_when_the_waker_comes),
		TEST(line_of_the_wait_alone_wins_nothing),
		TEST(wait_for_a_lock_keeps_its_length),
		TEST(time_before_a_lock_is_waited_for),
		TEST(change_goes_along_a_chain),
		TEST(fewer_looks_if_the_event_comes_earlier),
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
		TEST(equal_causes_of_two_processes),
		TEST(two_causes_of_one_process),
		TEST(only_what_is_in_ranges_counts),
		TEST(sums_of_a_line),
		TEST(waits_for_something_outside),
		TEST(many_threads_at_one_time),
		TEST(waker_comes_before_the_woken_at_one_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
