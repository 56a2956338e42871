/* why_causes.c - what a thread does on a CPU, and in which call it waits. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_causes_test.h"

/* The main thread has a CPU from 0 to 60. */
static void main_runs(void)
{
	report(60);
	runs(MAIN, 0, 60);
}

/* ---- on a CPU: samples ---- */

/* A sample stands for less than 20 ms before it: from 0 on it is too far, from 20 on it is there. */
static void sample_stands_for_less_than_20_ms_before_it(void **state)
{
	(void)state;
	main_runs();
	sample(MAIN, 20, LINE_1);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nCOMPUTE at a.py:1 in f 40\n");
	assert_near(part_of(WHY_COMPUTE)->sure, 1);
	assert_near(test.y.parts[1].sure, 0.4);
}

static void sample_stands_for_the_19_999_ms_before_it(void **state)
{
	(void)state;
	main_runs();
	sample(MAIN, 19.999, LINE_1);
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 60\n");
}

/* Of 10, seen from 30 and from 29.999, where the thread has a CPU again. */
static void sample_stands_for_less_than_20_ms_after_it(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "usleep", 10, 30, LINE_2);
	sample(MAIN, 10, LINE_1);
	ask();
	assert_string_equal(parts(), "COMPUTE 10\n"
				     "COMPUTE at a.py:1 in f 10\n"
				     "SLEEP at a.py:2 in f 20\n");
}

static void sample_stands_for_19_999_ms_after_it(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 29.999, 40);
	call(MAIN, "usleep", 10, 29.999, LINE_2);
	sample(MAIN, 10, LINE_1);
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 20.001\n"
				     "SLEEP at a.py:2 in f 19.999\n");
}

/* Each sample has the time since the one before; of two at 15 the first has the 5 ms before, the second none. After 50: line 2's. */
static void samples_at_one_time_share_no_time(void **state)
{
	(void)state;
	main_runs();
	sample(MAIN, 10, LINE_1);
	sample(MAIN, 15, LINE_2);
	sample(MAIN, 15, "g /me/a.py:7");
	sample(MAIN, 33, LINE_1);
	sample(MAIN, 50, LINE_2);
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 28\nCOMPUTE at a.py:2 in f 32\n");
}

/* What a sample's frames give away: 0-10 the program, 10-20 CUPTI, 20-30 an import, 30-40 the kernel (it is the innermost). */
static void frames_tell_what_runs(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	sample(MAIN, 10, LINE_1);
	sample(MAIN, 20, TRACER);
	sample(MAIN, 30, IMPORT);
	sample(MAIN, 40, "copy [kernel.kallsyms]; f /me/a.py:5");
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 10\n"
				     "IMPORT at a.py:3 in f 10\n"
				     "KERNEL at a.py:5 in f 10\n"
				     "TRACER at a.py:4 in f 10\n");
}

/* Page faults: 0-10 of fresh memory, 10-20 of a mapped file, 20-30 while an import runs; 30-40 a call of the kernel. */
static void first_touch_of_memory_is_no_call_of_the_kernel(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	sample(MAIN, 10,
	       "clear_page_erms [kernel.kallsyms]; do_anonymous_page [kernel.kallsyms]; "
	       "exc_page_fault [kernel.kallsyms]; f /me/a.py:1");
	sample(MAIN, 20,
	       "filemap_map_pages [kernel.kallsyms]; exc_page_fault [kernel.kallsyms]; "
	       "f /me/a.py:2");
	sample(MAIN, 30, "exc_page_fault [kernel.kallsyms]; " IMPORT);
	sample(MAIN, 40, "copy [kernel.kallsyms]; f /me/a.py:5");
	ask();
	assert_string_equal(parts(), "IMPORT at a.py:3 in f 10\n"
				     "KERNEL at a.py:2 in f 10\n"
				     "KERNEL at a.py:5 in f 10\n"
				     "TOUCH at a.py:1 in f 10\n");
}

/* Compiled code of the program is innermost from 0 to 10 and from 20 to 40: 30 of the 40 at its line are its own. */
static void compiled_code_computes_itself(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	sample(MAIN, 10, "f /me/a /me/a.c:3");
	sample(MAIN, 20, "deflate /usr/lib/libz.so.1; f /me/a /me/a.c:3");
	sample(MAIN, 39, "f /me/a /me/a.c:3");
	ask();
	assert_string_equal(parts(), "COMPUTE at a.c:3 in f 40\n");
	assert_int_equal(test.y.walk.leaves_cnt, 1);
	assert_int_equal(test.y.walk.leaves[0].itself, 30 * MS);
}

/* ---- on a CPU: calls ---- */

/* 5-25 in a call; CUPTI's sample at 15 has 10-15, the others the rest of it. In the call that goes on to 45, that of 40 has 30-40. */
static void tracer_in_a_call_is_not_the_calls(void **state)
{
	(void)state;
	main_runs();
	cuda(MAIN, "cudaMalloc", 5, 25, LINE_2, 1);
	cuda(MAIN, "cudaMalloc", 25, 45, LINE_2, 2);
	sample(MAIN, 10, LINE_1);
	sample(MAIN, 15, TRACER);
	sample(MAIN, 20, LINE_1);
	sample(MAIN, 30, LINE_1);
	sample(MAIN, 40, TRACER);
	sample(MAIN, 50, LINE_1);
	ask();
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 20\n"
				     "GPU_CALL at a.py:2 in f 25\n"
				     "TRACER at a.py:2 in f 15\n");
}

/* One call in two pieces (the thread is preempted 20-30) begins once; with a second one: two. */
static void call_in_pieces_begins_once(void **state)
{
	const struct walk *w = &test.y.walk;
	int64_t calls = 0;

	(void)state;
	report(40);
	runs(MAIN, 0, 20, .preempted = true);
	runs(MAIN, 30, 40);
	call(MAIN, "read", 10, 32, LINE_1, .path = "/data");
	call(MAIN, "read", 35, 36, LINE_1, .path = "/data");
	ask();
	assert_near(of_reason(WHY_KERNEL), 13);
	assert_near(of_reason(WHY_NO_CPU), 10);
	for (size_t i = 0; i < w->leaves_cnt; i++)
		calls += w->leaves[i].calls;
	assert_int_equal(calls, 2);
}

/* On a CPU dlopen() imports, any other call is the kernel's; the call inside of another has no time of its own. */
static void calls_on_a_cpu(void **state)
{
	(void)state;
	main_runs();
	call(MAIN, "dlopen", 10, 20, LINE_1);
	call(MAIN, "open", 12, 14, LINE_2);
	call(MAIN, "write", 30, 40, LINE_2, .path = "/data");
	ask();
	assert_string_equal(parts(), "COMPUTE 40\n"
				     "IMPORT at a.py:1 in f 10\n"
				     "KERNEL of /data at a.py:2 in f 10\n");
}

/* A call of CUDA counts before the call of libc that it makes: 10-20; from 20 to 25 only libc's goes on. */
static void call_of_cuda_counts_before_libcs(void **state)
{
	(void)state;
	main_runs();
	cuda(MAIN, "cudaMalloc", 10, 20, LINE_1, 1);
	call(MAIN, "ioctl", 12, 25, LINE_2, .path = "/dev/nvidia0");
	ask();
	assert_string_equal(parts(), "COMPUTE 45\n"
				     "GPU_CALL at a.py:1 in f 10\n"
				     "KERNEL of /dev/nvidia0 at a.py:2 in f 5\n");
}

/* A call that begins and ends at one time, and is not the last one, has no time. */
static void call_of_no_length_has_no_time(void **state)
{
	(void)state;
	main_runs();
	call(MAIN, "write", 10, 10, LINE_1);
	call(MAIN, "write", 30, 40, LINE_2);
	ask();
	assert_string_equal(parts(), "COMPUTE 50\nKERNEL at a.py:2 in f 10\n");
}

/* On a CPU, a call without a stack is at the line of the sample; a wait is not. */
static void call_without_a_stack_has_the_place_of_a_sample_on_a_cpu(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "read", 9, 31, NULL, .path = "/data");
	sample(MAIN, 8, LINE_1);
	ask();
	/* 0-8 of the sample; 8-9 and 31-40 are after it, the last more than 20 ms: 8 + 1. In read() 9-10 and 30-31; a wait of 20. */
	assert_string_equal(parts(), "COMPUTE 9\n"
				     "COMPUTE at a.py:1 in f 9\n"
				     "FILE of /data 20\n"
				     "KERNEL of /data 1\n"
				     "KERNEL of /data at a.py:1 in f 1\n");
}

/* The line of the sample that was taken in the call, before the thread left the CPU, and none of before the call. */
static void wait_has_the_place_of_a_sample_in_its_call(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "read", 9, 31, NULL, .path = "/data");
	sample(MAIN, 8.999, LINE_1);
	sample(MAIN, 9.5, LINE_2);
	ask();
	assert_string_equal(place_of_part(WHY_FILE), "a.py:2 in f");
}

/* The sample at the end of the call is none of the call. */
static void sample_after_a_call_is_none_of_it(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "read", 9, 31, NULL, .path = "/data");
	sample(MAIN, 31, LINE_1);
	ask();
	assert_string_equal(place_of_part(WHY_FILE), "");
}

/* A call of the kernel has no stack of its own: the place is where the thread left the CPU, not the line of a sample. */
static void wait_in_a_system_call_has_the_stack_with_which_the_thread_left_the_cpu(void **state)
{
	(void)state;
	main_waits();
	system_call(MAIN, "clock_nanosleep", 9, 31, NULL);
	sample(MAIN, 9.5, LINE_1);
	off_sample(MAIN, 10, 30, LINE_2);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:2 in f");
	assert_near(part_of(WHY_SLEEP)->sure, 1);
}

static void stack_of_another_wait_is_no_place(void **state)
{
	(void)state;
	main_waits();
	system_call(MAIN, "clock_nanosleep", 9, 31, NULL);
	sample(MAIN, 8, LINE_1);
	off_sample(MAIN, 9.9, 9.95, LINE_2);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "");
}

/* The stack of the call itself counts before that with which the thread left the CPU. */
static void stack_of_the_call_counts_first(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "usleep", 9, 31, LINE_1);
	off_sample(MAIN, 10, 30, LINE_2);
	ask();
	assert_string_equal(place_of_part(WHY_SLEEP), "a.py:1 in f");
}

/* ---- off the CPU: which call ---- */

/* Waits of 20 in a call named @name, with that stack. */
static const char *wait_in(const char *name, const char *stack)
{
	main_waits();
	call(MAIN, name, 10, 30, stack);
	ask();
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		if (test.y.parts[i].cause.reason != WHY_COMPUTE)
			return why_reason_name(test.y.parts[i].cause.reason);
	return "";
}

static void wait_in_take_gil_is_for_the_gil(void **state)
{
	(void)state;
	assert_string_equal(wait_in("sem_wait", "take_gil /usr/bin/python3; f /me/a.py:1"), "GIL");
}

static void timed_condition_of_the_interpreter_is_for_the_gil(void **state)
{
	(void)state;
	assert_string_equal(
		wait_in("pthread_cond_timedwait", "x /usr/lib/libpython3.11.so.1.0; f /me/a.py:1"),
		"GIL");
}

/* CPython's locks are such conditions without a time limit. */
static void condition_without_a_limit_is_not_for_the_gil(void **state)
{
	(void)state;
	assert_string_equal(
		wait_in("pthread_cond_wait", "x /usr/lib/libpython3.11.so.1.0; f /me/a.py:1"),
		"QUEUE");
}

static void timed_condition_of_a_program_is_a_queue(void **state)
{
	(void)state;
	assert_string_equal(wait_in("pthread_cond_timedwait", "f /me/a /me/a.c:1"), "QUEUE");
}

static void select_of_time_sleep_sleeps(void **state)
{
	(void)state;
	assert_string_equal(wait_in("select", "pysleep /usr/bin/python3.10; f /me/a.py:1"),
			    "SLEEP");
}

static void select_of_others_polls(void **state)
{
	(void)state;
	assert_string_equal(wait_in("select", "selectsleep /usr/bin/python3.10; f /me/a.py:1"),
			    "POLL");
}

/* Only a poll may be time.sleep(): another call below it has the reason of its own name. */
static void read_below_time_sleep_is_a_read(void **state)
{
	(void)state;
	assert_string_equal(wait_in("read", "pysleep /usr/bin/python3.10; f /me/a.py:1"), "FILE");
}

static void read_of_an_import_imports(void **state)
{
	(void)state;
	assert_string_equal(wait_in("read", IMPORT), "IMPORT");
}

static void unknown_call_is_blocked(void **state)
{
	(void)state;
	assert_string_equal(wait_in("frobnicate", LINE_1), "BLOCKED");
	assert_near(part_of(WHY_BLOCKED)->sure, 0.4);
}

/* The import is in samples before and after, as the call has no stack. */
static void samples_around_a_call_tell_that_it_imports(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 10);
	runs(MAIN, 20, 40);
	call(MAIN, "read", 10, 20, NULL);
	sample(MAIN, 9, IMPORT);
	sample(MAIN, 21, IMPORT);
	ask();
	/* 0-10 computing, the wait of 10, and 20-40. */
	assert_near(of_reason(WHY_IMPORT), 40);
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		if (test.y.parts[i].cause.name != WHY_NONE)
			assert_near(test.y.parts[i].sure, 0.7);
}

static void sample_before_a_call_does_not_tell_that_it_imports(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "read", 10, 30, NULL);
	sample(MAIN, 9, IMPORT);
	sample(MAIN, 31, LINE_1);
	ask();
	assert_near(of_reason(WHY_FILE), 20);
	assert_string_equal(place_of_part(WHY_FILE), "");
}

/* A semaphore that the thread waits on and posts, is a lock; one that it waits on alone is a queue. */
static void semaphores(bool posts)
{
	report(60);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 60);
	call(MAIN, "sem_wait", 10, 30, LINE_1, .lock = 7);
	call(posts ? MAIN : OTHER, "sem_post", 50, 51, NULL, .lock = 7);
	ask();
}

static void semaphore_of_one_thread_is_a_lock(void **state)
{
	(void)state;
	semaphores(true);
	assert_near(of_reason(WHY_LOCK), 20);
	assert_near(of_reason(WHY_QUEUE), 0);
}

static void semaphore_of_two_threads_is_a_queue(void **state)
{
	(void)state;
	semaphores(false);
	assert_near(of_reason(WHY_LOCK), 0);
	assert_near(of_reason(WHY_QUEUE), 20);
}

/* Of a call of libc and of the kernel, libc's; of CUDA's, that. */
static void wait_is_of_the_call_nearest_to_the_program(void **state)
{
	(void)state;
	main_waits();
	system_call(MAIN, "futex", 9, 30, LINE_2);
	call(MAIN, "pthread_join", 9, 30, LINE_1);
	ask();
	assert_near(of_reason(WHY_JOIN), 20);
}

static void wait_in_a_system_call_has_its_reason(void **state)
{
	(void)state;
	main_waits();
	system_call(MAIN, "futex", 9, 30, LINE_2);
	ask();
	assert_string_equal(parts(), "COMPUTE 20\nQUEUE at a.py:2 in f 20\n");
	/* Of the reason; what ended it is not recorded. */
	assert_near(part_of(WHY_QUEUE)->sure, 0.7);
}

static void wait_in_a_call_of_cuda_is_the_drivers(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "ioctl", 9, 30, LINE_1);
	cuda(MAIN, "cudaMalloc", 8, 30, LINE_2, 1);
	ask();
	assert_string_equal(parts(), "COMPUTE 18\nGPU_CALL at a.py:2 in f 22\n");
}

/* A call that was over when the thread left the CPU is no reason: the wait began at 10. */
static void call_that_is_over_is_no_reason(void **state)
{
	(void)state;
	main_waits();
	call(MAIN, "usleep", 5, 10, LINE_1);
	call(MAIN, "getpid", 35, 36, LINE_2);
	ask();
	assert_near(of_reason(WHY_SLEEP), 0);
	assert_near(of_reason(WHY_BLOCKED), 20);
}

/* A JVM parks its threads in a condition, for a monitor and to sleep; park() itself is to be signalled. */
static void parked_for(const char *frame, uint32_t reason)
{
	char stack[200];

	snprintf(stack, sizeof(stack),
		 "os::PlatformEvent::park /usr/lib/jvm/libjvm.so; %s; f /me/a.py:1", frame);
	main_waits();
	call(MAIN, "pthread_cond_timedwait", 10, 30, stack);
	ask();
	assert_near(of_reason(reason), 20);
}

static void monitor_of_java_is_a_lock(void **state)
{
	(void)state;
	parked_for("ObjectMonitor::enter /usr/lib/jvm/libjvm.so", WHY_LOCK);
}

static void sleep_of_java_is_a_sleep(void **state)
{
	(void)state;
	parked_for("JavaThread::sleep /usr/lib/jvm/libjvm.so", WHY_SLEEP);
}

static void sleep_of_older_java_is_a_sleep(void **state)
{
	(void)state;
	parked_for("JVM_Sleep /usr/lib/jvm/libjvm.so", WHY_SLEEP);
}

static void park_of_java_is_to_be_signalled(void **state)
{
	(void)state;
	parked_for("Unsafe_Park /usr/lib/jvm/libjvm.so", WHY_QUEUE);
}

static void monitor_of_another_library_is_none(void **state)
{
	(void)state;
	parked_for("ObjectMonitor::enter /me/libx.so", WHY_QUEUE);
}

/* No call has a name; a thread of the process, or of another one, ended the wait. */
static void nameless(int waker)
{
	report(40);
	process(CHILD, MAIN, 0, 40);
	runs(MAIN, 0, 10);
	runs(MAIN, 30, 40, .by = waker);
	runs(OTHER, 0, 40);
	runs(CHILD, 0, 40);
	ask();
}

static void wait_that_a_thread_of_the_process_ended_is_a_signals(void **state)
{
	(void)state;
	nameless(OTHER);
	assert_int_equal(test.y.walk.hops[1].cause.reason, WHY_QUEUE);
}

static void wait_that_another_process_ended_has_no_reason(void **state)
{
	(void)state;
	nameless(CHILD);
	assert_int_equal(test.y.walk.hops[1].cause.reason, WHY_BLOCKED);
}

/* A wait of 10-30 for a peer elsewhere, of which the other end is recorded, or not. */
static void receives(bool has_end)
{
	main_waits();
	call(MAIN, "recv", 10, 30, LINE_1, .path = "tcp:10.0.0.2:80", .file = 1);
	sql("INSERT INTO SL_SOCKETS VALUES (1, 'tcp:10.0.0.1:9')");
	sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES "
	    "(1, 100, 0, 0, 'tcp:10.0.0.2:80')");
	if (has_end) {
		sql("INSERT INTO SL_SOCKETS VALUES (2, 'tcp:10.0.0.2:80')");
		sql("INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS "
		    "VALUES (2, 100, 0, 0, 'tcp:10.0.0.1:9')");
	}
	ask();
}

static void peer_in_the_report_is_not_the_network(void **state)
{
	(void)state;
	receives(true);
	assert_near(of_reason(WHY_SOCKET_ANY), 20);
}

static void peer_elsewhere_is_the_network(void **state)
{
	(void)state;
	receives(false);
	assert_near(of_reason(WHY_SOCKET), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(monitor_of_java_is_a_lock),
		TEST(sleep_of_java_is_a_sleep),
		TEST(sleep_of_older_java_is_a_sleep),
		TEST(park_of_java_is_to_be_signalled),
		TEST(monitor_of_another_library_is_none),
		TEST(wait_that_a_thread_of_the_process_ended_is_a_signals),
		TEST(wait_that_another_process_ended_has_no_reason),
		TEST(peer_in_the_report_is_not_the_network),
		TEST(peer_elsewhere_is_the_network),
		TEST(sample_stands_for_less_than_20_ms_before_it),
		TEST(sample_stands_for_the_19_999_ms_before_it),
		TEST(sample_stands_for_less_than_20_ms_after_it),
		TEST(sample_stands_for_19_999_ms_after_it),
		TEST(samples_at_one_time_share_no_time),
		TEST(frames_tell_what_runs),
		TEST(compiled_code_computes_itself),
		TEST(tracer_in_a_call_is_not_the_calls),
		TEST(call_in_pieces_begins_once),
		TEST(calls_on_a_cpu),
		TEST(call_of_cuda_counts_before_libcs),
		TEST(call_of_no_length_has_no_time),
		TEST(call_without_a_stack_has_the_place_of_a_sample_on_a_cpu),
		TEST(wait_has_the_place_of_a_sample_in_its_call),
		TEST(sample_after_a_call_is_none_of_it),
		TEST(wait_in_a_system_call_has_the_stack_with_which_the_thread_left_the_cpu),
		TEST(stack_of_another_wait_is_no_place),
		TEST(stack_of_the_call_counts_first),
		TEST(first_touch_of_memory_is_no_call_of_the_kernel),
		TEST(wait_in_take_gil_is_for_the_gil),
		TEST(timed_condition_of_the_interpreter_is_for_the_gil),
		TEST(condition_without_a_limit_is_not_for_the_gil),
		TEST(timed_condition_of_a_program_is_a_queue),
		TEST(select_of_time_sleep_sleeps),
		TEST(select_of_others_polls),
		TEST(read_below_time_sleep_is_a_read),
		TEST(read_of_an_import_imports),
		TEST(unknown_call_is_blocked),
		TEST(samples_around_a_call_tell_that_it_imports),
		TEST(sample_before_a_call_does_not_tell_that_it_imports),
		TEST(semaphore_of_one_thread_is_a_lock),
		TEST(semaphore_of_two_threads_is_a_queue),
		TEST(wait_is_of_the_call_nearest_to_the_program),
		TEST(wait_in_a_system_call_has_its_reason),
		TEST(wait_in_a_call_of_cuda_is_the_drivers),
		TEST(call_that_is_over_is_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
