/* why_waits.c - waits outside of calls: pages, disks, CPUs; threads without switches. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_causes_test.h"

/* ---- off the CPU: no call ---- */

/* The stack with which it left the CPU, at exactly that time, and not the sample; its reason is not known. */
static void off_cpu_stack_is_the_place(void **state)
{
	(void)state;
	main_waits();
	sample(MAIN, 9, LINE_1);
	off_sample(MAIN, 10, 30, LINE_2);
	ask();
	assert_string_equal(parts(), "BLOCKED at a.py:2 in f 20\n"
				     "COMPUTE 10\n"
				     "COMPUTE at a.py:1 in f 10\n");
	assert_near(part_of(WHY_BLOCKED)->sure, 0.4);
}

static void off_cpu_stack_of_another_time_is_not_the_place(void **state)
{
	(void)state;
	main_waits();
	sample(MAIN, 9, LINE_1);
	off_sample(MAIN, 9.5, 9.6, LINE_2);
	ask();
	assert_string_equal(parts(), "BLOCKED 20\n"
				     "COMPUTE 10\n"
				     "COMPUTE at a.py:1 in f 10\n");
}

/* Samples of before and after the wait show where the thread computed. */
static void wait_has_no_place_of_a_cpu_sample(void **state)
{
	(void)state;
	main_waits();
	sample(MAIN, 9.999, LINE_1);
	sample(MAIN, 30.001, LINE_2);
	ask();
	assert_string_equal(parts(), "BLOCKED 20\n"
				     "COMPUTE at a.py:1 in f 10\n"
				     "COMPUTE at a.py:2 in f 10\n");
}

/* ---- lost switches ---- */

static void lose_switches(double from, double to)
{
	sql("INSERT INTO SL_LOST_EVENTS VALUES (%lld, %lld, NULL, 'context switches: no room', 9)",
	    ns_of(from), ns_of(to) - 1);
}

/* The rows of 15-25 are lost: of the wait 10-15 is known, and what follows until the next row is not. */
static void wait_is_not_recorded_from_the_loss_on(void **state)
{
	(void)state;
	main_waits();
	lose_switches(15, 25);
	ask();
	assert_string_equal(parts(), "BLOCKED 5\nCOMPUTE 20\nUNKNOWN 15\n");
	assert_near(part_of(WHY_UNKNOWN)->sure, 0);
}

/* After the last row at 30 the thread computes until the loss at 32, which goes on. */
static void run_is_not_recorded_from_the_loss_on(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 60, .goes_on = true);
	lose_switches(32, 45);
	lose_switches(40, 60);
	ask();
	assert_string_equal(parts(), "BLOCKED 20\nCOMPUTE 12\nUNKNOWN 28\n");
}

/* A thread that leaves a CPU at 20 had one since the beginning, but for the lost time. */
static void run_before_the_first_switch_ends_with_the_loss(void **state)
{
	(void)state;
	report(40);
	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 0, %lld, 2, NULL)", ns_of(20), tid_of(MAIN));
	runs(MAIN, 30, 40);
	lose_switches(5, 8);
	ask();
	assert_string_equal(parts(), "BLOCKED 10\nCOMPUTE 15\nUNKNOWN 15\n");
}

/* The kernel skips single switches at any time: their count has no time of its own. */
static void loss_without_a_time_hides_nothing(void **state)
{
	(void)state;
	main_waits();
	sql("INSERT INTO SL_LOST_EVENTS VALUES (0, %lld, NULL, 'context switches: lost by the "
	    "kernel', 2)",
	    ns_of(40));
	sql("INSERT INTO SL_LOST_EVENTS VALUES (%lld, %lld, NULL, 'calls: no room', 2)", ns_of(5),
	    ns_of(40));
	ask();
	assert_string_equal(parts(), "BLOCKED 20\nCOMPUTE 20\n");
}

/* Where nothing is known: neither place nor reason. */
static void wait_of_which_nothing_is_known_is_blocked(void **state)
{
	(void)state;
	main_waits();
	ask();
	assert_string_equal(parts(), "BLOCKED 20\nCOMPUTE 20\n");
}

/* Uninterruptible in no call, though calls are recorded: memory. */
static void uninterruptible_wait_outside_of_calls_is_for_a_page(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10, .on_disk = true);
	runs(MAIN, 30, 40);
	call(MAIN, "getpid", 1, 2, LINE_1);
	ask();
	assert_near(of_reason(WHY_PAGE_IN), 20);
}

static void uninterruptible_wait_without_calls_is_blocked(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10, .on_disk = true);
	runs(MAIN, 30, 40);
	ask();
	assert_near(of_reason(WHY_BLOCKED), 20);
}

/* ---- pages ---- */

/* The page is there at @time, after the wait that ends at 30. */
static void page(double time)
{
	main_waits();
	fault(MAIN, time, LINE_2, "/data/x");
	ask();
}

/* The thread runs for 1 ms until the fault is over: it waited for that page. */
static void wait_before_a_fault_is_for_the_page(void **state)
{
	(void)state;
	page(31);
	assert_string_equal(parts(), "COMPUTE 20\nPAGE_IN of /data/x at a.py:2 in f 20\n");
	assert_near(part_of(WHY_PAGE_IN)->sure, 1);
}

static void wait_long_before_a_fault_is_not_for_the_page(void **state)
{
	(void)state;
	page(31.001);
	assert_string_equal(parts(), "BLOCKED 20\nCOMPUTE 20\n");
}

/* A fault that was over as the thread left the CPU. */
static void fault_before_a_wait_is_not_its_reason(void **state)
{
	(void)state;
	page(10);
	assert_near(of_reason(WHY_BLOCKED), 20);
}

/* Two waits before one fault: 0.5 and 0.5 on a CPU in between are 1 ms, which is not more than allowed; the third is 0.6. */
static void runs_between_waits_and_a_fault_add_up(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	runs(MAIN, 20, 20.6);
	runs(MAIN, 30, 30.5);
	runs(MAIN, 40, 60);
	fault(MAIN, 40.5, NULL, "/data/x");
	ask();
	/* 10-20 is before 0.6 + 0.5 + 0.5, and is none; 20.6-30 and 30.5-40 are for the page. */
	assert_string_equal(parts(), "BLOCKED 10\n"
				     "COMPUTE 31.1\n"
				     "PAGE_IN of /data/x 18.9\n");
}

/* A call explains a wait better than a fault after it. */
static void call_counts_before_a_fault(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "read", 10, 30, LINE_1, .path = "/data");
	fault(MAIN, 30.1, LINE_2, "/data/x");
	ask();
	assert_near(of_reason(WHY_FILE), 20);
}

/* ---- without a CPU ---- */

static void preempted_in(const char *gpu, const char *at)
{
	report(40);
	runs(MAIN, 0, 10, .preempted = true);
	runs(MAIN, 30, 40);
	if (gpu)
		cuda(MAIN, "cudaMalloc", 5, 35, gpu, 1);
	if (at)
		sample(MAIN, 9, at);
	ask();
}

static void preempted_thread_is_where_its_sample_was(void **state)
{
	(void)state;
	preempted_in(NULL, LINE_1);
	assert_string_equal(parts(), "COMPUTE 10\n"
				     "COMPUTE at a.py:1 in f 10\n"
				     "NO_CPU at a.py:1 in f 20\n");
	assert_near(part_of(WHY_NO_CPU)->sure, 1);
}

static void preempted_thread_is_in_its_call_of_cuda(void **state)
{
	(void)state;
	preempted_in(LINE_2, LINE_1);
	assert_string_equal(parts(), "COMPUTE 5\n"
				     "COMPUTE at a.py:1 in f 5\n"
				     "GPU_CALL at a.py:2 in f 10\n"
				     "NO_CPU at a.py:2 in f 20\n");
}

static void preempted_importer_keeps_its_own_line(void **state)
{
	(void)state;
	preempted_in(NULL, IMPORT);
	assert_string_equal(string_of_map(&test.y, &test.y.model.names, WHY_NONE, ""), "");
	assert_non_null(test.y.walk.places.list[part_of(WHY_NO_CPU)->cause.place].text);
}

/* No line of the program is in the stack: that of the module that is imported is not its. */
static void preempted_import_of_a_library_has_no_line(void **state)
{
	(void)state;
	preempted_in(NULL, "f <frozen importlib._bootstrap>:1; g /usr/lib/python3.11/json.py:2");
	assert_int_equal(part_of(WHY_NO_CPU)->cause.place, PLACE_NONE);
	assert_near(of_reason(WHY_NO_CPU), 20);
}

/* ---- threads without switches ---- */

/* What may block is a wait, what has no known name the kernel's, all else computes. */
static void without_switches_calls_are_waits(void **state)
{
	(void)state;
	report(60);
	call(MAIN, "usleep", 10, 20, LINE_1);
	call(MAIN, "frobnicate", 30, 35, LINE_2);
	cuda(MAIN, "cudaMalloc", 50, 52, LINE_2, 1);
	ask();
	assert_string_equal(parts(), "COMPUTE 43\n"
				     "GPU_CALL at a.py:2 in f 2\n"
				     "KERNEL at a.py:2 in f 5\n"
				     "SLEEP at a.py:1 in f 10\n");
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		assert_near(test.y.parts[i].sure,
			    test.y.parts[i].cause.reason == WHY_SLEEP ? 0.7 : 0.4);
	assert_false(test.y.model.has_switches);
}

/* ---- before the first switch ---- */

/* It leaves a CPU at 20: it had one. */
static void thread_that_leaves_a_cpu_first_had_one(void **state)
{
	(void)state;
	report(40);
	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 0, %lld, 2, NULL)", ns_of(20), tid_of(MAIN));
	runs(MAIN, 30, 40);
	ask();
	assert_string_equal(parts(), "BLOCKED 10\nCOMPUTE 30\n");
}

/* It became runnable at 15, and got its first CPU at 20: before 15 nothing is known. */
static void new_thread_waits_for_its_first_cpu(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 20, 40, .ready = 15);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nNO_CPU 5\nUNKNOWN 15\n");
	assert_near(part_of(WHY_UNKNOWN)->sure, 0);
}

/* ---- disks ---- */

/* 10-30 uninterruptible in no call, and no calls are recorded; requests of the thread itself take @ms of it. */
static void disk(double ms)
{
	report(40);
	runs(MAIN, 0, 10, .on_disk = true);
	runs(MAIN, 30, 40);
	request(MAIN, 12, 12 + ms, "vda", "p100", 0);
	ask();
}

static void wait_of_which_half_is_the_disks_is_for_a_file(void **state)
{
	(void)state;
	disk(10);
	assert_near(of_reason(WHY_FILE), 20);
	assert_near(part_of(WHY_FILE)->sure, 0.7);
	assert_int_equal(part_of(WHY_FILE)->disk_ns, 10 * MS);
}

static void wait_of_which_less_is_the_disks_is_blocked(void **state)
{
	(void)state;
	disk(9.999);
	assert_near(of_reason(WHY_BLOCKED), 20);
	assert_int_equal(part_of(WHY_BLOCKED)->disk_ns, 0);
}

/*
 * fsync() waits 10-30. Own requests 5-12 (2 of it), 14-18 and, within, 15-17; the journal's 16-20; of another kernel thread
 * 20-25, which do not count; a flush 26-35 (4 of it): 2 + 6 + 4 = 12 ns.
 */
static void sync_by(const char *name)
{
	main_waits();
	call(MAIN, name, 9, 31, LINE_1, .path = "/data");
	request(MAIN, 5, 12, "vda", "p100", 1);
	request(MAIN, 14, 18, "vda", "p100", 1);
	request(MAIN, 15, 17, "vda", "p100", 1);
	request(0, 16, 20, "vda", "jbd2/vda-8", 1);
	request(0, 20, 25, "vda", "kworker/0:1", 1);
	request(0, 26, 35, "vda", "kworker/0:1", 2);
	ask();
}

static void sync_waits_for_the_journal_and_for_flushes(void **state)
{
	(void)state;
	sync_by("fsync");
	assert_int_equal(part_of(WHY_FSYNC)->disk_ns, 12 * MS);
	assert_string_equal(
		string_of_map(&test.y, &test.y.model.objects, part_of(WHY_FSYNC)->disk, ""), "vda");
}

/* Other waits for files: the own 2 + 4. */
static void read_waits_for_its_own_requests(void **state)
{
	(void)state;
	sync_by("read");
	assert_int_equal(part_of(WHY_FILE)->disk_ns, 6 * MS);
}

/* What is on a CPU, and a wait for the network, have no device. */
static void other_waits_have_no_device(void **state)
{
	(void)state;
	sync_by("recv");
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		assert_int_equal(test.y.parts[i].disk_ns, 0);
}

/* The second part of a wait is vdb's: no one device has it. Of a page: the same. */
static void requests_to_two_disks_have_no_name(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 40);
	fault(MAIN, 30.1, LINE_1, "/data/x");
	request(MAIN, 10, 15, "vda", "p100", 0);
	request(MAIN, 15, 20, "vdb", "p100", 0);
	request(MAIN, 20, 22, "vdb", "p100", 0);
	ask();
	assert_int_equal(part_of(WHY_PAGE_IN)->disk_ns, 12 * MS);
	assert_int_equal(part_of(WHY_PAGE_IN)->disk, WHY_NONE);
}

/* Two waits at one line, each for a disk of its own: the part has none. */
static void waits_for_two_disks_have_no_name(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 10);
	runs(MAIN, 20, 30);
	runs(MAIN, 40, 60);
	call(MAIN, "read", 10, 20, LINE_1);
	call(MAIN, "read", 30, 40, LINE_1);
	request(MAIN, 10, 15, "vda", "p100", 0);
	request(MAIN, 32, 35, "vdb", "p100", 0);
	ask();
	assert_int_equal(part_of(WHY_FILE)->disk_ns, 8 * MS);
	assert_int_equal(part_of(WHY_FILE)->disk, WHY_NONE);
}

/* ---- a thread's own spans ---- */

struct spans {
	char text[512];
};

static void on_span(void *ctx, const struct why_cause *cause, int64_t ns)
{
	struct spans *s = ctx;
	size_t len = strlen(s->text);

	snprintf(s->text + len, sizeof(s->text) - len, "%s %g; ", why_reason_name(cause->reason),
		 (double)ns / MS);
}

/* In order, and of a wait all that it lasts, to the time that the thread runs again: no other thread is looked at. */
static void own_spans_follow_no_wake_up(void **state)
{
	struct spans s = {""};

	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 32, 40, .by = OTHER, .ready = 30);
	call(MAIN, "read", 10, 31, LINE_1);
	runs(OTHER, 0, 40);
	request(MAIN, 10, 20, "vda", "p100", 0);
	ask();
	walk_own(&test.y.walk, test.y.focus, 5 * MS, 35 * MS, on_span, &s);
	assert_string_equal(s.text, "COMPUTE 5; FILE 22; COMPUTE 3; ");
	walk_own(&test.y.walk, test.y.focus, 5 * MS, 5 * MS, on_span, &s);
	assert_string_equal(s.text, "COMPUTE 5; FILE 22; COMPUTE 3; ");
	/* They leave no request behind for the next leaf. */
	walk_cover(&test.y.walk, test.y.focus, 0, 5 * MS);
	for (size_t i = 0; i < test.y.walk.leaves_cnt; i++)
		if (test.y.walk.leaves[i].cause.reason == WHY_COMPUTE)
			assert_int_equal(test.y.walk.leaves[i].disk_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(off_cpu_stack_is_the_place),
		TEST(off_cpu_stack_of_another_time_is_not_the_place),
		TEST(wait_has_no_place_of_a_cpu_sample),
		TEST(wait_is_not_recorded_from_the_loss_on),
		TEST(run_is_not_recorded_from_the_loss_on),
		TEST(run_before_the_first_switch_ends_with_the_loss),
		TEST(loss_without_a_time_hides_nothing),
		TEST(wait_of_which_nothing_is_known_is_blocked),
		TEST(uninterruptible_wait_outside_of_calls_is_for_a_page),
		TEST(uninterruptible_wait_without_calls_is_blocked),
		TEST(wait_before_a_fault_is_for_the_page),
		TEST(wait_long_before_a_fault_is_not_for_the_page),
		TEST(fault_before_a_wait_is_not_its_reason),
		TEST(runs_between_waits_and_a_fault_add_up),
		TEST(call_counts_before_a_fault),
		TEST(preempted_thread_is_where_its_sample_was),
		TEST(preempted_thread_is_in_its_call_of_cuda),
		TEST(preempted_importer_keeps_its_own_line),
		TEST(preempted_import_of_a_library_has_no_line),
		TEST(without_switches_calls_are_waits),
		TEST(thread_that_leaves_a_cpu_first_had_one),
		TEST(new_thread_waits_for_its_first_cpu),
		TEST(wait_of_which_half_is_the_disks_is_for_a_file),
		TEST(wait_of_which_less_is_the_disks_is_blocked),
		TEST(sync_waits_for_the_journal_and_for_flushes),
		TEST(read_waits_for_its_own_requests),
		TEST(other_waits_have_no_device),
		TEST(requests_to_two_disks_have_no_name),
		TEST(waits_for_two_disks_have_no_name),
		TEST(own_spans_follow_no_wake_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
