/* why_calls.c - reports without wakers: waits are followed by what calls say, and are likely at most where that is a guess. */
#include "tests/unit/why/why_test.h"

#define THIRD 102
#define LOCK  0x5000

/* The main thread waits in a call from 10 to 30, of 40; another thread is there, and a third, which sleeps. */
static void main_waits_in(const char *name, struct call_row how)
{
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 40);
	add_call(MAIN, name, 10, 30, L(1), how);
}

/* @tid sleeps from @from to @to at line @line, and then goes on. */
static void sleeps(int tid, double from, double to, const char *line)
{
	runs(tid, 0, from);
	runs(tid, to, 40);
	call(tid, "clock_nanosleep", from, to, line);
}

/* The other thread sleeps until 29, and so does the third one. */
static void others_sleep(void)
{
	sleeps(OTHER, 5, 29, L(2));
	sleeps(THIRD, 5, 29, L(3));
}

static double sure_of_sleep(void)
{
	return part_of(WHY_SLEEP)->sure;
}

/* ---- threads and processes that end ---- */

static void join_leads_to_the_joined_thread(void **state)
{
	(void)state;
	main_waits_in("pthread_join", (struct call_row){.lock = 7, .owner = OTHER});
	others_sleep();
	ask();
	assert_string_equal(parts(), "COMPUTE 21\nSLEEP at a.py:2 in f2 @101 19\n");
	assert_near(sure_of_sleep(), 1);
}

/* Without switches, and without the number of the thread: the one whose last call ended last in the join. */
static void join_leads_to_the_thread_that_ended(void **state)
{
	(void)state;
	report(40);
	call(MAIN, "pthread_join", 10, 30, L(1));
	call(OTHER, "clock_nanosleep", 5, 29.5, L(2));
	call(THIRD, "clock_nanosleep", 5, 20, L(3));
	ask();
	assert_string_equal(
		parts(), "COMPUTE 20\nJOIN at a.py:1 in f1 0.5\nSLEEP at a.py:2 in f2 @101 19.5\n");
	assert_near(sure_of_sleep(), 0.49);
}

static void thread_that_ends_after_the_join_was_not_joined(void **state)
{
	(void)state;
	report(40);
	call(MAIN, "pthread_join", 10, 30, L(1));
	call(OTHER, "clock_nanosleep", 5, 30.5, L(2));
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nJOIN at a.py:1 in f1 20\n");
}

static void wait_for_a_child_leads_to_the_child_that_is_returned(void **state)
{
	(void)state;
	main_waits_in("waitpid", (struct call_row){.result = CHILD});
	process(CHILD, MAIN, 5, 29);
	process(300, MAIN, 5, 29.5);
	sleeps(CHILD, 6, 28, L(2));
	sleeps(300, 6, 28, L(3));
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nCOMPUTE @200 1\nNO_CPU at a.py:1 in f1 1\nSLEEP "
				     "at a.py:2 in f2 @200 18\n");
	assert_near(sure_of_sleep(), 1);
}

/* A pid that is no child's is a status, or one of another namespace: the child that ended last. */
static void wait_for_a_child_leads_to_the_one_that_ended(void **state)
{
	(void)state;
	main_waits_in("waitpid", (struct call_row){.result = 7});
	process(CHILD, MAIN, 5, 29);
	process(300, MAIN, 5, 40.5);
	process(400, CHILD, 5, 29.5);
	process(500, MAIN, 5, 29.8); /* of which no thread is known */
	sleeps(CHILD, 6, 28, L(2));
	sleeps(300, 6, 28, L(3));
	sleeps(400, 6, 28, L(4));
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nCOMPUTE @200 1\nNO_CPU at a.py:1 in f1 1\nSLEEP "
				     "at a.py:2 in f2 @200 18\n");
	assert_near(sure_of_sleep(), 0.7);
}

/* ---- locks and signals ---- */

static void lock_leads_to_its_owner(void **state)
{
	(void)state;
	main_waits_in("pthread_mutex_lock", (struct call_row){.lock = LOCK, .owner = OTHER});
	others_sleep();
	ask();
	assert_string_equal(parts(), "COMPUTE 21\nSLEEP at a.py:2 in f2 @101 19\n");
	assert_near(sure_of_sleep(), 0.7);
}

static void lock_leads_to_the_thread_that_took_it_meanwhile(void **state)
{
	(void)state;
	main_waits_in("pthread_mutex_lock", (struct call_row){.lock = LOCK, .owner = OTHER});
	sleeps(OTHER, 5, 29, L(2));
	runs(THIRD, 0, 11);
	runs(THIRD, 12, 12.5);
	runs(THIRD, 29, 40);
	call(THIRD, "pthread_mutex_lock", 11, 12, L(4), .lock = LOCK, .owner = OTHER);
	call(THIRD, "clock_nanosleep", 12.5, 29, L(3));
	ask();
	assert_near(of_reason(WHY_SLEEP), 16.5 + 1);
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:3 in f3");
}

static void signal_leads_to_the_thread_that_signalled_last(void **state)
{
	(void)state;
	main_waits_in("pthread_cond_wait", (struct call_row){.lock = LOCK});
	others_sleep();
	call(THIRD, "pthread_cond_signal", 29.1, 29.2, NULL, .lock = LOCK);
	call(OTHER, "pthread_cond_broadcast", 29.5, 29.6, NULL, .lock = LOCK);
	/* another condition; another process */
	call(THIRD, "pthread_cond_signal", 29.7, 29.8, NULL, .lock = LOCK + 64);
	process(CHILD, MAIN, 5, 35);
	runs(CHILD, 5, 35);
	call(CHILD, "pthread_cond_signal", 29.7, 29.8, NULL, .lock = LOCK);
	ask();
	assert_string_equal(parts(), "COMPUTE 20.5\nNO_CPU at a.py:1 in f1 0.5\nSLEEP at a.py:2 in "
				     "f2 @101 19\n");
	assert_near(sure_of_sleep(), 0.7);
}

static void signal_before_the_wait_did_not_end_it(void **state)
{
	(void)state;
	main_waits_in("sem_wait", (struct call_row){.lock = LOCK});
	others_sleep();
	call(OTHER, "sem_post", 4, 4.5, NULL, .lock = LOCK);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nQUEUE at a.py:1 in f1 20\n");
	assert_near(part_of(WHY_QUEUE)->sure, 0.7);
}

/* Forked processes have a semaphore at the same address; the own process goes first. */
static void semaphore_leads_to_another_process(void **state)
{
	(void)state;
	main_waits_in("sem_wait", (struct call_row){.lock = LOCK});
	process(CHILD, MAIN, 1, 35);
	sleeps(CHILD, 5, 29, L(2));
	call(CHILD, "sem_post", 29.5, 29.6, NULL, .lock = LOCK);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_int_equal(test.y.model.threads[part_of(WHY_SLEEP)->thread].tid & 0xffffff, CHILD);
}

static void barrier_leads_to_the_thread_that_came_last(void **state)
{
	(void)state;
	main_waits_in("pthread_barrier_wait", (struct call_row){.lock = LOCK});
	sleeps(OTHER, 5, 29, L(2));
	runs(THIRD, 0, 12);
	runs(THIRD, 30, 40);
	call(THIRD, "pthread_barrier_wait", 12, 30, L(3), .lock = LOCK);
	call(OTHER, "pthread_barrier_wait", 29.5, 29.6, NULL, .lock = LOCK);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
}

/* Both wait for a signal of the other all the time: the walk ends. */
static void two_threads_that_signal_each_other(void **state)
{
	(void)state;
	report(40);
	for (int i = 0; i < 40; i += 2) {
		runs(MAIN, i, i + 1);
		runs(OTHER, i + 1, i + 2);
		call(MAIN, "sem_post", i + 0.9, i + 0.95, NULL, .lock = LOCK);
		call(OTHER, "sem_post", i + 1.9, i + 1.95, NULL, .lock = LOCK + 32);
		call(MAIN, "sem_wait", i + 1, i + 2, L(1), .lock = LOCK + 32);
		call(OTHER, "sem_wait", i + 2, i + 3, L(2), .lock = LOCK);
	}
	ask();
	/* The last wait has no end. */
	assert_string_equal(parts(), "COMPUTE 36.1\nKERNEL 1\nNO_CPU at a.py:1 in f1 1.9\nQUEUE at "
				     "a.py:1 in f1 1\n");
}

/* ---- pipes and sockets ---- */

static void read_of_a_pipe_leads_to_the_writer(void **state)
{
	(void)state;
	main_waits_in("read", (struct call_row){.path = "pipe:[1]", .result = 1});
	others_sleep();
	call(OTHER, "write", 29.5, 29.6, NULL, .path = "pipe:[1]", .result = 1);
	call(THIRD, "write", 29.7, 29.8, NULL, .path = "pipe:[2]", .result = 1);
	call(THIRD, "read", 29.85, 29.9, NULL, .path = "pipe:[1]", .result = 1);
	ask();
	assert_string_equal(parts(),
			    "COMPUTE 20.5\nNO_CPU of pipe:[1] at a.py:1 in f1 0.5\nSLEEP at "
			    "a.py:2 in f2 @101 19\n");
}

static void write_into_a_full_pipe_leads_to_the_reader(void **state)
{
	(void)state;
	main_waits_in("write", (struct call_row){.path = "pipe:[1]", .result = 1});
	others_sleep();
	call(OTHER, "read", 29.5, 29.6, NULL, .path = "pipe:[1]", .result = 1);
	call(THIRD, "write", 29.7, 29.8, NULL, .path = "pipe:[1]", .result = 1);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
}

/* Nothing was read: the last writer has ended. */
static void end_of_a_pipe_leads_to_the_child_that_ended(void **state)
{
	(void)state;
	main_waits_in("read", (struct call_row){.path = "pipe:[1]", .result = 0});
	process(CHILD, MAIN, 5, 29);
	sleeps(CHILD, 6, 28, L(2));
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_near(of_reason(WHY_SLEEP), 18);
	assert_near(sure_of_sleep(), 0.7);
}

static void socket_of(int file, int pid, const char *peer, const char *own)
{
	sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (%d, %d, 0, 0, %Q)", file, pid, peer);
	sql("INSERT INTO SL_SOCKETS VALUES (%d, %Q)", file, own);
}

static void socket_leads_to_its_other_end(void **state)
{
	(void)state;
	socket_of(1, MAIN, "tcp:127.0.0.1:80", "tcp:127.0.0.1:4000");
	socket_of(2, MAIN, "tcp:127.0.0.1:4000", "tcp:127.0.0.1:80");
	socket_of(3, MAIN, "tcp:127.0.0.1:4001", "tcp:127.0.0.1:80");
	main_waits_in("recv",
		      (struct call_row){.path = "tcp:127.0.0.1:80", .file = 1, .result = 1});
	others_sleep();
	call(OTHER, "send", 29.5, 29.6, NULL, .path = "tcp:127.0.0.1:4000", .file = 2, .result = 1);
	call(THIRD, "send", 29.7, 29.8, NULL, .path = "tcp:127.0.0.1:4001", .file = 3, .result = 1);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_near(of_reason(WHY_SLEEP), 19);
}

static void poll_leads_to_the_writer_of_what_is_read_next(void **state)
{
	(void)state;
	main_waits_in("poll", (struct call_row){.result = 1});
	others_sleep();
	call(OTHER, "write", 29.5, 29.6, NULL, .path = "pipe:[1]", .result = 1);
	call(THIRD, "write", 29.7, 29.8, NULL, .path = "pipe:[2]", .result = 1);
	call(MAIN, "read", 30.5, 30.6, NULL, .path = "pipe:[1]", .result = 1);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
}

/* Both threads have one file. */
static void poll_of_an_eventfd_leads_to_the_writer(void **state)
{
	(void)state;
	main_waits_in("epoll_wait",
		      (struct call_row){.path = "anon_inode:[eventpoll]", .file = 1, .result = 1});
	others_sleep();
	call(OTHER, "write", 29.5, 29.6, NULL, .path = "anon_inode:[eventfd]", .file = 2,
	     .result = 8);
	call(THIRD, "write", 29.7, 29.8, NULL, .path = "anon_inode:[eventfd]", .file = 3,
	     .result = 8);
	call(MAIN, "read", 30.5, 30.6, NULL, .path = "anon_inode:[eventfd]", .file = 2,
	     .result = 8);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
}

static void read_of_an_eventfd_leads_to_the_writer(void **state)
{
	(void)state;
	main_waits_in("read",
		      (struct call_row){.path = "anon_inode:[eventfd]", .file = 2, .result = 8});
	others_sleep();
	call(OTHER, "write", 29.5, 29.6, NULL, .path = "anon_inode:[eventfd]", .file = 2,
	     .result = 8);
	call(THIRD, "write", 29.7, 29.8, NULL, .path = "anon_inode:[eventfd]", .file = 3,
	     .result = 8);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_near(sure_of_sleep(), 0.7);
}

static void signal_leads_to_the_thread_that_sent_one(void **state)
{
	(void)state;
	main_waits_in("sigwait", (struct call_row){0});
	others_sleep();
	call(THIRD, "kill", 3, 3.1, NULL, 0);
	call(OTHER, "pthread_kill", 29.5, 29.6, NULL, 0);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_near(sure_of_sleep(), 0.7);
}

static void poll_that_timed_out_leads_nowhere(void **state)
{
	(void)state;
	main_waits_in("poll", (struct call_row){.result = 0});
	others_sleep();
	call(OTHER, "write", 29.5, 29.6, NULL, .path = "pipe:[1]", .result = 1);
	call(MAIN, "read", 30.5, 30.6, NULL, .path = "pipe:[1]", .result = 1);
	ask();
	assert_string_equal(parts(),
			    "COMPUTE 19.9\nKERNEL of pipe:[1] 0.1\nPOLL at a.py:1 in f1 20\n");
}

/* ---- without switches; with wakers ---- */

/* A child that waits for its own thread: two hops. */
static void chain_without_switches(void **state)
{
	(void)state;
	report(40);
	process(CHILD, MAIN, 5, 29);
	call(MAIN, "waitpid", 10, 30, L(1), .result = CHILD);
	call(CHILD, "pthread_join", 11, 28, L(2), .lock = 7, .owner = 201);
	call(201, "clock_nanosleep", 12, 27, L(3));
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:3 in f3");
	assert_near(of_reason(WHY_SLEEP), 15);
	assert_near(sure_of_sleep(), 0.7);
}

/* No sample is near: it does not compute, and nothing shows what it does. */
static void thread_without_samples_does_not_compute(void **state)
{
	(void)state;
	report(100);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 80, 100, L(1));
	ask();
	/* The sample at 81 stands for the time from 61 on. */
	assert_near(of_reason(WHY_BLOCKED), 51);
	assert_near(of_reason(WHY_COMPUTE), 49);
}

/* Of a child without a library nothing is known: the wait stays the parent's. */
static void child_without_events_is_not_followed(void **state)
{
	(void)state;
	report(40);
	process(CHILD, MAIN, 5, 29);
	call(MAIN, "waitpid", 10, 30, L(1), .result = CHILD);
	ask();
	assert_string_equal(parts(), "CHILD at a.py:1 in f1 20\nCOMPUTE 20\n");
	assert_near(part_of(WHY_CHILD)->sure, 0.7);
}

static void wakers_go_before_calls(void **state)
{
	(void)state;
	main_waits_in("pthread_mutex_lock", (struct call_row){.lock = LOCK, .owner = THIRD});
	others_sleep();
	sql("INSERT INTO SL_SCHED_DETAIL VALUES (%lld, %lld, NULL, %lld, %lld, 120)", ns_of(30),
	    tid_of(MAIN), ns_of(30), tid_of(OTHER));
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f2");
	assert_near(sure_of_sleep(), 1);
}

/* A wait that leads nowhere could last as long whatever is done about its line. */
static void gain_of_a_wait_that_leads_nowhere_is_a_bound(void **state)
{
	const struct why *y;

	(void)state;
	main_waits_in("sem_wait", (struct call_row){.lock = LOCK});
	y = ask();
	assert_int_equal(y->gains_cnt, 1);
	assert_true(y->gains[0].is_up_to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join_leads_to_the_joined_thread),
		TEST(join_leads_to_the_thread_that_ended),
		TEST(thread_that_ends_after_the_join_was_not_joined),
		TEST(wait_for_a_child_leads_to_the_child_that_is_returned),
		TEST(wait_for_a_child_leads_to_the_one_that_ended),
		TEST(lock_leads_to_its_owner),
		TEST(lock_leads_to_the_thread_that_took_it_meanwhile),
		TEST(signal_leads_to_the_thread_that_signalled_last),
		TEST(signal_before_the_wait_did_not_end_it),
		TEST(semaphore_leads_to_another_process),
		TEST(barrier_leads_to_the_thread_that_came_last),
		TEST(two_threads_that_signal_each_other),
		TEST(read_of_a_pipe_leads_to_the_writer),
		TEST(write_into_a_full_pipe_leads_to_the_reader),
		TEST(end_of_a_pipe_leads_to_the_child_that_ended),
		TEST(socket_leads_to_its_other_end),
		TEST(poll_leads_to_the_writer_of_what_is_read_next),
		TEST(poll_of_an_eventfd_leads_to_the_writer),
		TEST(read_of_an_eventfd_leads_to_the_writer),
		TEST(signal_leads_to_the_thread_that_sent_one),
		TEST(poll_that_timed_out_leads_nowhere),
		TEST(chain_without_switches),
		TEST(thread_without_samples_does_not_compute),
		TEST(child_without_events_is_not_followed),
		TEST(wakers_go_before_calls),
		TEST(gain_of_a_wait_that_leads_nowhere_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
