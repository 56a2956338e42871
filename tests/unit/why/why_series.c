/* why_series.c - waits of a loop with a time limit are one wait; what is before the birth of the thread that ended a wait. */
#include "tests/unit/why/why_test.h"

#define THIRD  102
#define WORKER 201

#define LOOK  L(5)
#define WORK  L(9)
#define LIMIT 110 /* ETIMEDOUT */

/*
 * The main thread looks four times, 10-20, 21-31, 32-42, 43-50 at line 5 in @name, which returns @over when its time is up; the last look
 * is ended by @waker. Between two looks it is on a CPU for 1 ms.
 */
static void looks(const char *name, int over, int waker)
{
	report(60);
	for (int i = 0; i < 4; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, name, 10 + 11 * i, i < 3 ? 20 + 11 * i : 50, LOOK,
		     .result = i < 3 ? over : !over);
	}
	runs(MAIN, 50, 60, .by = waker, .ready = 50);
}

static void worker_computes(void)
{
	runs(OTHER, 0, 51);
	computes(OTHER, 0, 51, WORK);
}

/* All of 10-50 but for the 3 ms between the looks is the worker's; 10 + 10 before and after. */
static void looks_at_a_condition_are_one_wait(void **state)
{
	(void)state;
	looks("pthread_cond_timedwait", LIMIT, OTHER);
	worker_computes();
	ask();
	assert_string_equal(parts(), "COMPUTE 23\nCOMPUTE at a.py:9 in f9 @101 37\n");
	/* The last look has a measured waker, the others that of the last: 7 of 37 are sure. */
	assert_near(test.y.parts[0].sure, (7 + 30 * 0.7) / 37);
}

static void looks_of_a_semaphore_are_one_wait(void **state)
{
	(void)state;
	looks("sem_clockwait", -1, OTHER);
	worker_computes();
	ask();
	assert_string_equal(parts(), "COMPUTE 23\nCOMPUTE at a.py:9 in f9 @101 37\n");
}

/* A JVM looks for a monitor again and again. */
static void looks_for_a_monitor_of_java_are_one_wait(void **state)
{
	(void)state;
	report(60);
	for (int i = 0; i < 4; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "pthread_cond_timedwait", 10 + 11 * i, i < 3 ? 20 + 11 * i : 50,
		     "ObjectMonitor::enter /usr/lib/jvm/libjvm.so; f /me/a.py:5",
		     .result = i < 3 ? LIMIT : 0);
	}
	runs(MAIN, 50, 60, .by = OTHER, .ready = 50);
	worker_computes();
	ask();
	assert_near(of_reason(WHY_LOCK), 0);
}

/* epoll_wait() returns 0 when its time is up. */
static void polls_with_a_limit_are_one_wait(void **state)
{
	(void)state;
	looks("epoll_wait", 0, OTHER);
	worker_computes();
	ask();
	assert_string_equal(parts(), "COMPUTE 23\nCOMPUTE at a.py:9 in f9 @101 37\n");
}

/* It returns 1 for what came from outside: the first three waits were for that, and not for the thread. */
static void polls_that_found_something_are_none_of_a_series(void **state)
{
	(void)state;
	report(60);
	for (int i = 0; i < 4; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "epoll_wait", 10 + 11 * i, i < 3 ? 20 + 11 * i : 50, LOOK, .result = 1);
	}
	runs(MAIN, 50, 60, .by = OTHER, .ready = 50);
	worker_computes();
	ask();
	assert_string_equal(parts(), "COMPUTE 23\n"
				     "COMPUTE at a.py:9 in f9 @101 7\n"
				     "POLL at a.py:5 in f5 30\n");
}

/*
 * Thread 101 is done at @done; the main thread, without a CPU then, finds it without another wait. Thread 102 does its own work: from 5 to
 * @other.
 */
static void found_at_once(const char *name, double done, double other)
{
	report(60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, name, 10 + 11 * i, 20 + 11 * i, LOOK,
		     .result = strcmp(name, "epoll_wait") == 0 ? 0 : LIMIT);
	}
	runs(MAIN, 46, 60, .ready = 42);
	runs(OTHER, 0, done);
	computes(OTHER, 0, done, WORK);
	runs(THIRD, 5, other);
	ask();
}

/* Of three looks, 10-20, 21-31, 32-42, all 30 are for the thread that was done at 44. */
static void thread_that_was_done_since_the_last_look_ended_the_loop(void **state)
{
	(void)state;
	found_at_once("epoll_wait", 44, 60);
	assert_near(of_reason(WHY_POLL), 0);
	assert_string_equal(
		parts(), "COMPUTE 26\nCOMPUTE at a.py:9 in f9 @101 30\nNO_CPU at a.py:5 in f5 4\n");
}

static void condition_is_found_at_once_likewise(void **state)
{
	(void)state;
	found_at_once("pthread_cond_timedwait", 44, 60);
	assert_near(of_reason(WHY_QUEUE), 0);
}

/* It was done in the look before, at 22: the look after that would have found it. */
static void thread_that_was_done_before_ended_nothing(void **state)
{
	(void)state;
	found_at_once("epoll_wait", 22, 60);
	assert_near(of_reason(WHY_POLL), 30);
}

static void one_of_two_threads_ended_the_loop(void **state)
{
	(void)state;
	found_at_once("epoll_wait", 44, 45);
	assert_near(of_reason(WHY_POLL), 30);
}

/* The last look goes on at the end of the recording: for what, is not known. */
static void series_that_goes_on_is_a_poll(void **state)
{
	(void)state;
	report(60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "epoll_wait", 10 + 11 * i, i < 2 ? 20 + 11 * i : 32, LOOK);
	}
	runs(OTHER, 0, 44);
	ask();
	assert_near(of_reason(WHY_POLL), 10 + 10 + 28);
}

/* A thread of another process that is done then has no part in it. */
static void thread_of_another_process_ended_nothing(void **state)
{
	(void)state;
	report(60);
	process(CHILD, MAIN, 0, 60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "epoll_wait", 10 + 11 * i, 20 + 11 * i, LOOK);
	}
	runs(MAIN, 46, 60, .ready = 42);
	runs(CHILD, 0, 44);
	ask();
	assert_near(of_reason(WHY_POLL), 30);
}

/* Others take the CPU from it, 43-50, before it is done: 0.9 ms later on a CPU, or 1.1. */
static void preempted_until(double end)
{
	report(60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "epoll_wait", 10 + 11 * i, 20 + 11 * i, LOOK);
	}
	runs(MAIN, 46, 60, .ready = 42);
	runs(OTHER, 0, 43, .preempted = true);
	runs(OTHER, 50, end);
	ask();
}

static void thread_without_a_cpu_is_done_when_it_has_one(void **state)
{
	(void)state;
	preempted_until(51);
	assert_near(of_reason(WHY_POLL), 0);
}

static void thread_that_goes_on_is_not_done(void **state)
{
	(void)state;
	preempted_until(51.001);
	assert_near(of_reason(WHY_POLL), 30);
}

/* A condition of which the time was up, after 10 as before, or @ms; then it had come: the call returns 0, and no thread is known. */
static void found_as_the_time_was_up(double ms)
{
	report(60);
	for (int i = 0; i < 3; i++) {
		runs(MAIN, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(MAIN, "sem_clockwait", 10 + 11 * i, i < 2 ? 20 + 11 * i : 46, LOOK,
		     .result = i < 2 ? -1 : 0);
	}
	runs(MAIN, 46, 60, .ready = 32 + ms);
	runs(OTHER, 0, 44);
	ask();
}

static void time_was_up_and_it_had_come(void **state)
{
	(void)state;
	found_as_the_time_was_up(9.5);
	assert_near(of_reason(WHY_QUEUE), 0);
}

static void wait_that_ended_before_its_time_is_of_another(void **state)
{
	(void)state;
	found_as_the_time_was_up(9.499);
	assert_near(of_reason(WHY_QUEUE), 29.499);
}

/* No thread ended the last one. */
static void series_without_a_waker_is_a_poll(void **state)
{
	(void)state;
	looks("epoll_wait", 0, 0);
	worker_computes();
	ask();
	assert_string_equal(parts(), "COMPUTE 23\nPOLL at a.py:5 in f5 37\n");
}

/* Looks of 10 ms with @ms on a CPU in between. */
static void busy_between(double ms)
{
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "epoll_wait", 10, 20, LOOK);
	runs(MAIN, 20, 20 + ms, .ready = 20);
	call(MAIN, "epoll_wait", 20 + ms, 50, LOOK, .result = 1);
	runs(MAIN, 50, 60, .by = OTHER);
	worker_computes();
	ask();
}

static void thread_that_is_busy_for_a_quarter_of_a_look(void **state)
{
	(void)state;
	busy_between(2.5);
	assert_near(of_reason(WHY_POLL), 0);
}

/* It does something each 10 ms: the time limit is a clock to it. */
static void thread_that_works_between_looks_has_a_clock(void **state)
{
	(void)state;
	busy_between(2.501);
	assert_string_equal(parts(), "COMPUTE 22.501\n"
				     "COMPUTE at a.py:9 in f9 @101 27.499\n"
				     "POLL at a.py:5 in f5 10\n");
}

/* Between two looks, 20-45, with 2 on a CPU: a wait in @name at line @line, which thread 102 ends. */
static void waits_between(const char *name, const char *line, bool preempted)
{
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "pthread_cond_timedwait", 10, 20, LOOK, .result = LIMIT);
	runs(MAIN, 20, 21, .ready = 20, .preempted = preempted);
	if (name)
		call(MAIN, name, 21, 44, line);
	runs(MAIN, 44, 45, .by = preempted ? 0 : THIRD);
	call(MAIN, "pthread_cond_timedwait", 45, 50, LOOK);
	runs(MAIN, 50, 60, .by = OTHER);
	runs(THIRD, 0, 60);
	worker_computes();
	ask();
}

/* Of the first look, 10; of the second, 5. */
static double of_the_worker(void)
{
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		if (test.y.walk.places.list[test.y.parts[i].cause.place].line == 9)
			return (double)test.y.parts[i].ns / MS;
	return 0;
}

static void wait_for_a_lock_between_looks(void **state)
{
	(void)state;
	waits_between("pthread_mutex_lock", L(6), false);
	assert_near(of_the_worker(), 15);
}

static void wait_without_a_cpu_between_looks(void **state)
{
	(void)state;
	waits_between(NULL, NULL, true);
	assert_near(of_the_worker(), 15);
}

static void other_wait_between_looks_is_work(void **state)
{
	(void)state;
	waits_between("read", L(6), false);
	assert_near(of_the_worker(), 5);
}

/* The second look at another line is another loop. */
static void looks_at_two_places_are_two_waits(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	call(MAIN, "epoll_wait", 10, 20, LOOK);
	runs(MAIN, 20, 21, .ready = 20);
	call(MAIN, "epoll_wait", 21, 50, L(6), .result = 1);
	runs(MAIN, 50, 60, .by = OTHER);
	worker_computes();
	ask();
	assert_near(of_reason(WHY_POLL), 10);
}

/* Thread 101 waits for the main thread meanwhile: neither has the time of the other. */
static void thread_that_waits_for_the_one_that_looks(void **state)
{
	(void)state;
	looks("epoll_wait", 0, OTHER);
	runs(OTHER, 0, 5);
	computes(OTHER, 0, 5, WORK);
	call(OTHER, "sem_wait", 5, 42.5, L(8));
	runs(OTHER, 42.5, 51, .by = MAIN);
	ask();
	assert_near(of_reason(WHY_POLL), 30);
	assert_true(test.y.walk.hops_cnt < 8);
}

/* Each look of a thread that another one waits for: followed likewise. */
static void looks_on_the_way_are_one_wait(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 5);
	call(MAIN, "pthread_join", 5, 55, L(4));
	runs(MAIN, 55, 60, .by = OTHER);
	for (int i = 0; i < 4; i++) {
		runs(OTHER, i ? 9 + 11 * i : 0, 10 + 11 * i, .ready = i ? 9 + 11 * i : 0);
		call(OTHER, "epoll_wait", 10 + 11 * i, i < 3 ? 20 + 11 * i : 50, LOOK,
		     .result = i == 3);
	}
	runs(OTHER, 50, 55, .by = THIRD, .ready = 50);
	runs(THIRD, 0, 51);
	computes(THIRD, 0, 51, WORK);
	ask();
	assert_near(of_the_worker(), 37);
}

/* ---- before the birth ---- */

/* The main thread waits 10-40 for a message of thread 201, which its process's main thread makes at 30 after work at line 7. */
static void message_of_a_new_thread(int maker)
{
	report(50);
	process(CHILD, MAIN, 0, 50);
	runs(MAIN, 0, 10);
	call(MAIN, "poll", 10, 40, LOOK, .result = 1);
	runs(MAIN, 40, 50, .by = WORKER);
	runs(CHILD, 0, 45, .by = MAIN);
	computes(CHILD, 0, 45, L(7));
	runs(WORKER, 30, 42, .by = maker, .ready = 30);
	computes(WORKER, 30, 42, WORK);
}

static void before_its_birth_the_time_is_its_makers(void **state)
{
	(void)state;
	message_of_a_new_thread(CHILD);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at a.py:7 in f7 @200 20\n"
				     "COMPUTE at a.py:9 in f9 @201 10\n");
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		if (test.y.walk.places.list[test.y.parts[i].cause.place].line)
			assert_near(test.y.parts[i].sure, 1);
}

/* Without the wake-up of its birth, the main thread of its process made it. */
static void maker_of_a_thread_is_its_main_thread(void **state)
{
	(void)state;
	message_of_a_new_thread(0);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at a.py:7 in f7 @200 20\n"
				     "COMPUTE at a.py:9 in f9 @201 10\n");
}

/* The maker is born in the wait, too, at 20, made by thread 101. */
static void maker_that_was_made_in_the_wait(void **state)
{
	(void)state;
	report(50);
	process(CHILD, MAIN, 20, 50);
	runs(MAIN, 0, 10);
	call(MAIN, "poll", 10, 40, LOOK, .result = 1);
	runs(MAIN, 40, 50, .by = WORKER);
	runs(OTHER, 0, 25);
	computes(OTHER, 0, 25, L(6));
	runs(CHILD, 20, 45, .by = OTHER, .ready = 20);
	computes(CHILD, 20, 45, L(7));
	runs(WORKER, 30, 42, .by = CHILD, .ready = 30);
	computes(WORKER, 30, 42, WORK);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at a.py:6 in f6 @101 10\n"
				     "COMPUTE at a.py:7 in f7 @200 10\n"
				     "COMPUTE at a.py:9 in f9 @201 10\n");
}

/* The waiting thread is no maker of what it waits for: it waits. */
static void thread_that_waits_made_nothing(void **state)
{
	(void)state;
	message_of_a_new_thread(MAIN);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\n"
				     "COMPUTE at a.py:9 in f9 @201 10\n"
				     "POLL at a.py:5 in f5 20\n");
}

/* Looks, of which the last is ended by a thread that was made meanwhile. */
static void series_that_a_new_thread_ends(void **state)
{
	(void)state;
	looks("epoll_wait", 0, THIRD);
	worker_computes();
	runs(THIRD, 45, 52, .by = OTHER, .ready = 45);
	computes(THIRD, 45, 52, L(7));
	ask();
	assert_string_equal(parts(), "COMPUTE 23\n"
				     "COMPUTE at a.py:7 in f7 @102 5\n"
				     "COMPUTE at a.py:9 in f9 @101 32\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(looks_at_a_condition_are_one_wait),
		TEST(looks_of_a_semaphore_are_one_wait),
		TEST(looks_for_a_monitor_of_java_are_one_wait),
		TEST(polls_with_a_limit_are_one_wait),
		TEST(polls_that_found_something_are_none_of_a_series),
		TEST(thread_that_was_done_since_the_last_look_ended_the_loop),
		TEST(condition_is_found_at_once_likewise),
		TEST(thread_that_was_done_before_ended_nothing),
		TEST(one_of_two_threads_ended_the_loop),
		TEST(series_that_goes_on_is_a_poll),
		TEST(thread_of_another_process_ended_nothing),
		TEST(thread_without_a_cpu_is_done_when_it_has_one),
		TEST(thread_that_goes_on_is_not_done),
		TEST(time_was_up_and_it_had_come),
		TEST(wait_that_ended_before_its_time_is_of_another),
		TEST(series_without_a_waker_is_a_poll),
		TEST(thread_that_is_busy_for_a_quarter_of_a_look),
		TEST(thread_that_works_between_looks_has_a_clock),
		TEST(wait_for_a_lock_between_looks),
		TEST(wait_without_a_cpu_between_looks),
		TEST(other_wait_between_looks_is_work),
		TEST(looks_at_two_places_are_two_waits),
		TEST(thread_that_waits_for_the_one_that_looks),
		TEST(looks_on_the_way_are_one_wait),
		TEST(before_its_birth_the_time_is_its_makers),
		TEST(maker_of_a_thread_is_its_main_thread),
		TEST(maker_that_was_made_in_the_wait),
		TEST(thread_that_waits_made_nothing),
		TEST(series_that_a_new_thread_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
