/* why_hangs.c - waits that never end, the threads that they are for, and cycles of them. */
#include "tests/unit/why/why_test.h"

#define THIRD  102
#define FOURTH 103

/* In a call of the kernel at @time; 0: no owner, no lock. */
static void looked_at(int tid, double time, const char *name, int lock, int owner, const char *path,
		      const char *stack)
{
	sql("INSERT INTO SL_OPEN_WAITS(timestamp, globalTid, nameId, object, pathId, ownerTid, "
	    "stackId) "
	    "VALUES (%lld, %lld, %d, nullif(%d, 0), nullif(%d, 0), "
	    "nullif(%lld, 0), nullif(%d, 0))",
	    ns_of(time), tid_of(tid), text_id(name), lock, path ? text_id(path) : 0,
	    owner ? tid_of(owner) : 0, stack_id(stack));
}

/* At the end of the recording, at 5000. */
static void open_wait(int tid, const char *name, int lock, int owner, const char *path)
{
	looked_at(tid, 5000, name, lock, owner, path, NULL);
}

/* A thread that leaves its CPU at @time for good, with a stack. */
static void hangs(int tid, double time, const char *stack)
{
	runs(tid, 0, time);
	off_sample(tid, time, 5000, stack);
}

/* The main thread runs from the beginning to the end of 5 s. */
static void five_seconds(void)
{
	report(5000);
	runs(MAIN, 0, 5000, .goes_on = true);
}

/* A line for each wait: "THREAD REASON[ CALL][ of OBJECT][ at PLACE][ for OWNER][ CYCLE][ killed] MS". */
static const char *waits(void)
{
	const struct why *y = &test.y;
	char **lines = calloc(y->hangs.list_cnt + 1, sizeof(*lines));
	const char *all;

	for (size_t i = 0; i < y->hangs.list_cnt; i++) {
		const struct why_hang *h = &y->hangs.list[i];
		const char *place = y->walk.places.list[h->cause.place].text;
		char owner[32] = "", cycle[16] = "";

		if (h->owner != WHY_NONE)
			snprintf(owner, sizeof(owner), " for %lld",
				 (long long)(y->model.threads[h->owner].tid & 0xffffff));
		if (h->cycle)
			snprintf(cycle, sizeof(cycle), " cycle %u", h->cycle);
		assert_true(asprintf(&lines[i], "%lld %s%s%s%s%s%s%s%s %g",
				     (long long)(y->model.threads[h->thread].tid & 0xffffff),
				     why_reason_name(h->cause.reason),
				     string_of_map(y, &y->model.names, h->cause.name, " "),
				     string_of_map(y, &y->model.objects, h->cause.object, " of "),
				     place ? " at " : "", place ? place : "", owner, cycle,
				     h->is_killed ? " killed" : "", (double)h->ns / MS) > 0);
	}
	all = join_lines(lines, y->hangs.list_cnt);
	free(lines);
	return all;
}

static void two_locks_are_a_cycle(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	hangs(THIRD, 200, L(2));
	open_wait(OTHER, "futex", 7, THIRD, NULL);
	open_wait(THIRD, "futex", 8, OTHER, NULL);
	ask();
	assert_string_equal(waits(), "101 LOCK futex at a.py:1 in f1 for 102 cycle 1 4900\n"
				     "102 LOCK futex at a.py:2 in f2 for 101 cycle 1 4800\n");
	assert_int_equal(test.y.hangs.cycles, 1);
}

/* The thread that the report names first may be either. */
static void thread_made_first_is_named_first(void **state)
{
	(void)state;
	five_seconds();
	hangs(THIRD, 100, L(2));
	runs(OTHER, 50, 200);
	off_sample(OTHER, 200, 5000, L(1));
	open_wait(THIRD, "futex", 8, OTHER, NULL);
	open_wait(OTHER, "futex", 7, THIRD, NULL);
	ask();
	assert_int_equal(test.y.hangs.list_cnt, 2);
	assert_int_equal(test.y.model.threads[test.y.hangs.list[0].thread].tid, tid_of(OTHER));
}

/* One waits for a thread to end, which waits for the lock that the first has. */
static void lock_and_join_are_a_cycle(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	hangs(THIRD, 200, L(2));
	open_wait(OTHER, "futex", 0, THIRD, NULL);
	open_wait(THIRD, "futex", 8, OTHER, NULL);
	ask();
	assert_string_equal(waits(), "101 JOIN futex at a.py:1 in f1 for 102 cycle 1 4900\n"
				     "102 LOCK futex at a.py:2 in f2 for 101 cycle 1 4800\n");
}

static void lock_that_the_thread_has_itself_is_a_cycle(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	open_wait(OTHER, "futex", 7, OTHER, NULL);
	ask();
	assert_string_equal(waits(), "101 LOCK futex at a.py:1 in f1 for 101 cycle 1 4900\n");
}

/* The third waits for one of the cycle, and is none of it; the fourth waits for one that works. */
static void wait_for_a_cycle_is_none_of_it(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	hangs(THIRD, 200, L(2));
	hangs(FOURTH, 300, L(3));
	open_wait(OTHER, "futex", 7, OTHER, NULL);
	open_wait(THIRD, "futex", 7, OTHER, NULL);
	open_wait(FOURTH, "futex", 9, MAIN, NULL);
	ask();
	assert_string_equal(waits(), "101 LOCK futex at a.py:1 in f1 for 101 cycle 1 4900\n"
				     "102 LOCK futex at a.py:2 in f2 for 101 4800\n"
				     "103 LOCK futex at a.py:3 in f3 for 100 4700\n");
	assert_int_equal(test.y.hangs.list[0].cycle, 1);
}

static void second_cycle_has_another_number(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	hangs(THIRD, 200, L(2));
	open_wait(OTHER, "futex", 7, OTHER, NULL);
	open_wait(THIRD, "futex", 8, THIRD, NULL);
	ask();
	assert_int_equal(test.y.hangs.cycles, 2);
}

/* A child that is not reaped, a pipe, and a file that another one has locked. */
static void calls_name_what_they_wait_for(void **state)
{
	(void)state;
	five_seconds();
	process(CHILD, MAIN, 0, 5000);
	runs(CHILD, 0, 5000, .goes_on = true);
	hangs(OTHER, 100, L(1));
	hangs(THIRD, 100, L(2));
	hangs(FOURTH, 100, L(3));
	open_wait(OTHER, "wait4", 0, CHILD, NULL);
	open_wait(THIRD, "write", 0, 0, "pipe:[7]");
	open_wait(FOURTH, "flock", 0, 0, "/data/lock");
	ask();
	assert_string_equal(waits(), "101 CHILD wait4 at a.py:1 in f1 for 200 4900\n"
				     "102 PIPE write of pipe:[7] at a.py:2 in f2 4900\n"
				     "103 LOCK flock of /data/lock at a.py:3 in f3 4900\n");
}

/* Less than a second is no hang. */
static void short_waits_are_not_listed(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 4000.001, L(1));
	hangs(THIRD, 4000, L(2));
	ask();
	assert_string_equal(waits(), "102 BLOCKED at a.py:2 in f2 1000\n");
}

/* A thread without events hung before the recording began. */
static void thread_without_switches_waits_for_all_of_the_time(void **state)
{
	(void)state;
	five_seconds();
	open_wait(OTHER, "futex", 7, MAIN, NULL);
	ask();
	assert_string_equal(waits(), "101 LOCK futex for 100 5000\n");
}

/* The reason of a wait that never ended is that of its time, too. */
static void open_wait_has_its_reason_in_the_parts(void **state)
{
	(void)state;
	report(5000);
	hangs(MAIN, 100, L(1));
	open_wait(MAIN, "futex", 7, OTHER, NULL);
	runs(OTHER, 0, 5000, .goes_on = true);
	ask();
	assert_string_equal(parts(), "COMPUTE 100\nLOCK at a.py:1 in f1 4900\n");
	assert_near(part_of(WHY_LOCK)->sure, 1);
}

/* Without a row of the look there is no reason. */
static void open_wait_of_which_nothing_is_known_is_blocked(void **state)
{
	(void)state;
	report(5000);
	hangs(MAIN, 100, L(1));
	ask();
	assert_string_equal(parts(), "BLOCKED at a.py:1 in f1 4900\nCOMPUTE 100\n");
}

/* A wait that ended before is another one. */
static void look_at_the_end_is_not_about_waits_before(void **state)
{
	(void)state;
	report(5000);
	runs(MAIN, 0, 100);
	runs(MAIN, 2000, 2100);
	open_wait(MAIN, "read", 0, 0, "pipe:[7]");
	ask();
	assert_string_equal(parts(), "BLOCKED 1900\nCOMPUTE 200\nPIPE of pipe:[7] 2900\n");
}

static void thread_without_events_waits_in_the_parts(void **state)
{
	(void)state;
	report(5000);
	runs(OTHER, 0, 5000, .goes_on = true);
	open_wait(MAIN, "futex", 7, OTHER, NULL);
	ask();
	assert_string_equal(parts(), "LOCK 5000\n");
}

/* With samples it was at work. */
static void thread_with_samples_waits_for_a_part_at_most(void **state)
{
	(void)state;
	report(5000);
	runs(OTHER, 0, 5000, .goes_on = true);
	sample(MAIN, 10, L(1));
	open_wait(MAIN, "futex", 7, OTHER, NULL);
	ask();
	assert_near(of_reason(WHY_LOCK), 0);
}
/* ---- looks ---- */

/* The wait has no stack of its own; the last look counts. */
static void stack_of_the_look_is_the_place(void **state)
{
	(void)state;
	five_seconds();
	runs(OTHER, 0, 100);
	looked_at(OTHER, 1200, "futex", 7, THIRD, NULL, L(1));
	looked_at(OTHER, 5000, "futex", 8, MAIN, NULL, L(2));
	ask();
	assert_string_equal(waits(), "101 LOCK futex at a.py:2 in f2 for 100 4900\n");
}

static void stack_of_the_wait_goes_before_that_of_the_look(void **state)
{
	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	looked_at(OTHER, 5000, "futex", 7, MAIN, NULL, L(2));
	ask();
	assert_string_equal(waits(), "101 LOCK futex at a.py:1 in f1 for 100 4900\n");
}

/* The look at 1200 was at an earlier wait. */
static void look_at_an_earlier_wait_does_not_count(void **state)
{
	(void)state;
	five_seconds();
	runs(OTHER, 0, 100);
	runs(OTHER, 1300, 1400);
	looked_at(OTHER, 1200, "futex", 7, MAIN, NULL, L(1));
	ask();
	assert_string_equal(waits(), "101 BLOCKED 3600\n");
}

/* Without switches: since the last call; a call after the look shows that the thread went on. */
static void wait_without_switches_begins_after_the_last_call(void **state)
{
	(void)state;
	report(5000);
	call(MAIN, "write", 10, 1000, NULL);
	call(OTHER, "write", 10, 1000, NULL);
	call(OTHER, "write", 3000, 3001, NULL);
	call(THIRD, "write", 10, 4100, NULL);
	looked_at(MAIN, 5000, "wait4", 0, 0, NULL, L(1));
	looked_at(OTHER, 2500, "futex", 7, MAIN, NULL, L(2));
	looked_at(THIRD, 5000, "futex", 7, MAIN, NULL, L(3));
	ask();
	assert_string_equal(waits(), "100 CHILD wait4 at a.py:1 in f1 4000\n");
}

/* The end of the recording ends the wait. */
static void call_around_the_last_look_is_the_wait(void **state)
{
	(void)state;
	report(5000);
	sql("UPDATE SL_PROCESS_TREE SET end = NULL");
	call(MAIN, "wait", 10, 5001, NULL);
	call(OTHER, "read", 20, 4000, NULL);
	call(MAIN, "write", 5002, 5003, NULL);
	looked_at(MAIN, 2000, "wait4", 0, 0, NULL, NULL);
	looked_at(OTHER, 2000, "read", 0, 0, "pipe:[1]", NULL);
	looked_at(MAIN, 5000, "wait4", 0, 0, NULL, L(1));
	ask();
	assert_string_equal(waits(), "100 CHILD wait4 at a.py:1 in f1 4990\n");
}

/* The last look was at a wait of two seconds. */
static void wait_of_a_program_that_ends_later_is_none(void **state)
{
	(void)state;
	report(5000);
	call(MAIN, "wait", 10, 4000, NULL);
	looked_at(MAIN, 2000, "wait4", 0, 0, NULL, NULL);
	ask();
	assert_string_equal(waits(), "");
}

/* The process is killed at 4000, long after the look. */
static void look_before_a_kill_counts_without_switches(void **state)
{
	(void)state;
	report(5000);
	process(CHILD, MAIN, 500, 4000);
	process(300, MAIN, 500, 4000);
	sql("UPDATE SL_PROCESS_TREE SET exitStatus = 9 WHERE globalPid = %lld", pid_of(CHILD));
	looked_at(CHILD, 2000, "futex", 7, 201, NULL, L(1));
	looked_at(300, 2000, "futex", 7, 301, NULL, L(2));
	ask();
	assert_string_equal(waits(), "200 LOCK futex at a.py:1 in f1 for 201 killed 3500\n");
}

/* ---- looks at all threads at one moment ---- */

static void look_at_all(const char *state)
{
	sql("UPDATE SL_OPEN_WAITS SET state = %Q", state);
	sql("INSERT INTO META_DATA_CAPTURE VALUES ('SL_LOOK', 'true')");
}

/* How long a wait has lasted is not known: none is too short. */
static void waits_of_a_look_count_at_once(void **state)
{
	(void)state;
	report(20);
	looked_at(MAIN, 20, "futex", 7, OTHER, NULL, L(1));
	looked_at(OTHER, 20, "futex", 8, MAIN, NULL, L(2));
	look_at_all("S");
	ask();
	assert_string_equal(waits(), "100 LOCK futex at a.py:1 in f1 for 101 cycle 1 20\n"
				     "101 LOCK futex at a.py:2 in f2 for 100 cycle 1 20\n");
}

static void threads_that_run_at_the_look_wait_for_nothing(void **state)
{
	(void)state;
	report(20);
	looked_at(MAIN, 20, "running", 0, 0, NULL, L(1));
	look_at_all("R");
	ask();
	assert_string_equal(waits(), "");
}

static void lock_of_python_is_the_gil(void **state)
{
	(void)state;
	report(20);
	looked_at(OTHER, 20, "futex", 7, MAIN, "[GIL]", L(1));
	look_at_all("S");
	ask();
	assert_string_equal(waits(), "101 GIL futex at a.py:1 in f1 for 100 20\n");
}

/* The thread that most others wait for, also by others, stands first. */
static void wait_that_others_wait_for_goes_before_theirs(void **state)
{
	(void)state;
	report(20);
	looked_at(MAIN, 20, "futex", 0, OTHER, NULL, L(1));
	looked_at(OTHER, 20, "futex", 7, THIRD, NULL, L(2));
	looked_at(THIRD, 20, "read", 0, 0, "pipe:[7]", L(3));
	look_at_all("S");
	ask();
	assert_int_equal(test.y.hangs.list_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct why_hang *h = &test.y.hangs.list[i];

		assert_int_equal(test.y.model.threads[h->thread].tid, tid_of(THIRD - (int)i));
		assert_int_equal(h->waiters, 2 - i);
	}
}

/* The only end of a pipe that its reader waits for: no thread is to end. */
static void wait_for_oneself_is_no_join(void **state)
{
	(void)state;
	report(20);
	looked_at(MAIN, 20, "read", 0, MAIN, "pipe:[7]", L(1));
	look_at_all("S");
	ask();
	assert_string_equal(waits(),
			    "100 PIPE read of pipe:[7] at a.py:1 in f1 for 100 cycle 1 20\n");
}

/* ---- killed ---- */

static void ended(int tid, double time)
{
	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 1, %lld, 0, NULL)", ns_of(time),
	    tid_of(tid));
	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 0, %lld, 5, NULL)", ns_of(time + 1),
	    tid_of(tid));
}

/* The thread runs for 1 ms to die, after a wait of 3900. */
static void killed(int status)
{
	report(5000);
	runs(MAIN, 0, 100);
	off_sample(MAIN, 100, 4000, L(1));
	ended(MAIN, 4000);
	sql("UPDATE SL_PROCESS_TREE SET exitStatus = %d", status);
	ask();
}

static void wait_in_which_the_process_is_killed_never_ended(void **state)
{
	(void)state;
	killed(9);
	assert_string_equal(waits(), "100 BLOCKED at a.py:1 in f1 killed 3900\n");
	/* Its time cannot be won: it would go on. */
	assert_int_equal(test.y.gains_cnt, 0);
}

static void process_that_ends_by_itself_does_not_hang(void **state)
{
	(void)state;
	killed(0);
	assert_string_equal(waits(), "");
	assert_int_equal(test.y.gains_cnt, 1);
}

static void thread_that_ends_by_itself_does_not_hang(void **state)
{
	(void)state;
	five_seconds();
	runs(OTHER, 0, 100);
	ended(OTHER, 2000);
	ask();
	assert_string_equal(waits(), "");
}

/* A part of the time has no end of the recording. */
static void part_of_the_time_has_no_hangs(void **state)
{
	struct db_filter f = {0};
	char text[512] = "";

	(void)state;
	five_seconds();
	hangs(OTHER, 100, L(1));
	open_report();
	test.is_asked = true;
	assert_int_equal(db_filter_time(&f, "0s-3s", text, sizeof(text)), 0);
	assert_int_equal(why_run(&test.y, test.db, &f, &(struct why_ask){0}, text, sizeof(text)),
			 0);
	assert_string_equal(waits(), "");
	db_filter_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_locks_are_a_cycle),
		TEST(thread_made_first_is_named_first),
		TEST(lock_and_join_are_a_cycle),
		TEST(lock_that_the_thread_has_itself_is_a_cycle),
		TEST(wait_for_a_cycle_is_none_of_it),
		TEST(second_cycle_has_another_number),
		TEST(calls_name_what_they_wait_for),
		TEST(short_waits_are_not_listed),
		TEST(thread_without_switches_waits_for_all_of_the_time),
		TEST(open_wait_has_its_reason_in_the_parts),
		TEST(open_wait_of_which_nothing_is_known_is_blocked),
		TEST(look_at_the_end_is_not_about_waits_before),
		TEST(thread_without_events_waits_in_the_parts),
		TEST(thread_with_samples_waits_for_a_part_at_most),
		TEST(stack_of_the_look_is_the_place),
		TEST(stack_of_the_wait_goes_before_that_of_the_look),
		TEST(look_at_an_earlier_wait_does_not_count),
		TEST(wait_without_switches_begins_after_the_last_call),
		TEST(call_around_the_last_look_is_the_wait),
		TEST(wait_of_a_program_that_ends_later_is_none),
		TEST(look_before_a_kill_counts_without_switches),
		TEST(waits_of_a_look_count_at_once),
		TEST(threads_that_run_at_the_look_wait_for_nothing),
		TEST(lock_of_python_is_the_gil),
		TEST(wait_that_others_wait_for_goes_before_theirs),
		TEST(wait_for_oneself_is_no_join),
		TEST(wait_in_which_the_process_is_killed_never_ended),
		TEST(process_that_ends_by_itself_does_not_hang),
		TEST(thread_that_ends_by_itself_does_not_hang),
		TEST(part_of_the_time_has_no_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
