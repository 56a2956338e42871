/* rank_pace.c - where the time of a rank's thread goes: sums of calls, and their differences over the last samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/capture/rank_pace.h"
#include "preload/wire/hooks.h"

#define MS INT64_C(1000000)

static struct rank_pace p;
static struct job_pace last;

static bool sample(int64_t now)
{
	return rank_pace_sample(&p, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), now, &last);
}

static int set_up(void **state)
{
	(void)state;
	p = (struct rank_pace){.sum.size = 8};
	memset(&last, 0, sizeof(last));
	return 0;
}

static void calls_count_by_what_they_wait_for(void **state)
{
	static const struct {
		unsigned hook;
		enum job_part part;
	} cases[] = {{SL_H_nanosleep, JOB_SLEEP}, {SL_H_fsync, JOB_FILE},
		     {SL_H_read, JOB_FILE},       {SL_H_pthread_mutex_lock, JOB_LOCK},
		     {SL_H_waitpid, JOB_CHILD},   {SL_H_poll, JOB_POLL},
		     {SL_H_recv, JOB_NETWORK}};

	(void)state;
	assert_false(sample(1));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		rank_pace_call(&p, cases[i].hook, i, 1 << i);
	rank_pace_call(&p, SL_H_aio_fsync, 99, 1000);
	rank_pace_call(&p, SL_HOOK_CNT, 99, 1000);
	rank_pace_step(&p, 50 * MS, 20 * MS);
	assert_true(sample(2 * MS));
	assert_int_equal(last.part[JOB_SLEEP], 1);
	assert_int_equal(last.part[JOB_FILE], 2 + 4);
	assert_int_equal(last.part[JOB_LOCK], 8);
	assert_int_equal(last.part[JOB_CHILD], 16);
	assert_int_equal(last.part[JOB_POLL], 32);
	assert_int_equal(last.part[JOB_NETWORK], 64);
	assert_int_equal(last.part[JOB_STEP], 50 * MS);
	assert_int_equal(last.part[JOB_OWN], 20 * MS);
	assert_int_equal(last.steps, 1);
	assert_int_equal(last.size, 8);
	assert_int_equal(last.span, 2 * MS - 1);
}

/* A GPU library that sleeps until a stream is done waits for the GPU. */
static void calls_within_a_gpu_call_do_not_count(void **state)
{
	(void)state;
	assert_false(sample(1));
	rank_pace_call(&p, SL_H_nanosleep, 10, 5 * MS);
	rank_pace_call(&p, SL_H_nanosleep, 20, 7 * MS);
	rank_pace_call(&p, SL_H_poll, 30, 9 * MS);
	rank_pace_gpu_call(&p, 20);
	rank_pace_gpu_call(&p, 20);
	rank_pace_call(&p, SL_H_nanosleep, 40, MS);
	assert_true(sample(2));
	assert_int_equal(last.part[JOB_SLEEP], 6 * MS);
	assert_int_equal(last.part[JOB_POLL], 0);
	for (unsigned i = 0; i < 3 * RANK_PACE_RECENT; i++)
		rank_pace_call(&p, SL_H_poll, 100 + i, 1);
	rank_pace_gpu_call(&p, 100);
	assert_true(sample(3));
	assert_int_equal(last.part[JOB_POLL], 2 * RANK_PACE_RECENT);
}

static void the_last_samples_count(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 20; i++) {
		rank_pace_step(&p, 100 * MS, 100 * MS);
		assert_int_equal(sample(i * 2000 * MS + 1), i > 0);
	}
	assert_int_equal(last.steps, RANK_PACE_SAMPLES - 1);
	assert_int_equal(last.span, (RANK_PACE_SAMPLES - 1) * 2000 * MS);
}

static void a_thread_has_its_time_of_the_cpu(void **state)
{
	volatile uint64_t n = 0;

	(void)state;
	assert_false(sample(1));
	while (n < 50000000)
		n++;
	assert_true(sample(2));
	assert_true(last.part[JOB_CPU] > MS);
	/* Another thread's time is no difference to it. */
	assert_false(rank_pace_sample(&p, 1, 1, 3, &last));
	assert_false(rank_pace_sample(&p, (uint32_t)getpid(), 0x7fffffff, 4, &last));
	assert_false(sample(5));
	assert_true(sample(6));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_count_by_what_they_wait_for),
		TEST(calls_within_a_gpu_call_do_not_count),
		TEST(the_last_samples_count),
		TEST(a_thread_has_its_time_of_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
