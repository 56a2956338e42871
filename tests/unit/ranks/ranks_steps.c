/* ranks_steps.c - which ranges are the steps of a rank, and the columns of SL_STEPS: threads, GPUs, bytes. */
#include "ranks_test.h"

/* Rank 0 is process 7, rank 1 process 8 with its helper 9; 6 is of no rank. */
#define RANKS                                                                                     \
	"INSERT INTO process VALUES(6, NULL, 0, 9000), (7, 6, 0, 9000), (8, 6, 0, 9000), (9, 8, " \
	"0, 9000), (10, 7, 0, 9000);"                                                             \
	"INSERT INTO variable VALUES(7, 'RANK', '0'), (8, 'RANK', '1');"

static void assert_steps(const char *want)
{
	assert_rows(rolled.db,
		    "SELECT rank, step, start - " EPOCH_TEXT ", end - " EPOCH_TEXT
		    " FROM SL_STEPS ORDER BY rank, start",
		    want);
}

/* ---- which ---- */

static void report_without_ranges_has_no_steps(void **state)
{
	(void)state;
	roll_sql(RANKS);
	assert_steps("");
	assert_rows(rolled.db, "SELECT rank, steps FROM SL_RANKS ORDER BY rank", "0 0\n1 0\n");
}

static void number_in_the_name_is_the_number_of_the_step(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 200, 300, 'step 12'), (7, 7, 0, 100, 'step "
		       "5'), (7, 7, 100, 200, 'step 7')");
	assert_steps("0 5 0 100\n0 7 100 200\n0 12 200 300\n");
	assert_int_equal(found.steps, 3);
	assert_rows(rolled.db, "SELECT rank, steps FROM SL_RANKS ORDER BY rank", "0 3\n1 0\n");
}

/* Rank 0: two steps have one number. Rank 1: one has two numbers. 2: none has one. */
static void steps_without_growing_numbers_are_counted_from_1(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO variable VALUES(9, 'RANK', '2');"
		       "INSERT INTO mark VALUES(7, 7, 0, 100, 'step 5'), (7, 7, 100, 200, 'step "
		       "5'), (8, 8, 0, 100, 'step 3 of 9'), (8, 8, 100, 200, 'step 4 of 9'), (9, "
		       "9, 0, 100, 'step'), (9, 9, 100, 200, 'step')");
	assert_steps("0 1 0 100\n0 2 100 200\n1 1 0 100\n1 2 100 200\n2 1 0 100\n2 2 100 200\n");
}

/* As many as the first array of steps has room for. */
static void steps_that_fill_their_array_are_counted(void **state)
{
	(void)state;
	roll_sql(RANKS
		 "INSERT INTO mark WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i "
		 "< 15) SELECT 7, 7, i * 10, i * 10 + 10, 'step' FROM n");
	assert_rows(rolled.db, "SELECT count(*), min(step), max(step) FROM SL_STEPS", "16 1 16\n");
}

static void number_0_is_a_number(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step 0'), (7, 7, 100, 200, 'step "
		       "1')");
	assert_steps("0 0 0 100\n0 1 100 200\n");
}

/* The next number cannot be larger, so the steps are counted. */
static void number_beyond_2_to_the_63_is_the_largest(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step 99999999999999999999')");
	assert_steps("0 9223372036854775807 0 100\n");
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step 99999999999999999998'), (7, "
		       "7, 100, 200, 'step 99999999999999999999')");
	assert_steps("0 1 0 100\n0 2 100 200\n");
}

/* Of two with one start the longer is around the other; 50-150 begins where 0-100 ends; 30-60 is in 0-100. */
static void steps_of_a_rank_do_not_overlap(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step'), (7, 7, 0, 40, 'step'), (7, "
		       "7, 30, 60, 'step'), (7, 7, 50, 150, 'step'), (7, 7, 150, 150, 'step'), (7, "
		       "7, 150, 151, 'step')");
	assert_steps("0 1 0 100\n0 2 100 150\n0 3 150 151\n");
}

static void equal_steps_are_one(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step'), (7, 7, 0, 100, 'step')");
	assert_steps("0 1 0 100\n");
}

/* Of rank 1: thread 8 spends 100 ns in steps, helper 9 spends 150. */
static void steps_are_those_of_the_thread_with_most_time_in_them(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(8, 8, 0, 100, 'step 1'), (9, 9, 0, 75, 'step 1'), "
		       "(9, 9, 75, 150, 'step 2'), (7, 7, 5, 6, 'step 1'), (6, 6, 0, 900, 'step "
		       "1')");
	assert_steps("0 1 5 6\n1 1 0 75\n1 2 75 150\n");
}

/* Without --range: "epoch" is around the batches, which repeat. */
static void batches_are_steps_where_no_range_is_asked_for(void **state)
{
	const struct rollup_ask ask = {.rank = -1};

	(void)state;
	assert_int_equal(roll_as(report("r.sqlite",
					RANKS "INSERT INTO mark VALUES(7, 7, 0, 900, 'epoch'), (7, "
					      "7, 0, 400, 'batch 8'), (7, 7, 500, 900, 'batch 9')"),
				 &ask),
			 0);
	assert_steps("0 8 0 400\n0 9 500 900\n");
}

/* Times are cut to 2^61, so that the parts do not overflow: 2^61 + 1.2 * 10^12 = 2305844209213693952. */
static void times_beyond_2_to_the_61_are_cut(void **state)
{
	(void)state;
	roll_sql(RANKS "INSERT INTO mark VALUES(7, 7, -9223372036854775807, 9223372036854775807, "
		       "'step')");
	assert_rows(rolled.db, "SELECT start, end, otherNs FROM SL_STEPS",
		    "-2305841809213693952 2305844209213693952 4611686018427387904\n");
}

static void long_names_are_steps(void **state)
{
	char sql[6000], name[2001];

	(void)state;
	memset(name, 'n', 2000);
	name[2000] = 0;
	snprintf(sql, sizeof(sql),
		 RANKS "INSERT INTO mark VALUES(7, 7, 0, 100, 'step 8 %s'), (7, 7, 100, 200, "
		       "'step 9 %s')",
		 name, name);
	roll_sql(sql);
	assert_steps("0 8 0 100\n0 9 100 200\n");
}

/* ---- GPUs ---- */

#define STEPS                                                                                     \
	"INSERT INTO mark VALUES(7, 7, 0, 1000, 'step 1'), (7, 7, 1000, 2000, 'step 2'), (8, 8, " \
	"0, 1000, 'step 1');"

static void assert_gpus(const char *sql, const char *want)
{
	char text[4096];

	snprintf(text, sizeof(text), RANKS STEPS "%s", sql);
	roll_sql(text);
	assert_rows(rolled.db,
		    "SELECT rank, step, gpuBusyNs, collNs, exposedCollNs FROM SL_STEPS ORDER BY "
		    "rank, step",
		    want);
}

static void report_without_gpu_work_does_not_know_it(void **state)
{
	(void)state;
	assert_gpus("", "0 1 - - -\n0 2 - - -\n1 1 - - -\n");
}

/* Busy 100-500; NCCL 350-500; others 100-400, so NCCL is alone 400-500. */
static void overlapping_kernels_count_once(void **state)
{
	(void)state;
	assert_gpus("INSERT INTO kernel VALUES(7, 200, 400, 2, 'gemm'), (7, 100, 300, 1, 'gemm'), "
		    "(7, 350, 500, 3, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL')",
		    "0 1 400 150 100\n0 2 0 0 0\n1 1 0 0 0\n");
}

/* 200-300 lies in 100-400; then 400-450 touches it; two at 600-700 are equal: 350 + 100. */
static void kernels_in_kernels_and_equal_kernels_count_once(void **state)
{
	(void)state;
	assert_gpus("INSERT INTO kernel VALUES(7, 100, 400, 1, 'a'), (7, 200, 300, 2, 'b'), (7, "
		    "400, 450, 3, 'a'), (7, 600, 700, 4, 'a'), (7, 600, 700, 5, 'a')",
		    "0 1 450 0 0\n0 2 0 0 0\n1 1 0 0 0\n");
}

/* -100 to 50: 50 in step 1. 900-1200: 100 and 200. 1900-2500: 100 in step 2. 3000-3100: in none. */
static void kernels_are_cut_at_the_ends_of_steps(void **state)
{
	(void)state;
	assert_gpus("INSERT INTO kernel VALUES(7, -100, 50, 1, 'ncclDevKernel_A'), (7, 900, 1200, "
		    "2, 'ncclDevKernel_A'), (7, 1900, 2500, 3, 'gemm'), (7, 3000, 3100, 4, 'gemm')",
		    "0 1 150 150 150\n0 2 300 200 200\n1 1 0 0 0\n");
}

/* 9 is a helper of rank 1, 6 is of no rank. */
static void kernels_count_for_the_rank_of_their_process(void **state)
{
	(void)state;
	assert_gpus("INSERT INTO kernel VALUES(9, 100, 200, 1, 'gemm'), (8, 150, 400, 1, "
		    "'ncclDevKernel_A'), (6, 0, 900, 1, 'gemm')",
		    "0 1 0 0 0\n0 2 0 0 0\n1 1 300 250 200\n");
}

/* A copy is no kernel, whatever stream: 100-300 and NCCL 200-500. */
static void copies_are_busy_and_cover_collectives(void **state)
{
	(void)state;
	assert_gpus(
		"INSERT INTO kernel VALUES(7, 200, 500, 1, 'ncclDevKernel_A');"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, "
		"streamId, correlationId, globalPid, bytes, copyKind) VALUES(100, 300, 0, 1, 8, "
		"2, 7 * 16777216 + 281474976710656, 64, 1)",
		"0 1 400 300 200\n0 2 0 0 0\n1 1 0 0 0\n");
}

/* ---- where the time of the thread went ---- */

#define PARTS "cpuNs, runnableNs, gpuNs, fileNs, networkNs, lockNs, gilNs, sleepNs, otherNs, dataNs"

static void assert_parts(const char *sql, const char *want)
{
	char text[4096];

	snprintf(text, sizeof(text), RANKS "INSERT INTO mark VALUES(7, 7, 0, 1000, 'step');%s",
		 sql);
	roll_sql(text);
	assert_rows(rolled.db, "SELECT " PARTS " FROM SL_STEPS", want);
}

/* On a CPU from 0 to 100 and from 700 on; in between in a call, of which the reason is that of the wait. */
static void assert_wait(const char *call, const char *path, const char *want)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1);"
		 "INSERT INTO libc VALUES(7, 7, 50, 750, '%s', %s%s%s, NULL)",
		 call, path ? "'" : "", path ? path : "NULL", path ? "'" : "");
	assert_parts(sql, want);
}

static void waits_are_in_the_column_of_their_reason(void **state)
{
	(void)state;
	assert_wait("clock_nanosleep", NULL, "400 0 0 0 0 0 0 600 0 0\n");
	assert_wait("read", "/data/shard", "400 0 0 600 0 0 0 0 0 0\n");
	assert_wait("fsync", NULL, "400 0 0 600 0 0 0 0 0 0\n");
	assert_wait("mmap", NULL, "400 0 0 600 0 0 0 0 0 0\n");
	assert_wait("recv", NULL, "400 0 0 0 600 0 0 0 0 0\n");
	assert_wait("read", "tcp:1.2.3.4:80", "400 0 0 0 600 0 0 0 0 0\n");
	assert_wait("pthread_mutex_lock", NULL, "400 0 0 0 0 600 0 0 0 0\n");
	assert_wait("read", "pipe:[1]", "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("sem_wait", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("pthread_join", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("waitpid", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("poll", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("sigwait", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	assert_wait("of_no_known_name", NULL, "400 0 0 0 0 0 0 0 600 0\n");
	/* Python's loader: on a CPU or not, the thread imports. */
	assert_wait("dlopen", NULL, "1000 0 0 0 0 0 0 0 0 0\n");
}

/* CPython waits for the GIL on a condition with a time limit, called by the interpreter itself. */
static void wait_for_the_gil_is_in_its_column(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1);"
		     "INSERT INTO sample VALUES(6, 6, 1, '/usr/bin/python3.11', 'take_gil');"
		     "INSERT INTO libc VALUES(7, 7, 50, 750, 'pthread_cond_timedwait', NULL, NULL);"
		     "UPDATE OSRT_API SET callchainId = (SELECT max(id) FROM SL_STACKS)",
		     "400 0 0 0 0 0 600 0 0 0\n");
}

/* Runs 0-100 and 700-1000; could run 100-700. */
static void time_without_a_cpu_is_runnable(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 2), (7, 7, 700, 1)",
		     "400 600 0 0 0 0 0 0 0 0\n");
}

/* Copies of the driver (gpu call) run 0-200; the thread waits for a kernel of 200-900 until 950. */
static void wait_for_the_gpu_is_in_its_column(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 250, 0), (7, 7, 920, 1);"
		     "INSERT INTO cuda VALUES(7, 7, 0, 200, 1, 'cudaLaunchKernel'), (7, 7, 250, "
		     "950, 2, 'cudaDeviceSynchronize');"
		     "INSERT INTO kernel VALUES(7, 200, 900, 1, 'gemm')",
		     "100 0 900 0 0 0 0 0 0 0\n");
}

/* A sample in the tracer's library stands for the 400 ns before it: the program does not compute. */
static void time_of_being_recorded_is_no_computing(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1);"
		     "INSERT INTO sample VALUES(7, 7, 600, '/usr/bin/p', 'main'), (7, 7, 1000, "
		     "'/opt/lib/libtrace.so', 'sl_enter')",
		     "600 0 0 0 0 0 0 0 400 0\n");
}

static void thread_that_nothing_was_recorded_of_is_other(void **state)
{
	(void)state;
	assert_parts("", "0 0 0 0 0 0 0 0 1000 0\n");
}

/* Switches begin at 300: before them nothing is known but that the thread was not there. */
static void time_before_the_first_switch_is_other(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 300, 1)", "700 0 0 0 0 0 0 0 300 0\n");
}

#define WOKEN_BY(tid)                                                                          \
	"INSERT INTO SL_SCHED_DETAIL(start, globalTid, wakeupTime, wakerTid) VALUES(700, 7 * " \
	"16777216 + 7 + 281474976710656, 700, " tid ");"

/* Thread 7 waits 100-700 for process 10, a helper of its rank, which sleeps until 300, then reads a file until 700. */
static void time_of_the_waker_counts_as_data(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1), (10, 10, "
		     "0, 1), (10, 10, 100, 0), (10, 10, 300, 1), (10, 10, 800, 0);"
		     "INSERT INTO libc VALUES(7, 7, 50, 750, 'sem_wait', NULL, NULL), (10, 10, 90, "
		     "300, 'clock_nanosleep', NULL, NULL);" WOKEN_BY("10 * 16777216 + 10 + "
								     "281474976710656"),
		     /* Own 100 + 300 and the waker's 400 on a CPU; the waker's 200 asleep. */
		     "800 0 0 0 0 0 0 200 0 600\n");
}

/* The waker waits for its GPU: GPUs are apart. */
static void time_of_the_wakers_gpu_is_no_data(void **state)
{
	(void)state;
	assert_parts(
		"INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1), (10, 10, "
		"0, 1), (10, 10, 90, 0), (10, 10, 690, 1), (10, 10, 800, 0);"
		"INSERT INTO libc VALUES(7, 7, 50, 750, 'sem_wait', NULL, NULL);"
		"INSERT INTO cuda VALUES(10, 10, 10, 20, 1, 'cudaLaunchKernel'), (10, 10, 90, "
		"695, 2, 'cudaDeviceSynchronize');"
		"INSERT INTO kernel VALUES(10, 20, 690, 1, 'gemm');" WOKEN_BY(
			"10 * 16777216 + 10 + 281474976710656"),
		/* The kernel is 100-690; then 10 returns (5, in the driver) and computes for 5. */
		"405 0 595 0 0 0 0 0 0 5\n");
}

/* Thread 7 waits 100-700 for process 9, of another rank, which sleeps, reads and computes: none of that is of rank 0. */
static void wait_for_another_rank_is_a_wait(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1), (9, 9, "
		     "0, 1), (9, 9, 100, 0), (9, 9, 300, 1), (9, 9, 800, 0);"
		     "INSERT INTO libc VALUES(7, 7, 50, 750, 'sem_wait', NULL, NULL), (9, 9, 90, "
		     "300, 'clock_nanosleep', NULL, NULL);" WOKEN_BY("9 * 16777216 + 9 + "
								     "281474976710656"),
		     "400 0 0 0 0 0 0 0 600 0\n");
}

/* The kernel of rank 0 begins at 110, that of rank 1 at 600: until then rank 1 sleeps. Rank 0 waits for its GPU. */
static void wait_for_a_late_rank_is_a_wait_for_the_gpu(void **state)
{
	(void)state;
	assert_parts(
		"INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 200, 0), (7, 7, 700, 1), (8, 8, "
		"0, 1), (8, 8, 50, 0), (8, 8, 590, 1), (8, 8, 600, 0), (8, 8, 700, 1);"
		"INSERT INTO libc VALUES(8, 8, 40, 590, 'clock_nanosleep', NULL, NULL);"
		"INSERT INTO cuda VALUES(7, 7, 100, 105, 1, 'cudaLaunchKernel'), (7, 7, 105, "
		"700, 2, 'cudaStreamSynchronize'), (8, 8, 592, 598, 1, 'cudaLaunchKernel'), (8, 8, "
		"598, 700, 2, 'cudaStreamSynchronize');"
		"INSERT INTO kernel VALUES(7, 110, 690, 1, 'ncclDevKernel_AllReduce'), (8, 600, "
		"690, 1, 'ncclDevKernel_AllReduce');",
		"400 0 600 0 0 0 0 0 0 0\n");
}

/* Thread 7 waits 100-700 for a lock; its holder, a helper of the rank, sleeps until 300. */
static void wait_for_a_lock_is_one_whatever_its_holder_does(void **state)
{
	(void)state;
	assert_parts("INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 100, 0), (7, 7, 700, 1), (10, 10, "
		     "0, 1), (10, 10, 100, 0), (10, 10, 300, 1), (10, 10, 800, 0);"
		     "INSERT INTO libc VALUES(7, 7, 50, 750, 'pthread_mutex_lock', NULL, NULL), "
		     "(10, 10, 90, 300, 'clock_nanosleep', NULL, NULL);" WOKEN_BY(
			     "10 * 16777216 + 10 + 281474976710656"),
		     "400 0 0 0 0 600 0 0 0 600\n");
}

/* The second step is a span of its own. */
static void each_step_has_its_own_parts(void **state)
{
	(void)state;
	roll_sql(RANKS STEPS "INSERT INTO cpu VALUES(7, 7, 0, 1), (7, 7, 900, 0), (7, 7, 1300, 1), "
			     "(7, 7, 5000, 0), (8, 8, 0, 1), (8, 8, 5000, 0);"
			     "INSERT INTO libc VALUES(7, 7, 890, 1300, 'clock_nanosleep', NULL, "
			     "NULL)");
	assert_rows(rolled.db,
		    "SELECT rank, step, cpuNs, sleepNs FROM SL_STEPS ORDER BY rank, step",
		    "0 1 900 100\n0 2 700 300\n1 1 1000 0\n");
}

/* ---- bytes ---- */

/* Of step 1 of rank 0: 10 + 20. 999 is in it, 1000 in the next. Helper 9 reads for rank 1. What is written does not count. */
static void bytes_read_are_those_of_calls_that_begin_in_the_step(void **state)
{
	(void)state;
	roll_sql(RANKS STEPS "INSERT INTO libc VALUES(7, 7, 0, 5, 'read', '/a', 10), (7, 70, 999, "
			     "1500, 'pread64', '/a', 20), (7, 7, 1000, 1001, 'read', '/a', 40), "
			     "(7, 7, 1999, 2000, 'read', NULL, 80), (7, 7, 2000, 2001, 'read', "
			     "'/a', 160), (7, 7, -1, 0, 'read', '/a', 320), (7, 7, 5, 6, 'write', "
			     "'/a', 640), (9, 9, 5, 6, 'read', '/a', 7), (6, 6, 5, 6, 'read', "
			     "'/a', 9), (7, 7, 7, 8, 'read', '/a', -5), (7, 7, 8, 9, 'read', '/a', "
			     "NULL)");
	assert_rows(rolled.db, "SELECT rank, step, bytesRead FROM SL_STEPS ORDER BY rank, step",
		    "0 1 30\n0 2 120\n1 1 7\n");
}

static void bytes_beyond_2_to_the_63_stop_there(void **state)
{
	(void)state;
	roll_sql(RANKS STEPS "INSERT INTO libc VALUES(7, 7, 0, 5, 'read', '/a', "
			     "9223372036854775807), (7, 7, 6, 7, 'read', '/a', 1)");
	assert_rows(rolled.db, "SELECT bytesRead FROM SL_STEPS WHERE rank = 0 ORDER BY step",
		    "9223372036854775807\n0\n");
}

static void steps_of_restarts_are_apart(void **state)
{
	(void)state;
	roll_sql("INSERT INTO process VALUES(7, NULL, 0, 100), (8, NULL, 200, 300);"
		 "INSERT INTO variable VALUES(7, 'RANK', '3'), (8, 'RANK', '3'), (8, "
		 "'TORCHELASTIC_RESTART_COUNT', '1');"
		 "INSERT INTO mark VALUES(7, 7, 0, 50, 'step 1'), (8, 8, 200, 220, 'step 1')");
	assert_rows(rolled.db, "SELECT rank, restart, step, end - start FROM SL_STEPS ORDER BY 2",
		    "3 0 1 50\n3 1 1 20\n");
}

/* ---- failures ---- */

/* The first row of a table cannot be written: the roll-up fails, whatever comes after it. */
static void assert_fails_at(const char *path, const char *table, const char *first)
{
	const struct rollup_ask ask = {.rank = -1, .range = "step%"};
	char sql[256];

	if (rolled.db)
		dataset_end(&rolled);
	assert_int_equal(dataset_begin(&rolled), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "CREATE TRIGGER refuse BEFORE INSERT ON %s WHEN %s BEGIN SELECT RAISE(ABORT, "
		 "'no'); "
		 "END",
		 table, first);
	exec_sql(rolled.db, sql);
	assert_int_equal(rollup_add(&rolled, path, &ask, &found, why, sizeof(why)), -1);
	assert_int_not_equal(strlen(why), 0);
}

static void row_that_cannot_be_written_ends_the_roll_up(void **state)
{
	const char *path =
		report("r.sqlite", RANKS STEPS
		       "INSERT INTO nccl VALUES(7, 7, 0, 1, 'ncclBcast', 1, 1, 0, 0), (7, "
		       "7, 2, 3, 'ncclBcast', 1, 1, 0, 0);"
		       "INSERT INTO kernel VALUES(7, 0, 1, 1, 'a'), (7, 2, 3, 2, 'b')");

	(void)state;
	assert_fails_at(path, "SL_STEPS", "new.rank = 0 AND new.step = 1");
	assert_fails_at(path, "SL_STEPS", "new.rank = 0");
	assert_fails_at(path, "SL_COLLECTIVES", "new.seq = 1");
	assert_fails_at(path, "SL_KERNELS", "new.name = 'a'");
	assert_fails_at(path, "SL_RANKS", "new.rank = 0");
}

/* ---- MPI ---- */

/* A rank that looks for others computes all the while: CPU time between its calls of MPI alone is its own. */
static void time_in_mpi_is_a_wait_for_other_ranks(void **state)
{
	(void)state;
	roll_sql(
		RANKS
		"INSERT INTO mark VALUES(7, 7, 1000, 2000, 'step 1'), (7, 7, 2000, 3000, 'step 2');"
		"INSERT INTO cpu VALUES(7, 7, 500, 1);"
		"INSERT INTO mpi VALUES(7, 7, 900, 1100, 'MPI_Barrier', 5, NULL, 1, NULL), (7, 7, "
		"1400, "
		"1600, 'MPI_Barrier', 5, NULL, 2, NULL), (7, 7, 1900, 2250, 'MPI_Barrier', 5, "
		"NULL, 3, "
		"NULL), (7, 17, 2300, 2900, 'MPI_Barrier', 5, NULL, 4, NULL)");
	assert_rows(
		rolled.db,
		"SELECT step, cpuNs, gpuNs, cpuNs + gpuNs + otherNs FROM SL_STEPS ORDER BY step",
		"1 600 400 1000\n2 750 250 1000\n");
}

#define COUNT_TO(n)            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " n ") SELECT "
#define EACH(table, n, values) "INSERT INTO " table " " COUNT_TO(n) values " FROM n;"

/* Without ranges, the collective of the world that comes once per step; others come more often, end early, are of a part. */
static void rarest_collective_ends_the_steps_of_a_program_without_marks(void **state)
{
	static const char sql[] = RANKS
		"INSERT INTO mpi_comm VALUES(7, 777, 8, 0), (7, 888, 2, 0), (8, 777, 8, 1);" EACH(
			"mpi", "10",
			"7, 7, i * 100, i * 100 + 10, 'MPI_Allreduce', 777, 8, i * 3, NULL")
			EACH("mpi", "20",
			     "7, 7, i * 50, i * 50 + 5, 'MPI_Allreduce', 777, 4096, i, NULL")
				EACH("mpi", "5",
				     "7, 7, i * 10, i * 10 + 5, 'MPI_Bcast', 777, 8, i, NULL")
					EACH("mpi", "5",
					     "7, 7, i * 200, i * 200 + 5, 'MPI_Barrier', 888, "
					     "NULL, i, NULL") "INSERT INTO mpi VALUES(8, 8, 0, 10, "
							      "'MPI_Barrier', 777, NULL, 1, NULL)";
	const struct rollup_ask ask = {.rank = -1};

	(void)state;
	assert_int_equal(roll_as(report("r.sqlite", sql), &ask), 0);
	assert_rows(rolled.db,
		    "SELECT rank, count(*), min(step), max(step), min(start) - " EPOCH_TEXT
		    ", max(end) - " EPOCH_TEXT " FROM SL_STEPS GROUP BY rank",
		    "0 9 1 9 110 1010\n");
}

/* The same of NCCL, by the handle of its communicator; sends do not count. */
static void collectives_of_nccl_end_steps_as_well(void **state)
{
	static const char sql[] = RANKS "INSERT INTO comm VALUES(7, 5, 777, 8, 0, 0, NULL);" EACH(
		"nccl", "6", "7, 7, i * 100, i * 100 + 10, 'ncclAllReduce', 5, 8, 7, 0")
		EACH("nccl", "5",
		     "7, 7, i * 100 + 20, i * 100 + 30, 'ncclSend', 5, 8, "
		     "7, 0") "INSERT INTO SL_GPU_ARGUMENTS SELECT callId, "
			     "3, 45, callId FROM SL_LIBRARY_API";
	const struct rollup_ask ask = {.rank = -1};

	(void)state;
	assert_int_equal(roll_as(report("r.sqlite", sql), &ask), 0);
	assert_rows(rolled.db,
		    "SELECT rank, count(*), min(start) - " EPOCH_TEXT ", max(end) - " EPOCH_TEXT
		    " FROM SL_STEPS",
		    "0 5 110 610\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLL_TEST(time_in_mpi_is_a_wait_for_other_ranks),
		ROLL_TEST(rarest_collective_ends_the_steps_of_a_program_without_marks),
		ROLL_TEST(collectives_of_nccl_end_steps_as_well),
		ROLL_TEST(report_without_ranges_has_no_steps),
		ROLL_TEST(number_in_the_name_is_the_number_of_the_step),
		ROLL_TEST(steps_without_growing_numbers_are_counted_from_1),
		ROLL_TEST(steps_that_fill_their_array_are_counted),
		ROLL_TEST(number_0_is_a_number),
		ROLL_TEST(number_beyond_2_to_the_63_is_the_largest),
		ROLL_TEST(steps_of_a_rank_do_not_overlap),
		ROLL_TEST(equal_steps_are_one),
		ROLL_TEST(steps_are_those_of_the_thread_with_most_time_in_them),
		ROLL_TEST(batches_are_steps_where_no_range_is_asked_for),
		ROLL_TEST(times_beyond_2_to_the_61_are_cut),
		ROLL_TEST(long_names_are_steps),
		ROLL_TEST(report_without_gpu_work_does_not_know_it),
		ROLL_TEST(overlapping_kernels_count_once),
		ROLL_TEST(kernels_in_kernels_and_equal_kernels_count_once),
		ROLL_TEST(kernels_are_cut_at_the_ends_of_steps),
		ROLL_TEST(kernels_count_for_the_rank_of_their_process),
		ROLL_TEST(copies_are_busy_and_cover_collectives),
		ROLL_TEST(waits_are_in_the_column_of_their_reason),
		ROLL_TEST(wait_for_the_gil_is_in_its_column),
		ROLL_TEST(time_without_a_cpu_is_runnable),
		ROLL_TEST(wait_for_the_gpu_is_in_its_column),
		ROLL_TEST(time_of_being_recorded_is_no_computing),
		ROLL_TEST(thread_that_nothing_was_recorded_of_is_other),
		ROLL_TEST(time_before_the_first_switch_is_other),
		ROLL_TEST(time_of_the_waker_counts_as_data),
		ROLL_TEST(time_of_the_wakers_gpu_is_no_data),
		ROLL_TEST(wait_for_another_rank_is_a_wait),
		ROLL_TEST(wait_for_a_late_rank_is_a_wait_for_the_gpu),
		ROLL_TEST(wait_for_a_lock_is_one_whatever_its_holder_does),
		ROLL_TEST(each_step_has_its_own_parts),
		ROLL_TEST(bytes_read_are_those_of_calls_that_begin_in_the_step),
		ROLL_TEST(bytes_beyond_2_to_the_63_stop_there),
		ROLL_TEST(steps_of_restarts_are_apart),
		ROLL_TEST(row_that_cannot_be_written_ends_the_roll_up),
	};

	return cmocka_run_group_tests_name("ranks_steps", tests, NULL, NULL);
}
