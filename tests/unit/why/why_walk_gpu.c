/* why_walk_gpu.c - waits for a GPU, of one rank for another, of streams for each other; what a GPU did and why it did nothing. */
#include "tests/unit/why/why_test.h"

#define COMPUTES "f /me/a.py:1"
#define LAUNCHES "f /me/a.py:2"
#define WAITS    "f /me/a.py:3"
#define SECOND   "g /me/a.py:8"

/* The main thread launches from 10 to 11, and waits from 12 to 31. Its parts without the 19 of the wait: 41. */
static void program(void)
{
	report(60);
	runs(MAIN, 0, 12);
	runs(MAIN, 31, 60);
	cuda(MAIN, "cudaLaunchKernel", 10, 11, LAUNCHES, 1);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 31, WAITS, 2);
}

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

/* ---- streams ---- */

static int64_t uneven(double from, double to, double *until)
{
	const struct why *y = ask();
	int64_t end, begin = walk_uneven_from(&y->model, y->model.threads[y->focus].process,
					      ns_of(from), ns_of(to), &end);

	*until = (double)end / MS;
	return begin;
}

/* 10 ms in stream 7, @from to @to in stream 9. */
static int64_t two_streams(double from, double to, int device)
{
	double until;
	int64_t begin;

	program();
	kernel(10, 20, 1);
	kernel(from, to, 1, .stream = 9, .device = device);
	begin = uneven(0, 60, &until);
	if (begin != INT64_MAX)
		assert_near(until, 20);
	return begin;
}

/* 10 and 4 are 7 each: from 17 on stream 7 works more than its share. */
static void stream_with_more_than_its_share(void **state)
{
	(void)state;
	assert_int_equal(two_streams(10, 14, 0), 17 * MS);
}

/* 10 and 2 are 6 each, from 16 on; until 18 the other one works, too. */
static void stream_is_alone_when_the_other_is_done(void **state)
{
	(void)state;
	assert_int_equal(two_streams(16, 18, 0), 18 * MS);
}

static void streams_that_end_together_are_even(void **state)
{
	(void)state;
	assert_int_equal(two_streams(16, 20, 0), INT64_MAX);
}

/* 1 of 10 is a tenth, and counts: 5.5 each, from 15.5 on. 0.999 does not. */
static void stream_with_a_tenth_counts(void **state)
{
	(void)state;
	assert_int_equal(two_streams(10, 11, 0), 15.5 * MS);
}

static void stream_with_less_than_a_tenth_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(two_streams(10, 10.999, 0), INT64_MAX);
}

static void stream_of_another_gpu_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(two_streams(10, 14, 1), INT64_MAX);
}

/* Of equal shares, each is the whole of its own: the first is not alone, as the second comes after it. */
static void streams_with_equal_shares_are_even(void **state)
{
	double until;

	(void)state;
	program();
	kernel(10, 14, 1);
	kernel(16, 20, 1, .stream = 9);
	assert_int_equal(uneven(0, 60, &until), INT64_MAX);
}

/* 10-16 and 14-20 in one stream are 10, not 12; with 4 of the other: 17. Copies do not count. */
static void kernels_of_a_stream_overlap(void **state)
{
	double until;

	(void)state;
	program();
	kernel(10, 16, 1);
	kernel(14, 20, 1);
	kernel(10, 14, 1, .stream = 9);
	copy(10, 40, 1, .stream = 11);
	assert_int_equal(uneven(0, 60, &until), 17 * MS);
	assert_near(until, 20);
}

/* From 12 to 18: 6 and 2, 4 each: from 20 - 2 on. The stream's end is not cut. */
static void streams_within_a_time(void **state)
{
	double until;

	(void)state;
	program();
	kernel(10, 20, 1);
	kernel(10, 14, 1, .stream = 9);
	assert_int_equal(uneven(12, 18, &until), 18 * MS);
}

/* Sixty-five streams, 2 ms each, after one of 20: only the first 64 are looked at: (20 + 63 * 2) / 64 = 2.28 each, in ns. */
static void streams_beyond_64_are_not_looked_at(void **state)
{
	double until;
	int64_t mean = (20 + 63 * 2) * MS / 64;

	(void)state;
	program();
	kernel(10, 30, 1);
	for (int i = 0; i < 64; i++)
		kernel(10.1, 12.1, 1, .stream = 100 + i);
	assert_int_equal(uneven(0, 60, &until), 10 * MS + mean);
}

/* Sixty-four kernels that were over at 12.1 have no place among the streams from there on: 17.9 and 10 are 13.95 each. */
static void streams_that_are_done_have_no_place(void **state)
{
	double until;

	(void)state;
	program();
	kernel(10, 30, 1);
	for (int i = 0; i < 64; i++)
		kernel(10.1, 12.1, 1, .stream = 100 + i);
	kernel(14, 24, 1, .stream = 9);
	assert_int_equal(uneven(12.1, 60, &until), ns_of(30 - 17.9 + 13.95));
}

/* 12-20 in two streams until 14: 8 and 2, 5 each. In the wait: 12-17 GPU, 17-20 one stream alone. Nothing follows. */
static void wait_for_one_stream_is_uneven(void **state)
{
	(void)state;
	program();
	kernel(12, 20, 1);
	kernel(12, 14, 1, .stream = 9);
	ask();
	assert_near(of_reason(WHY_GPU), 5);
	assert_near(of_reason(WHY_GPU_UNEVEN), 3);
}

/* The second stream worked before the wait that ended at 9: since then there is but one. */
static void shares_count_from_the_last_wait_on(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaStreamSynchronize", 8, 9, WAITS, 5);
	kernel(5, 9, 1, .stream = 9);
	kernel(12, 20, 1);
	ask();
	assert_near(of_reason(WHY_GPU_UNEVEN), 0);
}

/* ---- ranks ---- */

#define REDUCE "ncclDevKernel_AllReduce"

/* A kernel of process 100 from 12 to @end, and one of another process or GPU from 12.2 to @late: is that what the first waits for? */
static bool waits(double end, double late, int pid, int device)
{
	const struct why_op *o;

	program();
	process(CHILD, MAIN, 0, 60);
	kernel(12, end, 1, .name = REDUCE);
	kernel(12.2, late, 1, .name = REDUCE, .pid = pid, .device = device);
	ask();
	o = walk_late_op(&test.y.walk, &test.y.model.ops[0]);
	assert_true(!o || o == &test.y.model.ops[1]);
	return o != NULL;
}

/* A short collective: its kernels end within 50 us. */
static void kernels_of_a_collective_end_within_50_us(void **state)
{
	(void)state;
	assert_true(waits(12.5, 12.55, CHILD, 0));
}

static void kernels_51_us_apart_are_no_collective(void **state)
{
	(void)state;
	assert_false(waits(12.5, 12.551, CHILD, 0));
}

/* A long one, of 20 ms: within a twentieth. */
static void kernels_of_a_long_collective_end_within_a_twentieth(void **state)
{
	(void)state;
	assert_true(waits(32, 33, CHILD, 0));
}

static void kernels_more_than_a_twentieth_apart_are_no_collective(void **state)
{
	(void)state;
	assert_false(waits(32, 33.001, CHILD, 0));
}

static void rank_may_be_another_gpu_of_the_process(void **state)
{
	(void)state;
	assert_true(waits(32, 32, MAIN, 1));
}

static void kernel_of_the_same_gpu_is_no_rank(void **state)
{
	(void)state;
	assert_false(waits(32, 32, MAIN, 0));
}

/*
 * The collective of process 100 runs from 12 to 30; that of 200 begins at 25, launched from 20 to 21 by its main thread, which
 * slept from 2 to 20. So 12-25 are that thread's: asleep 8, launching 1, not yet begun 4; 25-30 the kernel's own.
 */
static void rank(int launch)
{
	program();
	process(CHILD, MAIN, 0, 60);
	kernel(12, 30, 1, .name = REDUCE);
	/* Woken by the main thread: its calls are read, whatever its kernels are called. */
	runs(CHILD, 0, 2, .by = MAIN);
	call(CHILD, "usleep", 2, 20, SECOND);
	runs(CHILD, 20, 60);
	cuda(CHILD, "cudaLaunchKernel", 20, 21, "g /me/a.py:9", 8);
	kernel(25, 30, launch, .name = REDUCE, .pid = CHILD);
}

static void kernel_waits_for_the_rank_that_is_late(void **state)
{
	(void)state;
	rank(8);
	ask();
	assert_near(of_reason(WHY_SLEEP), 8);
	assert_near(of_reason(WHY_GPU_LAUNCH), 1);
	assert_near(of_reason(WHY_GPU_LATENCY), 4);
	assert_near(of_reason(WHY_GPU), 5);
	assert_near(part_of(WHY_SLEEP)->sure, 0.7);
	assert_int_equal(test.y.walk.hops[part_of(WHY_SLEEP)->hop].cause.reason, WHY_GPU_RANK);
}

/* Who launched the other kernel is not known: it cannot be followed. */
static void rank_without_a_launch_is_not_followed(void **state)
{
	(void)state;
	rank(0);
	ask();
	assert_near(of_reason(WHY_GPU), 18);
}

/* Kernels with other names, or the same name and no collective's, do not wait for each other. */
static void other_kernels_do_not_wait_for_each_other(void **state)
{
	(void)state;
	rank(8);
	sql("UPDATE StringIds SET value = 'reduce' WHERE value = %Q", REDUCE);
	ask();
	assert_near(of_reason(WHY_GPU), 18);
}

static void collectives_with_other_names_do_not_wait_for_each_other(void **state)
{
	(void)state;
	rank(8);
	sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = %d WHERE globalPid = %lld",
	    text_id("ncclDevKernel_Broadcast"), pid_of(CHILD));
	ask();
	assert_near(of_reason(WHY_GPU), 18);
}

/* As deep as the walk goes, no further rank is looked at: the time is where it was. */
static void rank_is_not_followed_beyond_the_depth(void **state)
{
	struct at at = {.sure = 1};
	const struct why_op *o;

	(void)state;
	rank(8);
	ask();
	at.thread = test.y.focus;
	o = &test.y.model.ops[0];
	at.depth = DEPTH_MAX - 1;
	assert_int_equal(walk_late_rank(&test.y.walk, &at, o, 12 * MS, 30 * MS), 25 * MS);
	at.depth = DEPTH_MAX;
	assert_int_equal(walk_late_rank(&test.y.walk, &at, o, 12 * MS, 30 * MS), 12 * MS);
	/* From 25 on, none is late. */
	at.depth = 0;
	assert_int_equal(walk_late_rank(&test.y.walk, &at, o, 25 * MS, 30 * MS), 25 * MS);
	assert_int_equal(walk_late_rank(&test.y.walk, &at, o, 13 * MS, 20 * MS), 20 * MS);
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

/* A thread that is said to have made itself: the main thread did. */
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
		TEST(stream_with_more_than_its_share),
		TEST(stream_is_alone_when_the_other_is_done),
		TEST(streams_that_end_together_are_even),
		TEST(stream_with_a_tenth_counts),
		TEST(stream_with_less_than_a_tenth_does_not_count),
		TEST(stream_of_another_gpu_does_not_count),
		TEST(streams_with_equal_shares_are_even),
		TEST(kernels_of_a_stream_overlap),
		TEST(streams_within_a_time),
		TEST(streams_beyond_64_are_not_looked_at),
		TEST(streams_that_are_done_have_no_place),
		TEST(wait_for_one_stream_is_uneven),
		TEST(shares_count_from_the_last_wait_on),
		TEST(kernels_of_a_collective_end_within_50_us),
		TEST(kernels_51_us_apart_are_no_collective),
		TEST(kernels_of_a_long_collective_end_within_a_twentieth),
		TEST(kernels_more_than_a_twentieth_apart_are_no_collective),
		TEST(rank_may_be_another_gpu_of_the_process),
		TEST(kernel_of_the_same_gpu_is_no_rank),
		TEST(kernel_waits_for_the_rank_that_is_late),
		TEST(rank_without_a_launch_is_not_followed),
		TEST(other_kernels_do_not_wait_for_each_other),
		TEST(collectives_with_other_names_do_not_wait_for_each_other),
		TEST(rank_is_not_followed_beyond_the_depth),
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
