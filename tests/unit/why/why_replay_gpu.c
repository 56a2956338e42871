/* why_replay_gpu.c - work of a GPU in the replay: it begins when its launch and the work before it allow. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_replay_test.h"

static uint32_t place_at(int line)
{
	const struct places *p = &test.y.walk.places;

	for (uint32_t i = 1; i < p->cnt; i++)
		if (p->list[i].line == line)
			return i;
	fail_msg("no place at line %d", line);
	return PLACE_NONE;
}

/* Without the waits at the line. */
#define won_without_wait(line, ...) \
	won_by((struct replay_edit){.keep = 1, .sync = place_at(line), ##__VA_ARGS__})

/* 0-10 line 1; line 2 launches 10-11; line 3 waits 11-31; line 4 computes 31-40. What runs on the GPU is the test's. */
static void program(void)
{
	report(40);
	runs(MAIN, 0, 11);
	runs(MAIN, 31, 40);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 31, 40, L(4));
	cuda(MAIN, "cudaLaunchKernel", 10, 11, L(2), 1);
	cuda(MAIN, "cudaDeviceSynchronize", 11, 31, L(3), 2);
}

/* ---- launches, waits ---- */

/* What comes before the launch, and the launch itself, make the kernel earlier; the kernel itself stays. */
static void kernel_begins_with_its_launch(void **state)
{
	(void)state;
	program();
	kernel(11, 31, 1);
	ask();
	assert_near(won(1, 0), 10);
	assert_near(won(2, 0), 1);
	assert_near(won(4, 0), 9);
}

/* The kernel is done at 31, whether or not the thread waits: line 4 is over before. */
static void work_is_done_before_the_end(void **state)
{
	(void)state;
	program();
	kernel(11, 31, 1);
	ask();
	assert_near(won_without_wait(3), 9);
}

/* A kernel of 8: 11-19, and 12 of the call after it. Without the wait, of the call remains: all; or 20 us. */
static void rest_of_a_wait_that_is_gone(void **state)
{
	(void)state;
	program();
	kernel(11, 19, 1);
	ask();
	assert_near(won_without_wait(3), 8);
	assert_near(won_without_wait(3, .without_cpu_waits = true), 20 - 0.02);
	/* Line 3 itself is done without: 12 of it, and the wait. */
	assert_near(won(3, 0), 20);
	/* Half of the line: 6 of the rest, and the kernel is waited for. */
	assert_near(won(3, 0.5), 6);
	assert_near(won(3, 0.49), 8 + 12 - 5.88);
	/* Shares by thread are of spans alone. */
	assert_near(won(3, 0, .of_thread = (double[]){1, 1, 1, 1}), 0);
}

/* In the rest of the call, 19-31, CUPTI runs 5 (24-29), and the thread has no CPU for 3 (21-24). */
static void rest_without_a_cpu_or_recorded(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 11);
	runs(MAIN, 19, 21, .preempted = true);
	runs(MAIN, 24, 40);
	computes(MAIN, 0, 10, L(1));
	computes(MAIN, 23, 24, L(4));
	for (int t = 25; t <= 29; t++)
		sample(MAIN, t, "x /lib/libcupti.so.13; y /lib/libcuda.so.1; " L(3));
	computes(MAIN, 29, 40, L(4));
	cuda(MAIN, "cudaLaunchKernel", 10, 11, L(2), 1);
	cuda(MAIN, "cudaDeviceSynchronize", 11, 31, L(3), 2);
	kernel(11, 19, 1);
	ask();
	/* Without line 3: 8 of the kernel, 12 of the rest but what is CUPTI's and without a CPU. */
	assert_near(won(3, 0), 8 + 12 - 5 - 3);
	assert_near(won(3, 0, .without_tracer = true), 8 + 12 - 3);
	assert_near(won(3, 0, .without_tracer = true, .without_cpu_waits = true), 8 + 12);
	assert_near(won(0, 1, .without_tracer = true), 5);
}

/* A copy to the host among the work brings a result: the wait for it cannot go. */
static void wait_for_a_result_stays(void **state)
{
	(void)state;
	program();
	kernel(11, 20, 1);
	copy(20, 31, 1, .kind = TO_HOST);
	ask();
	assert_near(won_without_wait(3), 0);
}

/* The result of a wait before is no result of this one: 8-10 a copy, waited for by 10.5; the kernel 11-31. */
static void result_counts_once(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaMemcpyAsync", 7, 8, L(5), 7);
	copy(8, 10, 7, .kind = TO_HOST);
	cuda(MAIN, "cudaStreamSynchronize", 8, 10, L(6), 8);
	kernel(11, 31, 1);
	ask();
	assert_near(won_without_wait(3), 9);
	assert_near(won_without_wait(6), 0);
}

/* Work that ends more than 20 us after the call was not waited for: the call takes its time. */
static void work_after_the_call_was_not_waited_for(void **state)
{
	(void)state;
	program();
	kernel(11, 31.021, 1);
	ask();
	/* All 20 are the call's rest, and go with the line; the kernel is done at 31.021. */
	assert_near(won_without_wait(3), 0);
	assert_near(won(1, 0), 10);
}

/* The GPU's clock is 20 us ahead: the host saw the end at 31. */
static void work_within_20_us_was_waited_for(void **state)
{
	(void)state;
	program();
	kernel(11, 31.02, 1);
	ask();
	/* Without the wait, the kernel is what ends last, by its own clock. */
	assert_near(won_without_wait(3), 40 - 31.02);
	assert_near(won(1, 0), 10);
	assert_near(won(2, 0), 1);
}

/* ---- streams ---- */

/*
 * Two launches at 10-11 and 11-12, in one stream: 13-20 with a lag of 2, and 20-30 right after. Without line 1 (9-10) all of it is
 * earlier; without the first launch (line 2) 1.
 */
static void second_kernel_follows_the_first(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 12);
	runs(MAIN, 30, 40);
	computes(MAIN, 0, 10, L(1));
	cuda(MAIN, "cudaLaunchKernel", 10, 11, L(2), 1);
	cuda(MAIN, "cudaLaunchKernel", 11, 12, L(5), 2);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 30, L(3), 3);
	computes(MAIN, 30, 40, L(4));
	kernel(13, 20, 1);
	kernel(20, 30, 2);
	ask();
	assert_near(won(1, 0), 10);
	assert_near(won(2, 0), 1);
	/* The second launch is not what the second kernel waits for. */
	assert_near(won(5, 0), 0);
}

/* The second kernel begins at 20.02, 20 us after the one before it: that gap stays, as of the stream. */
static void gap_in_a_stream_stays(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaLaunchKernel", 5, 6, L(5), 5);
	kernel(6, 20, 5);
	kernel(20.02, 31, 1);
	ask();
	/* Line 1 is 0-5 and 6-10: without its 9, the first kernel begins at 1, is done at 15, and the second at 26. */
	assert_near(won(1, 0), 5);
}

/* 5 us after its launch: the kernel did not wait for the stream, and its lag is its own. */
static void short_lag_is_no_wait_for_the_stream(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaLaunchKernel", 5, 6, L(5), 5);
	kernel(6, 11.005, 5);
	kernel(11.01, 31, 1);
	ask();
	/* Without line 1: launches at 1 and at 2, kernel 1-6.005, the second from 6.005 on (its stream), not from 2.01. */
	assert_near(won(1, 0), 31 - (6.005 + 19.99));
}

/*
 * A kernel in stream 9 waits for the copy in stream 8 (it begins 5 us after it, and 9 ms after its launch); the copy is launched by
 * line 5 at 5-6. The copy of line 5 is 14 long: without it 14 - 5 are won, as the kernel's launch is over at 11 anyway.
 */
static void kernel_waits_for_another_stream(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaMemcpyAsync", 5, 6, L(5), 5);
	copy(6, 20, 5, .stream = 8);
	kernel(20.005, 31, 1, .stream = 9);
	ask();
	/* Without line 5: its call 1, launch at 10, copy in no time at 5: the kernel begins at 10 and takes 10.995. */
	assert_near(won(5, 0), 31 - 20.995);
	/* Of the half of the copy and of the call: copy 5.5-12.5, kernel 12.505. */
	assert_near(won(5, 0.5), 7.5);
}

/* 20 us after the copy: that was not what it waited for; it has its lag of 9.02 after its launch. */
static void kernel_with_a_lag_of_its_own(void **state)
{
	(void)state;
	program();
	cuda(MAIN, "cudaMemcpyAsync", 5, 6, L(5), 5);
	copy(6, 20, 5, .stream = 8);
	kernel(20.02, 31, 1, .stream = 9);
	ask();
	/* Only the call of 1 ms. */
	assert_near(won(5, 0), 1);
}

/* Work of another process is no work that this one waits for. */
static void kernel_of_another_process_is_not_waited_for(void **state)
{
	(void)state;
	program();
	process(CHILD, MAIN, 0, 40);
	runs(CHILD, 0, 40, .by = MAIN);
	cuda(CHILD, "cudaMemcpyAsync", 5, 6, L(5), 5);
	copy(6, 20, 5, .stream = 8, .pid = CHILD);
	kernel(11, 31, 1);
	ask();
	assert_near(won_without_wait(3), 9);
	assert_near(won(1, 0), 10);
}

/* A copy of which 0.45 stay: 20 become 9. Kernels stay whole. */
static void share_of_a_copy_stays(void **state)
{
	(void)state;
	program();
	copy(11, 31, 1);
	ask();
	/* And 0.45 of the launch. */
	assert_near(won(2, 0.45), 11 + 0.55);
	assert_near(won(2, 0), 21);
}

/* ---- what was found ---- */

/* Two waits at line 3, 20 of them for the GPU, of which 8 and 4 it worked; at line 6 one for a result; the call's rest is none. */
static void waits_are_added_up_by_place(void **state)
{
	struct replay_edit edit = {.keep = 1, .sync = REPLAY_ANY};
	struct replay r = {.edits = &edit, .cnt = 1};

	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	for (int i = 0; i < 3; i++) {
		int a = 20 * i;

		cuda(MAIN, "cudaLaunchKernel", a, a + 1, L(2), 2 * i + 1);
		cuda(MAIN, "cudaDeviceSynchronize", a + 1, a + 15, i == 2 ? L(6) : L(3), 2 * i + 2);
	}
	kernel(1, 9, 1);
	kernel(21, 25, 3);
	copy(41, 50, 5, .kind = TO_HOST);
	ask();
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	assert_int_equal(r.syncs_cnt, 1);
	assert_int_equal(r.syncs[0].place, place_at(3));
	assert_int_equal(r.syncs[0].ns, 12 * MS);
	replay_free(&r);
	assert_null(r.syncs);
}

/* A call that itself copies is no wait that could go; nor one in which the GPU had nothing to do; nor another thread's. */
static void waits_that_could_not_go(void **state)
{
	struct replay_edit edit = {.keep = 1, .sync = REPLAY_ANY};
	struct replay r = {.edits = &edit, .cnt = 1};

	(void)state;
	report(60);
	runs(MAIN, 0, 60);
	runs(OTHER, 0, 60);
	cuda(MAIN, "cudaMemcpy", 0, 10, L(2), 1);
	copy(1, 9, 1);
	cuda(MAIN, "cudaDeviceSynchronize", 20, 30, L(3), 2);
	cuda(OTHER, "cudaLaunchKernel", 40, 41, L(5), 3);
	cuda(OTHER, "cudaDeviceSynchronize", 41, 50, L(6), 4);
	kernel(41, 49, 3);
	ask();
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	assert_int_equal(r.syncs_cnt, 0);
	replay_free(&r);
}

/* ---- ranks ---- */

#define REDUCE "ncclDevKernel_AllReduce"

/*
 * The collective of the main process: 11-31, launched at 11; that of the other one, which computes 0-24 at line 9 and launches
 * 24-25 at line 8: 25-31. So both end 6 after the later one begins.
 */
static void ranks(void)
{
	program();
	process(CHILD, MAIN, 0, 40);
	runs(CHILD, 0, 40, .by = MAIN);
	computes(CHILD, 0, 24, L(9));
	cuda(CHILD, "cudaLaunchKernel", 24, 25, L(8), 8);
	kernel(11, 31, 1, .name = REDUCE);
	kernel(25, 31, 8, .name = REDUCE, .pid = CHILD);
	ask();
}

static void ranks_wait_for_the_late_one(void **state)
{
	(void)state;
	ranks();
	/* Without line 9 the other one begins at 1; the main one's, at 11, is then the late one: 17. */
	assert_near(won(9, 0), 14);
	/* Of line 9 a half is 12: it begins at 13, and both end at 19. */
	assert_near(won(9, 0.5), 12);
	/* The launch of the other: 1. */
	assert_near(won(8, 0), 1);
	/* What the main one does before is waited for by none. */
	assert_near(won(1, 0), 0);
}

/* As many edits as there may be: of line 9, ever less stays; each has its own time. */
static void as_many_edits_as_there_may_be(void **state)
{
	struct replay_edit edits[REPLAY_EDITS];
	struct replay r = {.edits = edits, .cnt = REPLAY_EDITS};

	(void)state;
	ranks();
	r.culprits = test.y.culprits_cnt;
	for (int i = 0; i < REPLAY_EDITS; i++)
		edits[i] = (struct replay_edit){
			.culprits = i ? bit_of(9) : 0, .keep = 1 - i / 64.0, .sync = REPLAY_ANY};
	assert_int_equal(replay_run(&test.y, &r), SQLITE_OK);
	/* 24 of line 9, of which i / 64 go: at most 31 / 64, 11.625, less than the 14 after which the other rank is late. */
	for (int i = 0; i < REPLAY_EDITS; i++)
		assert_near((double)r.end[i] / MS, 40 - 24 * i / 64.0);
	replay_free(&r);
}

/* Calls of CUDA, and nothing that a GPU did: line 2's 10 on a CPU go, line 3 waits for nothing, 10 off the CPU. */
static void calls_without_any_work(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 20);
	runs(MAIN, 30, 40);
	computes(MAIN, 0, 10, L(1));
	cuda(MAIN, "cudaMalloc", 10, 20, L(2), 0);
	cuda(MAIN, "cudaDeviceSynchronize", 20, 30, L(3), 0);
	computes(MAIN, 30, 40, L(4));
	ask();
	assert_near(won(2, 0), 10);
	assert_near(won(3, 0), 10);
}

/* ---- a GPU's own end ---- */

/* Asked of GPU 0: its work is done at 31; without line 1, 10 earlier; what the thread does after it does not count. */
static void end_of_a_gpu(void **state)
{
	(void)state;
	program();
	kernel(11, 31, 1);
	ask_how(&(struct why_ask){.of_gpu = true});
	assert_int_equal(test.y.to, 31 * MS);
	assert_near(won(2, 0), 1);
	assert_int_equal(test.y.from, 10 * MS);
}

/* A launch within a call of a library, whose end counts: 9-12; a call that launches nothing is a span on a CPU. */
static void launch_in_a_library_call(void **state)
{
	(void)state;
	report(40);
	runs(MAIN, 0, 12);
	runs(MAIN, 31, 40);
	computes(MAIN, 0, 8, L(1));
	cuda(MAIN, "cudaMalloc", 8, 9, L(7), 9);
	library_call(MAIN, "cublasSgemm", 9, 12, L(2));
	cuda(MAIN, "cudaLaunchKernel", 10, 11, NULL, 1);
	cuda(MAIN, "cudaDeviceSynchronize", 12, 31, L(3), 2);
	computes(MAIN, 31, 40, L(4));
	kernel(11.5, 31, 1);
	ask();
	assert_near(won(1, 0), 8);
	assert_near(won(7, 0), 1);
	assert_near(won(2, 0), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernel_begins_with_its_launch),
		TEST(work_is_done_before_the_end),
		TEST(rest_of_a_wait_that_is_gone),
		TEST(rest_without_a_cpu_or_recorded),
		TEST(wait_for_a_result_stays),
		TEST(result_counts_once),
		TEST(work_after_the_call_was_not_waited_for),
		TEST(work_within_20_us_was_waited_for),
		TEST(second_kernel_follows_the_first),
		TEST(gap_in_a_stream_stays),
		TEST(short_lag_is_no_wait_for_the_stream),
		TEST(kernel_waits_for_another_stream),
		TEST(kernel_with_a_lag_of_its_own),
		TEST(kernel_of_another_process_is_not_waited_for),
		TEST(share_of_a_copy_stays),
		TEST(waits_are_added_up_by_place),
		TEST(waits_that_could_not_go),
		TEST(ranks_wait_for_the_late_one),
		TEST(as_many_edits_as_there_may_be),
		TEST(calls_without_any_work),
		TEST(end_of_a_gpu),
		TEST(launch_in_a_library_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
