/* leaving.c - no thread is in a slow path when a process that a library came to late has left its session. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/core/leaving.c" /* NOLINT(bugprone-suspicious-include) */

#include <cmocka.h>

#define THREADS 3
#define ROUNDS  100

static void begin(void)
{
	is_counting = is_closed = false;
	inside = 0;
}

static void test_preloaded_library_counts_nothing(void **state)
{
	(void)state;
	begin();
	assert_true(sl_slow_begin());
	assert_int_equal(inside, 0);
	sl_slow_end();
	assert_int_equal(inside, 0);
	sl_slow_forked();
	assert_int_equal(inside, 0);
}

static void test_close_waits_for_the_last_thread(void **state)
{
	(void)state;
	begin();
	sl_slow_open();
	assert_true(sl_slow_begin());
	assert_true(sl_slow_begin());
	sl_slow_end();
	assert_false(sl_slow_close(5));
	sl_slow_end();
	assert_true(sl_slow_close(5));
}

static void test_nothing_begins_after_close(void **state)
{
	(void)state;
	begin();
	sl_slow_open();
	assert_true(sl_slow_close(5));
	assert_false(sl_slow_begin());
	assert_int_equal(inside, 0);
	sl_slow_open();
	assert_true(sl_slow_begin());
	sl_slow_end();
}

static void test_nested_path_is_refused_while_it_closes(void **state)
{
	(void)state;
	begin();
	sl_slow_open();
	assert_true(sl_slow_begin());
	assert_false(sl_slow_close(1));
	assert_false(sl_slow_begin());
	assert_int_equal(inside, 1);
	sl_slow_end();
	assert_true(sl_slow_close(1));
}

static void test_close_takes_no_longer_than_its_limit(void **state)
{
	uint64_t begun, past;

	(void)state;
	begin();
	sl_slow_open();
	assert_true(sl_slow_begin());
	begun = sl_mono_ns();
	assert_false(sl_slow_close(20));
	past = sl_mono_ns() - begun;
	assert_true(past >= 20000000);
	assert_true(past < 5000000000);
}

static void test_child_has_one_thread(void **state)
{
	(void)state;
	begin();
	sl_slow_open();
	/* Of the parent's threads, and the one that has forked, in its first slow path. */
	assert_true(sl_slow_begin());
	assert_true(sl_slow_begin());
	assert_true(sl_slow_begin());
	sl_slow_forked();
	sl_slow_end();
	assert_true(sl_slow_close(1));
}

/* ---- threads ---- */

static int *map;
static uint32_t ends, seen_null, entered;

static void *use_map(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
		if (!sl_slow_begin()) {
			sched_yield();
			continue;
		}
		for (unsigned i = 0; i < 10; i++)
			if (!__atomic_load_n(&map, __ATOMIC_RELAXED))
				__atomic_store_n(&seen_null, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&entered, 1, __ATOMIC_RELAXED);
		sl_slow_end();
	}
	return NULL;
}

static void test_no_thread_finds_the_map_gone(void **state)
{
	pthread_t t[THREADS];
	static int there;

	(void)state;
	begin();
	map = &there;
	sl_slow_open();
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, use_map, NULL), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t before = __atomic_load_n(&entered, __ATOMIC_RELAXED);

		assert_true(sl_slow_close(10000));
		__atomic_store_n(&map, NULL, __ATOMIC_RELAXED);
		for (volatile unsigned n = 0; n < 1000; n++)
			;
		__atomic_store_n(&map, &there, __ATOMIC_RELAXED);
		sl_slow_open();
		while (__atomic_load_n(&entered, __ATOMIC_RELAXED) == before)
			sched_yield();
	}
	__atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(seen_null, 0);
	assert_int_equal(inside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preloaded_library_counts_nothing),
		cmocka_unit_test(test_close_waits_for_the_last_thread),
		cmocka_unit_test(test_nothing_begins_after_close),
		cmocka_unit_test(test_nested_path_is_refused_while_it_closes),
		cmocka_unit_test(test_close_takes_no_longer_than_its_limit),
		cmocka_unit_test(test_child_has_one_thread),
		cmocka_unit_test(test_no_thread_finds_the_map_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
