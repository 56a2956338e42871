/* why_walk_gpu.c - waits for a GPU; what a GPU did, and why it did nothing. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_gpu_test.h"

#define COMPUTES "f /me/a.py:1"

/* Launched from 33 to 34: work that begins at 35, 4 ms after the wait. */
static void next_work(void)
{
	cuda(MAIN, "cudaLaunchKernel", 33, 34, LAUNCHES, 3);
	kernel(35, 36, 3);
}

/* ---- a wait is what the GPU does ---- */

/* 12-20 the kernel works, 20-31 the call has nothing to wait for; nothing follows. */
static void wait_is_the_kernel_then_the_call(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	ask();
	assert_string_equal(parts(), "COMPUTE 40\n"
				     "GPU at a.py:2 in f 8\n"
				     "GPU_CALL at a.py:2 in f 1\n"
				     "GPU_CALL at a.py:3 in f 11\n");
	assert_near(part_of(WHY_GPU)->sure, 1);
	assert_string_equal(
		string_of_map(&test.y, &test.y.model.names, part_of(WHY_GPU)->cause.name, ""), "k");
}

/* 4 ms pass until the next work begins: of the kernel's 8, the last 4 need not have been waited for. */
static void wait_is_needless_as_long_as_nothing_follows(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 4);
	assert_near(of_reason(WHY_GPU_SYNC), 4);
	assert_int_equal(part_of(WHY_GPU_SYNC)->cause.place, part_of(WHY_GPU_CALL)->cause.place);
}

/* Work that follows after 20 ms, which is longer than the kernel took: all 8 are needless. */
static void wait_is_needless_from_its_begin_at_most(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	kernel(51, 52, 0);
	ask();
	assert_near(of_reason(WHY_GPU), 0);
	assert_near(of_reason(WHY_GPU_SYNC), 8);
}

static void wait_for_a_result_is_needed(void **state)
{
	(void)state;
	program();
	copy(12, 20, 1, .kind = TO_HOST);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU_COPY), 8);
	assert_near(of_reason(WHY_GPU_SYNC), 0);
}

/* The copy to the host was over at 15, while the kernel went on. */
static void wait_for_a_result_beside_a_kernel_is_needed(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	copy(13, 15, 0, .kind = TO_HOST);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 8);
	assert_near(of_reason(WHY_GPU_SYNC), 0);
}

/* A result that was there at 12, as the call began, is no reason to wait. */
static void result_before_the_wait_is_no_reason(void **state)
{
	(void)state;
	program();
	kernel(11.5, 20, 1);
	copy(11.6, 12, 0, .kind = TO_HOST);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 4);
	assert_near(of_reason(WHY_GPU_SYNC), 4);
}

/* A copy to the GPU beside a kernel is none, either. */
static void copy_to_the_gpu_is_no_result(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	copy(13, 15, 0, .kind = 1);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU_SYNC), 4);
}

/* The GPU's clock may be 20 us ahead: work that ends at 31.02 was done. 31.02 - 4 = 27.02: 15.02 and 3.98 of 19. */
static void gpu_clock_may_be_20_us_ahead(void **state)
{
	(void)state;
	program();
	kernel(12, 31.02, 1);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 15.02);
	assert_near(of_reason(WHY_GPU_SYNC), 3.98);
}

static void gpu_that_goes_on_needs_no_less_waiting(void **state)
{
	(void)state;
	program();
	kernel(12, 31.021, 1);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 19);
	assert_near(of_reason(WHY_GPU_SYNC), 0);
}

/* Two kernels in the wait, 12-16 and 20-24; the next work is 4 ms away: the last 4 of the second. 16-20 and 24-31: the call. */
static void only_the_last_work_is_needless(void **state)
{
	(void)state;
	program();
	kernel(12, 16, 1);
	kernel(20, 24, 1);
	next_work();
	ask();
	assert_near(of_reason(WHY_GPU), 4);
	assert_near(of_reason(WHY_GPU_SYNC), 4);
	assert_near(of_reason(WHY_GPU_CALL), 4 + 7 + 2);
}

/* A kernel counts before a copy beside it, whichever ends first: copy 12-18, kernel 14-16: 2 and 4. A fill is a copy, a graph no. */
static void kernels_count_before_copies(void **state)
{
	(void)state;
	program();
	copy(12, 18, 1);
	kernel(14, 16, 0);
	fill(20, 22, 1);
	graph(23, 26, 1);
	ask();
	assert_near(of_reason(WHY_GPU), 2 + 3);
	assert_near(of_reason(WHY_GPU_COPY), 4 + 2);
}

/* Work without a launch that is known has neither place nor, if it is a copy, a name. */
static void work_without_a_launch_has_no_place(void **state)
{
	(void)state;
	program();
	copy(12, 20, 77);
	ask();
	assert_int_equal(part_of(WHY_GPU_COPY)->cause.place, PLACE_NONE);
	assert_int_equal(part_of(WHY_GPU_COPY)->cause.name, WHY_NONE);
}

/* A copy has no name of its own: that of the call. Its stack is the one of the library's call around it. */
static void copy_has_the_name_of_its_call(void **state)
{
	(void)state;
	program();
	library_call(MAIN, "cublasSetMatrix", 2, 5, SECOND);
	cuda(MAIN, "cudaMemcpyAsync", 3, 4, NULL, 5);
	copy(12, 20, 5);
	ask();
	assert_string_equal(
		string_of_map(&test.y, &test.y.model.names, part_of(WHY_GPU_COPY)->cause.name, ""),
		"cudaMemcpyAsync");
	assert_string_equal(test.y.walk.places.list[part_of(WHY_GPU_COPY)->cause.place].text,
			    "a.py:8 in g");
}

/* ---- which calls wait ---- */

/* 10-20 in a copy that is asynchronous by its name; on the GPU 11 to @end. */
static void copy_call(const char *name, double end)
{
	report(60);
	runs(MAIN, 0, 10.5);
	runs(MAIN, 20, 60);
	cuda(MAIN, name, 10, 20, LAUNCHES, 1);
	copy(11, end, 1);
	ask();
}

/* 10-11 and 19-20 are the call's. */
static void copy_that_is_over_before_its_call_was_waited_for(void **state)
{
	(void)state;
	copy_call("cudaMemcpyAsync", 19);
	assert_near(of_reason(WHY_GPU_COPY), 8);
	assert_near(of_reason(WHY_GPU_CALL), 2);
}

static void copy_that_ends_with_its_call_was_waited_for(void **state)
{
	(void)state;
	copy_call("cudaMemcpyAsync", 20);
	assert_near(of_reason(WHY_GPU_COPY), 9);
}

static void copy_that_goes_on_after_its_call_was_not_waited_for(void **state)
{
	(void)state;
	copy_call("cudaMemcpyAsync", 20.001);
	assert_near(of_reason(WHY_GPU_COPY), 0);
	assert_near(of_reason(WHY_GPU_CALL), 10);
}

static void synchronous_copy_waits_by_its_name(void **state)
{
	(void)state;
	copy_call("cudaMemcpy", 20.001);
	assert_near(of_reason(WHY_GPU_COPY), 9);
}

static void launch_does_not_wait(void **state)
{
	(void)state;
	copy_call("cudaLaunchKernel", 19);
	assert_near(of_reason(WHY_GPU_COPY), 0);
	assert_near(of_reason(WHY_GPU_CALL), 10);
}

/* Sixteen waits of 1 ms, each for a kernel of 0.5; the last one ends before the time that is looked at does. */
static void many_waits(void **state)
{
	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	for (int i = 0; i < 16; i++) {
		cuda(MAIN, "cudaStreamSynchronize", 2 * i, 2 * i + 1, WAITS, 0);
		kernel(2 * i, 2 * i + 0.5, 0);
	}
	ask();
	/* The next work begins 1 ms after each call: longer than it works; but after the last nothing follows. */
	assert_near(of_reason(WHY_GPU_SYNC), 7.5);
	assert_near(of_reason(WHY_GPU), 0.5);
	assert_near(of_reason(WHY_GPU_CALL), 8);
	assert_near(of_reason(WHY_COMPUTE), 60 - 16);
}

/* ---- what a GPU did ---- */

static const struct why_ask gpu_0 = {.of_gpu = true};

/*
 * k1 (5-6) is launched from 4 to 5 by the main thread, k2 (27-28) from 25 to 26 by thread 101, which is born at 20. Idle 6-27: of
 * the main thread, which made 101, until 20; then 101's until 25; 1 launching, 1 not yet begun.
 */
static void two_launchers(int maker)
{
	report(40);
	runs(MAIN, 0, 40);
	runs(OTHER, 20, 40, .by = maker);
	sample(MAIN, 10, COMPUTES);
	sample(MAIN, 20, COMPUTES);
	sample(OTHER, 25, SECOND);
	cuda(MAIN, "cudaLaunchKernel", 4, 5, LAUNCHES, 1);
	cuda(OTHER, "cudaLaunchKernel", 25, 26, LAUNCHES, 2);
	kernel(5, 6, 1);
	kernel(27, 28, 2);
}

static void idle_gpu_waits_for_the_thread_that_launches_next(void **state)
{
	(void)state;
	two_launchers(MAIN);
	ask_how(&gpu_0);
	assert_string_equal(parts(), "COMPUTE at a.py:1 in f 14\n"
				     "COMPUTE at a.py:8 in g @101 5\n"
				     "GPU_KERNEL at a.py:2 in f 2\n"
				     "GPU_LATENCY at a.py:2 in f @101 1\n"
				     "GPU_LAUNCH at a.py:2 in f 2\n");
	assert_int_equal(test.y.from, 4 * MS);
	assert_int_equal(test.y.to, 28 * MS);
}

/* Thread 102 made it, which computes on a line of its own. */
static void idle_gpu_waits_for_the_maker_of_the_thread(void **state)
{
	(void)state;
	two_launchers(102);
	runs(102, 1, 40);
	sample(102, 10, "h /me/a.py:7");
	sample(102, 20, "h /me/a.py:7");
	ask_how(&gpu_0);
	assert_near((double)part_of(WHY_COMPUTE)->ns / MS, 14);
	assert_string_equal(test.y.walk.places.list[part_of(WHY_COMPUTE)->cause.place].text,
			    "a.py:7 in h");
}

/* A thread that woke itself first, by its row: the main thread made it. */
static void thread_does_not_make_itself(void **state)
{
	(void)state;
	two_launchers(OTHER);
	ask_how(&gpu_0);
	assert_string_equal(test.y.walk.places.list[part_of(WHY_COMPUTE)->cause.place].text,
			    "a.py:1 in f");
}

/* The launch of k2 was not recorded: 6-27 are unknown, of which nothing is sure. */
static void idle_gpu_before_an_unknown_launch_is_unknown(void **state)
{
	(void)state;
	two_launchers(MAIN);
	sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 99 WHERE correlationId = 2");
	ask_how(&gpu_0);
	assert_near(of_reason(WHY_UNKNOWN), 21);
	assert_near(part_of(WHY_UNKNOWN)->sure, 0);
	assert_int_equal(test.y.gpus.list[0].unknown, 21 * MS);
}

/* Kernel 10-20; copies 8-12 (2 alone) and 18-25 (5 alone); of another GPU 8-30 nothing is this one's. */
static void copies_alone(void **state)
{
	const struct why_gpu *g = test.y.gpus.list;

	(void)state;
	program();
	kernel(10, 20, 1);
	copy(8, 12, 1);
	copy(18, 25, 1);
	kernel(8, 30, 1, .device = 3);
	ask();
	g = test.y.gpus.list;
	assert_int_equal(test.y.gpus.list_cnt, 2);
	assert_int_equal(g[0].device, 0);
	assert_int_equal(g[0].ops, 3);
	assert_int_equal(g[0].kernel, 10 * MS);
	assert_int_equal(g[0].copy, 7 * MS);
	assert_int_equal(g[1].device, 3);
	assert_int_equal(g[1].kernel, 22 * MS);
	assert_int_equal(g[1].to - g[1].from, g[1].kernel + g[1].copy + g[1].latency + g[1].launch +
						      g[1].host + g[1].unknown);
}

/* What a GPU did outside of the wall time is cut: 50-60 of 50-70. One that worked only after it is left out. */
static void gpus_are_cut_to_the_wall_time(void **state)
{
	(void)state;
	program();
	kernel(50, 70, 1);
	kernel(61, 62, 0, .device = 1);
	ask();
	assert_int_equal(test.y.gpus.list_cnt, 1);
	assert_int_equal(test.y.gpus.list[0].to, 60 * MS);
	assert_int_equal(test.y.gpus.list[0].kernel, 10 * MS);
}

/* Of 3 launches by 101 and 2 by the main thread, 101's GPU it is; without any launch, the root's. */
static void gpu_is_of_the_thread_that_launches_most(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 40);
	runs(OTHER, 0, 40);
	for (int i = 0; i < 5; i++) {
		cuda(i % 2 ? MAIN : OTHER, "cudaLaunchKernel", i, i + 0.5, NULL, i + 1);
		kernel(i + 0.5, i + 0.8, i + 1);
	}
	kernel(20, 21, 0, .device = 1);
	ask();
	assert_int_equal(test.y.model.threads[test.y.gpus.list[0].thread].tid, tid_of(OTHER));
	assert_int_equal(test.y.model.threads[test.y.gpus.list[1].thread].tid, tid_of(MAIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wait_is_the_kernel_then_the_call),
		TEST(wait_is_needless_as_long_as_nothing_follows),
		TEST(wait_is_needless_from_its_begin_at_most),
		TEST(wait_for_a_result_is_needed),
		TEST(wait_for_a_result_beside_a_kernel_is_needed),
		TEST(result_before_the_wait_is_no_reason),
		TEST(copy_to_the_gpu_is_no_result),
		TEST(gpu_clock_may_be_20_us_ahead),
		TEST(gpu_that_goes_on_needs_no_less_waiting),
		TEST(only_the_last_work_is_needless),
		TEST(kernels_count_before_copies),
		TEST(work_without_a_launch_has_no_place),
		TEST(copy_has_the_name_of_its_call),
		TEST(copy_that_is_over_before_its_call_was_waited_for),
		TEST(copy_that_ends_with_its_call_was_waited_for),
		TEST(copy_that_goes_on_after_its_call_was_not_waited_for),
		TEST(synchronous_copy_waits_by_its_name),
		TEST(launch_does_not_wait),
		TEST(many_waits),
		TEST(idle_gpu_waits_for_the_thread_that_launches_next),
		TEST(idle_gpu_waits_for_the_maker_of_the_thread),
		TEST(thread_does_not_make_itself),
		TEST(idle_gpu_before_an_unknown_launch_is_unknown),
		TEST(copies_alone),
		TEST(gpus_are_cut_to_the_wall_time),
		TEST(gpu_is_of_the_thread_that_launches_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
