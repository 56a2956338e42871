/* why_replay.c - the recording once more with one change: when the main thread would have come to its end. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_replay_test.h"

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

/* Forty children, one after the other, each of which sleeps 10 and is waited for at a line of its own: 11 with its time on a CPU. */
static void equal_causes_of_many_processes(void **state)
{
	(void)state;
	report(480);
	for (int i = 0; i < 40; i++) {
		int a = 12 * i, pid = 200 + 100 * i;
		char line[40];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, 30 + i);
		process(pid, MAIN, a + 0.5, a + 12);
		runs(MAIN, a, a + 1, .by = i ? pid - 100 : 0);
		sample(MAIN, a + 1, L(1));
		call(MAIN, "waitpid", a + 1, a + 12, line);
		runs(pid, a + 0.5, a + 1, .by = MAIN);
		call(pid, "usleep", a + 1, a + 11, NULL);
		runs(pid, a + 11, a + 12);
	}
	ask();
	for (int i = 0; i < 39; i++)
		assert_near(won(30 + i, 0), 11);
}

/*
 * A child reads forty files, 10.8 each (0.2-11 of each 12); the main thread waits for it from 1 to 12 of them, at a line of its own for each
 * file. Without one of the reads, all that follows is 10.8 earlier. What the child computes is the first line's.
 */
static void many_causes_of_one_process(void **state)
{
	(void)state;
	report(481);
	process(CHILD, MAIN, 0, 481);
	runs(CHILD, 0, 0.2, .by = MAIN);
	for (int i = 0; i < 40; i++) {
		int a = 12 * i;
		char line[40], path[32];

		snprintf(line, sizeof(line), "f%d /me/a.py:%d", i, 30 + i);
		snprintf(path, sizeof(path), "/data/%d", i);
		runs(MAIN, a, a + 1, .by = i ? CHILD : 0);
		sample(MAIN, a + 1, L(1));
		call(MAIN, "sem_wait", a + 1, a + 12, line);
		call(CHILD, "read", a + 0.2, a + 11, NULL, .path = path);
		runs(CHILD, a + 11, a + 12.2);
	}
	runs(MAIN, 480, 481, .by = CHILD);
	ask();
	for (int i = 1; i < 40; i++)
		assert_near(won(30 + i, 0), 10.8);
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
		char line[40];

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
		TEST(equal_causes_of_two_processes),
		TEST(equal_causes_of_many_processes),
		TEST(many_causes_of_one_process),
		TEST(two_causes_of_one_process),
		TEST(only_what_is_in_ranges_counts),
		TEST(sums_of_a_line),
		TEST(waits_for_something_outside),
		TEST(many_threads_at_one_time),
		TEST(waker_comes_before_the_woken_at_one_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
