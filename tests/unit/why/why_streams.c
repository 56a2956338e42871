/* why_streams.c - waits of one rank for another, of streams for each other. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_gpu_test.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
