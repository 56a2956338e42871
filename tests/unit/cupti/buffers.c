/* buffers - the sizes of buffers that CUPTI gets: large, unless the GPU is never idle and they fill slowly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

/* The code under test, with a clock of the test's. */
#include "preload/cupti/buffers.c" /* NOLINT(bugprone-suspicious-include) */

#define MS 1000000ull
#define S  (1000 * MS)

struct guest guest;
static uint64_t time_now;

bool guest_is_own_process(void)
{
	return true;
}

void convert_buffer(uint8_t *buffer, size_t valid, uint64_t since)
{
	(void)since;
	(void)buffer;
	(void)valid;
}

static uint64_t now(void)
{
	return time_now;
}

static const struct sl_cuda_host host = {.flush_ms = 1000, .now = now};
static const struct sl_cuda_host no_flushes = {.now = now};

static struct out {
	uint8_t *data;
	size_t bytes;
} request(void)
{
	size_t max;
	struct out o;

	buffer_requested(&o.data, &o.bytes, &max);
	assert_non_null(o.data);
	return o;
}

static void complete(struct out o, size_t valid)
{
	buffer_completed(NULL, 0, o.data, o.bytes, valid);
}

/* CUPTI requests the next one before it returns a full one. */
static struct out fill(struct out o, uint64_t took)
{
	struct out next;

	time_now += took;
	next = request();
	complete(o, o.bytes - 100);
	return next;
}

static struct out flush(struct out o, uint64_t took)
{
	time_now += took / 2;
	complete(o, o.bytes / 2);
	time_now += took / 2;
	return request();
}

/* Each test in a thread of its own, as sizes may be a thread's. */
static void in_thread(void *(*test)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, test, NULL), 0);
	pthread_join(thread, NULL);
}

static void *fast(void *unused)
{
	struct out o = request();

	assert_int_equal(o.bytes, 64 << 10);
	o = fill(o, MS);
	assert_int_equal(o.bytes, 256 << 10);
	o = fill(o, MS);
	assert_int_equal(o.bytes, 1 << 20);
	o = fill(o, MS);
	assert_int_equal(o.bytes, 1 << 20);
	/* The GPU is idle now and then, also for long: there is nothing to gain by smaller ones. */
	o = flush(o, S);
	o = flush(o, 10 * S);
	assert_int_equal(o.bytes, 1 << 20);
	complete(o, 0);
	return unused;
}

static void much_work_gets_large_buffers(void **state)
{
	(void)state;
	guest.host = &host;
	guest.version = 130001;
	in_thread(fast);
}

/* 100 launches per second, and always work on the GPU: records arrive within half a second. */
static void *never_idle(void *unused)
{
	const uint64_t per_byte = 10 * MS / 288;
	struct out o = request();

	for (int i = 0; i < 5; i++)
		o = fill(o, o.bytes * per_byte);
	assert_true(o.bytes * per_byte <= S / 2 + S / 10);
	assert_int_equal(o.bytes, 16 << 10);
	for (int i = 0; i < 5; i++)
		o = fill(o, MS);
	assert_int_equal(o.bytes, 1 << 20);
	/* One that CUPTI has not returned yet is full as well. */
	time_now += 20 * S;
	assert_true(request().bytes < 1 << 20);
	return unused;
}

static void a_gpu_that_is_never_idle_keeps_little_back(void **state)
{
	(void)state;
	guest.host = &host;
	guest.version = 130001;
	in_thread(never_idle);
}

static struct out other;

static void *fill_in_turn(void *unused)
{
	other = fill(other, 100 * MS);
	return unused;
}

/* Before CUDA 13: they fill the same buffer, each of them requests few. */
static void threads_share_sizes(void **state)
{
	(void)state;
	guest.host = &host;
	guest.version = 28;
	other = request();
	assert_int_equal(other.bytes, 64 << 10);
	/* Ten per second, by ten threads. */
	for (int i = 0; i < 10; i++)
		in_thread(fill_in_turn);
	assert_int_equal(other.bytes, 1 << 20);
}

static void without_flushes_all_are_large(void **state)
{
	(void)state;
	guest.host = &no_flushes;
	guest.version = 130001;
	assert_int_equal(request().bytes, 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(much_work_gets_large_buffers),
		cmocka_unit_test(a_gpu_that_is_never_idle_keeps_little_back),
		cmocka_unit_test(threads_share_sizes),
		cmocka_unit_test(without_flushes_all_are_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
