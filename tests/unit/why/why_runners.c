/* why_runners.c - event loops that a callback blocks, and pools with one worker. */
#include "tests/unit/why/why_test.h"
#include "tests/unit/why/why_text_test.h"

#define LIB      "/usr/lib/python3.11/"
#define CALLBACK "; Handle._run " LIB "asyncio/events.py:80; g " LIB "asyncio/base_events.py:1922"
#define POLL     "select " LIB "selectors.py:468; g " LIB "asyncio/base_events.py:1898"
#define JOB                                                                    \
	"; _WorkItem.run " LIB "concurrent/futures/thread.py:58; _worker " LIB \
	"concurrent/futures/thread.py:83"
#define NEXT_JOB "_worker " LIB "concurrent/futures/thread.py:81"

static void put_runners(FILE *out)
{
	why_put_runners(out, &test.y);
}

/* Turns of @ms in a callback at line 7, which waits in @name (NULL: it computes), and polls of 10 between them. */
static void turns(int cnt, double ms, const char *name, const char *stack)
{
	report(cnt * (ms + 10) + 12);
	runs(MAIN, 0, 10);
	for (int i = 0; i < cnt; i++) {
		double a = 11 + i * (ms + 10);

		if (name) {
			runs(MAIN, a, a + 0.5, .ready = a);
			call(MAIN, name, a + 0.5, a + ms - 0.5, stack);
			runs(MAIN, a + ms - 0.5, a + ms, .ready = a + ms - 0.5);
		} else {
			runs(MAIN, a, a + ms, .ready = a);
			computes(MAIN, a, a + ms, stack);
		}
		call(MAIN, "epoll_wait", a + ms, a + ms + 10, POLL, .result = 1);
	}
	runs(MAIN, 11 + cnt * (ms + 10), 12 + cnt * (ms + 10));
	ask();
}

static void call_in_a_callback_blocks_the_loop(void **state)
{
	const char *json;

	(void)state;
	turns(3, 30, "usleep", L(7) CALLBACK);
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_line(text_of(put_runners),
		    "main thread: its event loop (asyncio) stands still for 87 ms, 3 times, up to "
		    "29 ms: "
		    "sleeping, usleep at a.py:7 in f7: await its asynchronous form, or "
		    "asyncio.to_thread()");
	json = text_of(put_json);
	assert_string_equal(value_of(json, "$.event_loops[0].times"), "3");
	assert_string_equal(value_of(json, "$.event_loops[0].ns"), "87000000");
	assert_string_equal(value_of(json, "$.event_loops[0].longest_ns"), "29000000");
	assert_string_equal(value_of(json, "$.event_loops[0].of"), "asyncio");
	assert_string_equal(value_of(json, "$.event_loops[0].line"), "7");
}

/* 19 of a turn of 20: the call is shorter than the least. */
static void short_turns_do_not_block(void **state)
{
	(void)state;
	turns(10, 20, "usleep", L(7) CALLBACK);
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

static void turns_of_twenty_and_more_do(void **state)
{
	(void)state;
	turns(10, 21, "usleep", L(7) CALLBACK);
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_near((double)test.y.runners.blocks[0].ns / MS, 200);
}

/* The same call where no loop calls it. */
static void call_outside_of_a_loop_blocks_none(void **state)
{
	(void)state;
	turns(3, 30, "usleep", L(7));
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

/* A callback may compute for 50 ms. */
static void computing_blocks_a_loop_from_fifty_on(void **state)
{
	(void)state;
	turns(3, 49, NULL, L(7) CALLBACK);
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

/* The first of three turns of 52 is known from its first sample on. */
static void callback_that_computes_blocks_the_loop(void **state)
{
	(void)state;
	turns(3, 52, NULL, L(7) CALLBACK);
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_int_equal(test.y.runners.blocks[0].cause.reason, WHY_COMPUTE);
	assert_int_equal(test.y.runners.blocks[0].ns, 155 * MS);
}

/* Once, 20 of 1010: less than a fiftieth. */
static void one_short_turn_of_a_long_time(void **state)
{
	(void)state;
	report(2000);
	runs(MAIN, 0, 10);
	call(MAIN, "usleep", 10, 49.9, L(7) CALLBACK);
	runs(MAIN, 49.9, 50, .ready = 49.9);
	call(MAIN, "epoll_wait", 50, 1990, POLL, .result = 1);
	runs(MAIN, 1990, 2000);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

/* A wait for a lock 20, then a sleep of 30 at another line, in one turn: the longer one is named. */
static void longest_call_of_a_turn_is_named(void **state)
{
	(void)state;
	report(80);
	runs(MAIN, 0, 10);
	call(MAIN, "read", 10, 30, L(6) CALLBACK, .path = "/data");
	runs(MAIN, 30, 31, .ready = 30);
	call(MAIN, "usleep", 31, 61, L(7) CALLBACK);
	runs(MAIN, 61, 62, .ready = 61);
	call(MAIN, "epoll_wait", 62, 70, POLL, .result = 1);
	runs(MAIN, 70, 80);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_int_equal(test.y.runners.blocks[0].cause.reason, WHY_SLEEP);
	assert_line(text_of(put_runners),
		    "main thread: its event loop (asyncio) stands still for 30 ms, once: sleeping, "
		    "usleep at "
		    "a.py:7 in f7: await its asynchronous form, or asyncio.to_thread()");
}

/* Other loops: by a frame of theirs. */
static void loops_are_known_by_a_frame(void **state)
{
	static const char *const frames[][2] = {
		{"libuv", "uv_run /usr/bin/node"},
		{"nginx", "ngx_process_events_and_timers /usr/sbin/nginx"},
		{"tokio",
		 "<tokio::runtime::scheduler::multi_thread::worker::Context>::run_task /me/app"},
		{"libevent", "event_base_loop /usr/lib/libevent-2.1.so.7"},
		{"libev", "ev_run /usr/lib/libev.so.4"},
	};
	const char *json;

	(void)state;
	report(2000);
	for (int i = 0; i < 5; i++) {
		char stack[256];

		snprintf(stack, sizeof(stack), "f /me/app /me/a.c:%d; %s", i + 1, frames[i][1]);
		runs(MAIN + i, 0, 10);
		call(MAIN + i, "usleep", 10, 510, stack);
		runs(MAIN + i, 510, 511, .ready = 510);
		call(MAIN + i, "epoll_wait", 511, 1990, NULL, .result = 1);
		runs(MAIN + i, 1990, 2000);
	}
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 5);
	json = text_of(put_json);
	for (int i = 0; i < 5; i++) {
		char path[64];

		snprintf(path, sizeof(path), "$.event_loops[%d].of", i);
		assert_string_equal(value_of(json, path), frames[i][0]);
	}
	text_of(put_runners);
	assert_line(written, "2 more places where an event loop stands still (-f json)");
}

/* Workers of tokio that have nothing to do wait for a condition. */
static void parked_worker_blocks_nothing(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 10);
	sample(MAIN, 5, "f /me/app /me/a.c:1; tokio::runtime::scheduler::x /me/app");
	call(MAIN, "pthread_cond_wait", 10, 90,
	     "park /me/app; tokio::runtime::scheduler::x /me/app");
	runs(MAIN, 90, 100);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

/* ---- pools ---- */

/*
 * The main thread takes the results of @jobs of 20 ms at line 3, which thread 101 makes, every other one @second; @waits: the worker waits
 * for each job, for as long as the main thread needs to ask for it; else a job begins @begins ms after the result of the one before, which
 * the main thread has taken after half a ms.
 */
static void pool_of(int second, bool waits, int jobs, double begins)
{
	report(jobs * 20 + 20);
	for (int i = 0; i < jobs; i++) {
		int a = 10 + 20 * i, worker = i % 2 ? second : OTHER;

		runs(MAIN, i ? a : 0, i ? a + 0.5 : 10, .by = i ? (i % 2 ? OTHER : second) : 0);
		call(MAIN, "sem_wait", i ? a + 0.5 : 10, a + 20, L(9));
		if (waits || worker != (i % 2 ? OTHER : second) || !i)
			runs(worker, a + 0.3, a + 1, .by = MAIN);
		call(worker, "usleep", a + (waits ? 1 : begins), a + 19, L(3) JOB);
		runs(worker, a + 19, waits || second != OTHER ? a + 20 : a + 21, .ready = a + 19);
		if (waits)
			call(worker, "sem_wait", a + 20, a + 20.3, NEXT_JOB);
	}
	runs(MAIN, jobs * 20 + 10, jobs * 20 + 20, .by = (jobs - 1) % 2 ? second : OTHER);
	ask();
}

static void pool(int second, bool waits, int jobs)
{
	pool_of(second, waits, jobs, 0.4);
}

static void only_worker_of_a_pool_is_named(void **state)
{
	const char *json;

	(void)state;
	pool(OTHER, false, 5);
	assert_int_equal(test.y.runners.pools_cnt, 1);
	assert_line(text_of(put_runners), "A pool of one (concurrent.futures): thread 101 does one "
					  "job after the other at a.py:3 in "
					  "f3, main thread waits 93 ms for it: more workers "
					  "(max_workers), if the jobs do not need "
					  "each other");
	json = text_of(put_json);
	assert_string_equal(value_of(json, "$.pools_of_one[0].jobs"), "5");
	assert_string_equal(value_of(json, "$.pools_of_one[0].line"), "3");
}

static void pool_of_two_is_none_of_one(void **state)
{
	(void)state;
	pool(102, false, 6);
	assert_int_equal(test.y.runners.pools_cnt, 0);
}

/* A second worker would have nothing to do. */
static void worker_that_waits_for_each_job_is_enough(void **state)
{
	(void)state;
	pool(OTHER, true, 5);
	assert_int_equal(test.y.runners.pools_cnt, 0);
}

/* It could have been asked for then, while the worker was preempted. */
static void job_that_begins_after_the_result_was_taken_may_be_asked_for_then(void **state)
{
	(void)state;
	pool_of(OTHER, false, 5, 0.6);
	assert_int_equal(test.y.runners.pools_cnt, 0);
}

/* A callback that goes on until the end. */
static void last_turn_ends_with_the_recording(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 10);
	call(MAIN, "epoll_wait", 10, 20, POLL, .result = 1);
	runs(MAIN, 20, 21, .ready = 20);
	call(MAIN, "usleep", 21, 61, L(7) CALLBACK);
	runs(MAIN, 61, 100, .ready = 61, .goes_on = true);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_near((double)test.y.runners.blocks[0].ns / MS, 40);
}

/* A loop that waits for whatever comes at the end. */
static void poll_without_end_is_no_turn(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 10);
	sample(MAIN, 5, L(7) CALLBACK);
	call(MAIN, "epoll_wait", 10, 10, POLL);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 0);
}

/* Without a CPU for 30 ms, and 21 asleep, in one turn: the sleep is named. */
static void wait_for_a_cpu_is_no_cause(void **state)
{
	(void)state;
	report(100);
	runs(MAIN, 0, 10);
	call(MAIN, "epoll_wait", 10, 20, POLL, .result = 1);
	runs(MAIN, 20, 21, .ready = 20);
	sample(MAIN, 20.5, L(7) CALLBACK);
	call(MAIN, "usleep", 21, 42, L(7) CALLBACK);
	runs(MAIN, 72, 73, .ready = 42);
	call(MAIN, "epoll_wait", 73, 90, POLL, .result = 1);
	runs(MAIN, 90, 100);
	ask();
	assert_int_equal(test.y.runners.blocks_cnt, 1);
	assert_int_equal(test.y.runners.blocks[0].cause.reason, WHY_SLEEP);
}

static void two_jobs_are_no_stream(void **state)
{
	(void)state;
	pool(OTHER, false, 2);
	assert_int_equal(test.y.runners.pools_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEXT(call_in_a_callback_blocks_the_loop),
		TEXT(short_turns_do_not_block),
		TEXT(turns_of_twenty_and_more_do),
		TEXT(call_outside_of_a_loop_blocks_none),
		TEXT(computing_blocks_a_loop_from_fifty_on),
		TEXT(callback_that_computes_blocks_the_loop),
		TEXT(one_short_turn_of_a_long_time),
		TEXT(longest_call_of_a_turn_is_named),
		TEXT(loops_are_known_by_a_frame),
		TEXT(parked_worker_blocks_nothing),
		TEXT(only_worker_of_a_pool_is_named),
		TEXT(pool_of_two_is_none_of_one),
		TEXT(job_that_begins_after_the_result_was_taken_may_be_asked_for_then),
		TEXT(worker_that_waits_for_each_job_is_enough),
		TEXT(last_turn_ends_with_the_recording),
		TEXT(poll_without_end_is_no_turn),
		TEXT(wait_for_a_cpu_is_no_cause),
		TEXT(two_jobs_are_no_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
