/* why_walk.c - which thread a wait is due to: the edges of walk.c, one report each. */
#include "tests/unit/why/why_test.h"

#define LOCKS "lock /me/a.py:5"
#define HOLDS "hold /me/a.py:9"
#define WORKS "work /me/a.py:11"

/* The main thread computes until 10, is off the CPU until 32, ready from 30 on, and ends at 40. */
static void main_waits(int by)
{
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 32, 40, .by = by, .ready = 30);
}

/* ---- wake-ups ---- */

/* 10-25 thread 101 sleeps, 25-30 it computes; 30-32 the main thread is ready. Own: 10 + 8; with 101's 5: 23. */
static void wake_up_leads_to_the_waker(void **state)
{
	(void)state;
	main_waits(OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	runs(OTHER, 1, 2, .by = MAIN);
	call(OTHER, "usleep", 2, 25, HOLDS);
	runs(OTHER, 25, 31);
	ask();
	assert_string_equal(parts(), "COMPUTE 23\n"
				     "NO_CPU at a.py:5 in lock 2\n"
				     "SLEEP at a.py:9 in hold @101 15\n");
	assert_near(part_of(WHY_SLEEP)->sure, 1);
	assert_int_equal(test.y.walk.hops[part_of(WHY_SLEEP)->hop].cause.reason, WHY_LOCK);
}

/* By the detail the thread woke itself: nothing to follow, 20 of the lock itself. */
static void wake_up_by_itself_is_not_followed(void **state)
{
	(void)state;
	main_waits(MAIN);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "LOCK at a.py:5 in lock 20\n"
				     "NO_CPU at a.py:5 in lock 2\n");
}

/* Of thread 150 no row is known: it has no number, and the wait keeps its time. */
static void wake_up_by_an_unknown_thread_is_not_followed(void **state)
{
	(void)state;
	main_waits(150);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "LOCK at a.py:5 in lock 20\n"
				     "NO_CPU at a.py:5 in lock 2\n");
}

/* A timer's expiry may run on behalf of any thread: 20 asleep, whichever thread the row names. */
static void sleep_is_not_followed(void **state)
{
	(void)state;
	main_waits(OTHER);
	call(MAIN, "usleep", 10, 31, LOCKS);
	runs(OTHER, 0, 40);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "NO_CPU at a.py:5 in lock 2\n"
				     "SLEEP at a.py:5 in lock 20\n");
}

/* The waker is born at 22: 12 of the wait are before it, 8 are its own; 18 + 8 computing. */
static void waker_has_only_the_time_after_its_birth(void **state)
{
	(void)state;
	main_waits(OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	runs(OTHER, 22, 31, .by = MAIN);
	ask();
	assert_string_equal(parts(), "COMPUTE 26\n"
				     "LOCK at a.py:5 in lock 12\n"
				     "NO_CPU at a.py:5 in lock 2\n");
}

/* A waker that is born when the wait ends, at 30, did nothing in it. */
static void waker_born_at_the_end_is_not_followed(void **state)
{
	(void)state;
	main_waits(OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	runs(OTHER, 30, 31, .by = MAIN);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "LOCK at a.py:5 in lock 20\n"
				     "NO_CPU at a.py:5 in lock 2\n");
	assert_int_equal(test.y.walk.hops_cnt, 1);
}

/* The thread was ready before it had left, at 8: all 22 off the CPU are without one. */
static void wake_up_before_the_wait_leaves_only_time_without_a_cpu(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 32, 40, .by = OTHER, .ready = 8);
	runs(OTHER, 0, 40);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\nNO_CPU at a.py:5 in lock 22\n");
}

/* It leaves the CPU at 10 for ever: 30 of the lock. Of its wake-up nothing is known. */
static void wait_without_end_lasts_to_the_end(void **state)
{
	struct why_wake wake;

	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	call(MAIN, "pthread_mutex_lock", 10, 10, LOCKS);
	ask();
	assert_string_equal(parts(), "COMPUTE 10\nLOCK at a.py:5 in lock 30\n");
	walk_wake(&test.y.walk, test.y.focus, 1, &wake);
	assert_int_equal(wake.woken, INT64_MAX);
	assert_int_equal(wake.waker, WHY_NONE);
}

/* Without a detail the wait ends as the thread has a CPU again: 22. */
static void wait_without_a_wake_up_lasts_until_it_runs(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 32, 40);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\nLOCK at a.py:5 in lock 22\n");
}

/*
 * Each of two threads waits from 10 to 30 and was woken by the other one: the walk turns round until it is 64 hops deep. The 20
 * are counted once, at its end, where thread 100 (64 hops, an even number) waits.
 */
static void circle_of_wake_ups_ends(void **state)
{
	uint32_t hop, hops = 0;

	(void)state;
	main_waits(OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	runs(OTHER, 0, 10);
	runs(OTHER, 30, 40, .by = MAIN);
	call(OTHER, "pthread_cond_wait", 10, 30, HOLDS);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "LOCK at a.py:5 in lock 20\n"
				     "NO_CPU at a.py:5 in lock 2\n");
	for (hop = part_of(WHY_LOCK)->hop; hop; hop = test.y.walk.hops[hop].parent)
		hops++;
	assert_int_equal(hops, DEPTH_MAX);
}

/* Way: main (lock) <- 101 (condition) <- 102, which sleeps; 10-30 are 102's. Each edge is measured. */
static void chain_of_waits_is_followed_to_its_end(void **state)
{
	const struct why_hop *hops;
	uint32_t hop;

	(void)state;
	main_waits(OTHER);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS);
	runs(OTHER, 0, 5);
	call(OTHER, "pthread_cond_wait", 5, 30, HOLDS);
	runs(OTHER, 30, 40, .by = 102);
	runs(102, 0, 4);
	call(102, "usleep", 4, 30, WORKS);
	runs(102, 30, 40);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "NO_CPU at a.py:5 in lock 2\n"
				     "SLEEP at a.py:11 in work @102 20\n");
	hop = part_of(WHY_SLEEP)->hop;
	hops = test.y.walk.hops;
	assert_int_equal(hops[hop].cause.reason, WHY_QUEUE);
	assert_int_equal(hops[hops[hop].parent].cause.reason, WHY_LOCK);
	assert_int_equal(hops[hops[hop].parent].parent, 0);
}

/* ---- messages ---- */

/* A message of another process that arrives at 30, at the wake-up; the sender computes for 20. */
static void message(double end)
{
	main_waits(0);
	call(MAIN, "recv", 10, 31, LOCKS, .path = "tcp:1.1.1.1:80");
	process(CHILD, MAIN, 0, 40);
	runs(CHILD, 0, 40);
	sample(CHILD, 15, WORKS);
	sample(CHILD, 35, WORKS);
	call(CHILD, "send", 29.5, end, NULL, .path = "tcp:1.1.1.2:90");
}

/* Computing 10-29.5 and 30 us before the end; in send() the rest, 0.48: the sender's place is that of the sample. */
static void wait_for_the_network_leads_to_the_sender(void **state)
{
	(void)state;
	message(29.98);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "COMPUTE at a.py:11 in work @200 19.52\n"
				     "KERNEL of tcp:1.1.1.2:90 at a.py:11 in work @200 0.48\n"
				     "NO_CPU of tcp:1.1.1.1:80 at a.py:5 in lock 2\n");
	/* The edge is a match, not a measurement. */
	assert_near(part_of(WHY_KERNEL)->sure, 0.7);
}

/* A message that was over 21 us before the wake-up did not end the wait. */
static void message_long_before_the_wake_up_does_not_count(void **state)
{
	(void)state;
	message(29.979);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "NO_CPU of tcp:1.1.1.1:80 at a.py:5 in lock 2\n"
				     "SOCKET of tcp:1.1.1.1:80 at a.py:5 in lock 20\n");
}

/* poll() of a file that is none: events, and a message may be one. A wait for a pipe is not for a message. */
static void poll_leads_to_the_sender(void **state)
{
	(void)state;
	message(30);
	sql("UPDATE OSRT_API SET nameId = %d, pathId = NULL WHERE globalTid = %lld",
	    text_id("poll"), tid_of(MAIN));
	ask();
	assert_near(of_reason(WHY_POLL), 0);
	assert_near(of_reason(WHY_KERNEL), 0.5);
	assert_near(of_reason(WHY_NO_CPU), 2);
}

static void wait_for_a_pipe_does_not_lead_to_a_sender(void **state)
{
	(void)state;
	message(30);
	sql("UPDATE OSRT_API SET nameId = %d, pathId = %d WHERE globalTid = %lld", text_id("read"),
	    text_id("pipe:[7]"), tid_of(MAIN));
	ask();
	assert_near(of_reason(WHY_PIPE), 20);
}

/* Of two senders the one that began last, thread 102. */
static void last_sender_is_taken(void **state)
{
	(void)state;
	message(30);
	runs(102, 0, 29.9);
	call(102, "write", 29.6, 29.99, NULL, .path = "unix:/s");
	call(102, "usleep", 29.99, 40, HOLDS);
	ask();
	assert_near(of_reason(WHY_COMPUTE), 18 + 19.6);
	assert_string_equal(string_of_map(&test.y, &test.y.model.objects,
					  part_of(WHY_KERNEL)->cause.object, ""),
			    "unix:/s");
}

/* The thread's own messages are passed over, of all that are looked at: 64. */
static void own_messages(int cnt)
{
	message(30);
	for (int i = 0; i < cnt; i++)
		call(MAIN, "send", 29.6 + i / 1000.0, 30, NULL, .path = "tcp:1.1.1.3:70");
	/* They are rows of a thread that waits meanwhile; its wait is the call that contains them. */
	ask();
}

static void own_messages_are_passed_over(void **state)
{
	(void)state;
	own_messages(63);
	assert_near(of_reason(WHY_SOCKET), 0);
}

static void more_messages_than_64_are_not_searched(void **state)
{
	(void)state;
	own_messages(64);
	assert_near(of_reason(WHY_SOCKET), 20);
}

/* A wait that was ended by a thread, by the kernel's row, needs no message: 101 computes. */
static void wake_up_counts_more_than_a_message(void **state)
{
	(void)state;
	message(30);
	runs(OTHER, 0, 40);
	sql("UPDATE SL_SCHED_DETAIL SET wakerTid = %lld", tid_of(OTHER));
	ask();
	assert_near(of_reason(WHY_KERNEL), 0);
	assert_near(of_reason(WHY_COMPUTE), 38);
	assert_near(part_of(WHY_COMPUTE)->sure, 0.4);
}

/* A wait that never ends was ended by nothing. */
static void wait_without_end_has_no_sender(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	call(MAIN, "recv", 10, 10, LOCKS, .path = "tcp:1.1.1.1:80");
	runs(OTHER, 0, 40);
	call(OTHER, "send", 39, 40, NULL, .path = "tcp:1.1.1.2:90");
	ask();
	assert_near(of_reason(WHY_SOCKET), 30);
}

/* ---- owners of locks ---- */

/* No row has the waker; that of the call has the owner of the lock: 101, asleep 10-30. */
static void owned_lock(int owner)
{
	main_waits(0);
	call(MAIN, "pthread_mutex_lock", 10, 31, LOCKS, .lock = OBJECT_OF_LOCK, .owner = owner);
	runs(OTHER, 0, 2);
	call(OTHER, "usleep", 2, 35, HOLDS);
	runs(OTHER, 35, 40);
	ask();
}

static void lock_leads_to_its_owner(void **state)
{
	(void)state;
	owned_lock(OTHER);
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "NO_CPU at a.py:5 in lock 2\n"
				     "SLEEP at a.py:9 in hold @101 20\n");
	assert_near(part_of(WHY_SLEEP)->sure, 0.7);
}

static void lock_without_an_owner_keeps_its_time(void **state)
{
	(void)state;
	owned_lock(0);
	assert_string_equal(parts(), "COMPUTE 18\n"
				     "LOCK at a.py:5 in lock 20\n"
				     "NO_CPU at a.py:5 in lock 2\n");
}

/* A thread that owns the lock that it waits for, by its row, does not wait for itself. */
static void owner_of_its_own_lock_is_not_followed(void **state)
{
	(void)state;
	owned_lock(MAIN);
	assert_near(of_reason(WHY_LOCK), 20);
}

/* The object of a signal (a condition) has no owner to follow: a queue. */
static void owner_of_a_condition_is_not_followed(void **state)
{
	(void)state;
	main_waits(0);
	call(MAIN, "pthread_cond_wait", 10, 31, LOCKS, .lock = OBJECT_OF_LOCK, .owner = OTHER);
	runs(OTHER, 0, 40);
	ask();
	assert_near(of_reason(WHY_QUEUE), 20);
}

/* ---- the GIL ---- */

#define TAKE_GIL "take_gil /usr/bin/python3.11; f /me/a.py:5"

/*
 * The main thread waits for the GIL 10-30, in a condition with a time limit. 101 runs 10-18, 102 runs 18-22 and is then without a
 * CPU until 30: it could have run for 12, and is the one. It runs 4 of the 20, waits for a CPU 8, and sleeps 10-18.
 */
static void gil(void)
{
	main_waits(0);
	call(MAIN, "pthread_cond_timedwait", 10, 31, TAKE_GIL);
	runs(OTHER, 0, 18);
	call(OTHER, "usleep", 18, 40, HOLDS);
	runs(102, 0, 5);
	call(102, "usleep", 5, 18, WORKS);
	runs(102, 18, 22, .preempted = true);
	runs(102, 30, 40);
}

static void gil_leads_to_the_thread_that_could_run_longest(void **state)
{
	(void)state;
	gil();
	ask();
	assert_string_equal(parts(), "COMPUTE 22\n"
				     "NO_CPU @102 8\n"
				     "NO_CPU at a.py:5 in f 2\n"
				     "SLEEP at a.py:11 in work @102 8\n");
	assert_near(part_of(WHY_SLEEP)->sure, 0.7);
	assert_int_equal(test.y.walk.hops[part_of(WHY_SLEEP)->hop].cause.reason, WHY_GIL);
}

/* A thread of another process has another GIL; where no thread of the own could run, none is followed. */
static void gil_is_of_the_own_process(void **state)
{
	(void)state;
	main_waits(0);
	process(CHILD, MAIN, 0, 40);
	call(MAIN, "pthread_cond_timedwait", 10, 31, TAKE_GIL);
	runs(CHILD, 0, 40);
	runs(OTHER, 0, 10);
	runs(OTHER, 30, 40);
	ask();
	assert_near(of_reason(WHY_GIL), 20);
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 30 * MS), WHY_NONE);
}

/* Of two that could run equally long, the first. */
static void gil_of_equals_is_the_first_ones(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	runs(OTHER, 12, 20);
	runs(102, 20, 28);
	ask();
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 30 * MS),
			 why_model_find(&test.y.model, tid_of(OTHER)));
	/* From 13 on 101 has only 7, and 102 all of its 8. Before 12 none runs. */
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 13 * MS, 30 * MS),
			 why_model_find(&test.y.model, tid_of(102)));
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 13 * MS, 27 * MS),
			 why_model_find(&test.y.model, tid_of(OTHER)));
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 12 * MS), WHY_NONE);
}

/* ---- many switches ---- */

/* A thread of 300 switches in the time: only the first 200 are looked at. 100 runs of 0.05 ms are 5 ms, less than 101's 5.5. */
static void gil_looks_at_200_switches(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	for (int i = 0; i < 150; i++)
		runs(102, 10 + i / 10.0, 10 + i / 10.0 + 0.05);
	runs(OTHER, 10, 15.5);
	ask();
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 30 * MS),
			 why_model_find(&test.y.model, tid_of(OTHER)));
}

/* Sixteen switches, of which the last is the end of the thread's last run: nothing is looked at behind it. */
static void gil_looks_at_the_last_switch(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	for (int i = 0; i < 7; i++)
		runs(OTHER, i, i + 0.5);
	runs(OTHER, 20, 25, .preempted = true);
	runs(102, 20, 29);
	ask();
	/* Until 30 it could have run for 10, more than 102's 9; until 28 for 8, as 102. */
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 30 * MS),
			 why_model_find(&test.y.model, tid_of(OTHER)));
}

/* Two hundred threads run for 1 ms, the one after them for 20: it is the 201st, and not looked at. */
static void gil_looks_at_200_threads(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 201) INSERT "
	    "INTO "
	    "SCHED_EVENTS SELECT 10000000 + CASE WHEN isIn THEN 0 WHEN i = 201 THEN 20000000 "
	    "ELSE 1000000 END, 0, isIn, %lld + 1000 + i, 2, NULL FROM n, (SELECT 1 AS isIn UNION "
	    "ALL SELECT "
	    "0)",
	    pid_of(MAIN));
	ask();
	assert_int_equal(test.y.model.threads_cnt, 202);
	assert_int_equal(walk_gil_holder(&test.y.model, test.y.focus, 10 * MS, 30 * MS),
			 why_model_find(&test.y.model, pid_of(MAIN) + 1001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wake_up_leads_to_the_waker),
		TEST(wake_up_by_itself_is_not_followed),
		TEST(wake_up_by_an_unknown_thread_is_not_followed),
		TEST(sleep_is_not_followed),
		TEST(waker_has_only_the_time_after_its_birth),
		TEST(waker_born_at_the_end_is_not_followed),
		TEST(wake_up_before_the_wait_leaves_only_time_without_a_cpu),
		TEST(wait_without_end_lasts_to_the_end),
		TEST(wait_without_a_wake_up_lasts_until_it_runs),
		TEST(circle_of_wake_ups_ends),
		TEST(chain_of_waits_is_followed_to_its_end),
		TEST(wait_for_the_network_leads_to_the_sender),
		TEST(message_long_before_the_wake_up_does_not_count),
		TEST(poll_leads_to_the_sender),
		TEST(wait_for_a_pipe_does_not_lead_to_a_sender),
		TEST(last_sender_is_taken),
		TEST(own_messages_are_passed_over),
		TEST(more_messages_than_64_are_not_searched),
		TEST(wake_up_counts_more_than_a_message),
		TEST(wait_without_end_has_no_sender),
		TEST(lock_leads_to_its_owner),
		TEST(lock_without_an_owner_keeps_its_time),
		TEST(owner_of_its_own_lock_is_not_followed),
		TEST(owner_of_a_condition_is_not_followed),
		TEST(gil_leads_to_the_thread_that_could_run_longest),
		TEST(gil_is_of_the_own_process),
		TEST(gil_of_equals_is_the_first_ones),
		TEST(gil_looks_at_200_switches),
		TEST(gil_looks_at_the_last_switch),
		TEST(gil_looks_at_200_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
