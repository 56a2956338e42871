/* trigger_watch.c, trigger_gpu.c - triggers fire when the records say so, each time, and for nothing else. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include <fcntl.h>
#include <time.h>

#include "collector/capture/trigger_watch.h"
#include "preload/wire/gpu.h"
#include "preload/wire/gpu_wire.h"
#include "preload/wire/nvtx_wire.h"

static char fired[8192];

static void fire(void *to, const char *why, uint64_t since)
{
	(void)to;
	(void)since;
	snprintf(fired + strlen(fired), sizeof(fired) - strlen(fired), "%s\n", why);
}

struct world {
	struct side side;
	struct ring ring;
	uint32_t a, b; /* slots */
	struct triggers ts;
	struct trigger_watch *watch;
};

static struct world begin(void)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	fired[0] = 0;
	w.ring = ring_new();
	w.a = ring_thread(&w.ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	w.b = ring_thread(&w.ring, 1, (uint32_t)getpid(), (uint32_t)gettid());
	return w;
}

static void open_world(struct world *w, const char *triggers)
{
	side_open(&w->side, false);
	side_attach(&w->side, &w->ring, false);
	w->side.arenas.flight.hold = 1;
	usleep(1000);
	side_drain(&w->side); /* one segment of the clock, and the threads are known */
	assert_int_equal(triggers_read(&w->ts, triggers, "profile"), 0);
	w->watch = trigger_watch_new(&w->ts, fire, NULL);
}

static void look(struct world *w)
{
	trigger_watch_round(w->watch, &w->side.arenas);
}

static void end(struct world *w)
{
	trigger_watch_free(w->watch);
	side_die(&w->side);
}

static void put(struct world *w, uint32_t slot, unsigned shape, unsigned hook, uint64_t start,
		uint64_t duration, const uint64_t *p, unsigned cnt)
{
	struct sl_chunk *c;
	uint64_t *to = ring_room(&w->ring, slot, cnt + 2, &c);

	to[0] = start;
	to[1] = duration | (uint64_t)sl_head(hook, cnt + 2, 0, shape, 0) << 32;
	memcpy(to + 2, p, cnt * 8);
	c->committed += (cnt + 2) * 8;
}

static void call(struct world *w, uint32_t slot, unsigned hook, uint64_t ms)
{
	uint64_t p[2] = {0, 0};

	put(w, slot, SL_SHAPE_FD, hook, 1000, ms * 1000000, p, 2);
}

/* A record of NVTX whose words end with a text. */
static void nvtx(struct world *w, uint32_t slot, unsigned hook, uint64_t ms, const uint64_t *head,
		 unsigned cnt, const char *text)
{
	uint64_t p[32];
	unsigned n = cnt;

	memcpy(p, head, cnt * 8);
	if (text) {
		p[n++] = strlen(text);
		memset(p + n, 0, 64);
		memcpy(p + n, text, strlen(text));
		n += (unsigned)(strlen(text) + 7) / 8;
	}
	put(w, slot, SL_SHAPE_NVTX, hook, ms * 1000000, 0, p, n);
}

static void push(struct world *w, uint32_t slot, uint64_t ms, uint32_t domain, unsigned level,
		 const char *text)
{
	uint64_t p[2] = {domain, (uint64_t)SL_NVTX_HAS_TEXT << 32 | (uint64_t)level << 48};

	nvtx(w, slot, SL_NVTX_PUSH, ms, p, 2, text);
}

static void push_string(struct world *w, uint32_t slot, uint64_t ms, uint32_t domain,
			unsigned level, uint32_t string)
{
	uint64_t p[3] = {domain, (uint64_t)SL_NVTX_HAS_STRING << 32 | (uint64_t)level << 48,
			 string};

	nvtx(w, slot, SL_NVTX_PUSH, ms, p, 3, NULL);
}

static void pop(struct world *w, uint32_t slot, uint64_t ms, uint32_t domain, unsigned level)
{
	uint64_t p[2] = {domain | (uint64_t)level << 32, 0};

	nvtx(w, slot, SL_NVTX_POP, ms, p, 2, NULL);
}

/* How many fired since the last time this was asked. */
static int fires(struct world *w)
{
	int n = 0;

	look(w);
	for (const char *p = fired; *p; p++)
		n += *p == '\n';
	fired[0] = 0;
	return n;
}

static void a_call_that_takes_too_long_is_a_trigger(void **state)
{
	struct world w = begin();
	uint64_t p[1] = {0};

	(void)state;
	open_world(&w, "osrt:fsync > 100ms, osrt:pthread_mutex_* > 5ms, cuda:cudaMalloc > 10ms");
	call(&w, w.a, SL_H_fsync, 90);
	call(&w, w.a, SL_H_read, 900);
	call(&w, w.a, SL_H_fdatasync, 900);
	assert_int_equal(fires(&w), 0);
	call(&w, w.b, SL_H_fsync, 110);
	look(&w);
	assert_non_null(
		strstr(fired, "trigger 'osrt:fsync > 100ms': fsync took 110.0 ms (process "));
	assert_int_equal(fires(&w), 1);
	assert_int_equal(fires(&w), 0);
	call(&w, w.b, SL_H_pthread_mutex_lock, 6);
	put(&w, w.a, SL_SHAPE_API, SL_G_cudaMalloc, 1, 11000000, p, 1);
	put(&w, w.a, SL_SHAPE_API, SL_G_cudaMemcpy, 1, 11000000, p, 1);
	assert_int_equal(fires(&w), 2);
	/* Over many chunks, while the first are taken away. */
	for (int i = 0; i < 30000; i++) {
		ring_call(&w.ring, w.a, SL_H_read, i);
		if (i % 1000 == 999) {
			call(&w, w.a, SL_H_fsync, 200);
			if (i % 3000 == 2999) {
				look(&w);
				w.side.arenas.flight.hold = 0;
				side_drain(&w.side);
				side_commit(&w.side);
				w.side.arenas.flight.hold = 1;
			}
		}
	}
	assert_int_equal(fires(&w), 30);
	end(&w);
}

static void a_range_of_a_thread_is_a_trigger(void **state)
{
	struct world w = begin();

	(void)state;
	open_world(&w, "nvtx:step > 50ms, nvtx:inner* > 20ms");
	push(&w, w.a, 0, 0, 0, "step");
	push(&w, w.a, 1, 0, 1, "inner 1");
	push(&w, w.b, 2, 0, 0, "step");
	push(&w, w.a, 3, 0, 2, "step"); /* nested in itself */
	pop(&w, w.a, 10, 0, 2);
	assert_int_equal(fires(&w), 0);
	pop(&w, w.a, 30, 0, 1);
	look(&w);
	assert_non_null(strstr(fired, "inner* took 29.0 ms"));
	assert_int_equal(fires(&w), 1);
	pop(&w, w.b, 40, 0, 0);
	assert_int_equal(fires(&w), 0);
	pop(&w, w.a, 60, 0, 0);
	assert_int_equal(fires(&w), 1);
	pop(&w, w.a, 600, 0, 0); /* of nothing */
	assert_int_equal(fires(&w), 0);
	end(&w);
}

static void ranges_wait_for_domains_and_strings_that_come_late(void **state)
{
	struct world w = begin();
	uint64_t string[3] = {5, 4, 0}, domain[1] = {3}, other[1] = {4};

	(void)state;
	memcpy(&string[2], "step", 4);
	open_world(&w, "nvtx:step@mine > 50ms");
	push_string(&w, w.a, 0, 3, 0, 5);
	push_string(&w, w.a, 0, 0, 0, 5);
	assert_int_equal(fires(&w), 0);
	put(&w, w.b, SL_SHAPE_META, SL_META_STRING, 0, 0, string, 3);
	nvtx(&w, w.b, SL_NVTX_DOMAIN, 0, domain, 1, "mine");
	nvtx(&w, w.b, SL_NVTX_DOMAIN, 0, other, 1, "not mine");
	assert_int_equal(fires(&w), 0);
	push_string(&w, w.b, 0, 4, 0, 5);
	pop(&w, w.a, 100, 3, 0);
	assert_int_equal(fires(&w), 1);
	pop(&w, w.a, 100, 0, 0);
	pop(&w, w.b, 100, 4, 0);
	assert_int_equal(fires(&w), 0);
	push(&w, w.b, 200, 3, 0, "step");
	pop(&w, w.b, 300, 3, 0);
	assert_int_equal(fires(&w), 1);
	end(&w);
}

/* Python's marked functions have a domain of their own, which no user writes. */
static void a_range_without_a_domain_may_be_one_of_python_step(void **state)
{
	struct world w = begin();
	uint64_t domain[1] = {3}, other[1] = {4};

	(void)state;
	open_world(&w, "nvtx:step > 50ms");
	nvtx(&w, w.b, SL_NVTX_DOMAIN, 0, domain, 1, "python-step");
	nvtx(&w, w.b, SL_NVTX_DOMAIN, 0, other, 1, "python-steps");
	push(&w, w.a, 0, 4, 0, "step");
	pop(&w, w.a, 100, 4, 0);
	assert_int_equal(fires(&w), 0);
	push(&w, w.a, 200, 3, 0, "step");
	pop(&w, w.a, 300, 3, 0);
	assert_int_equal(fires(&w), 1);
	end(&w);
}

/* Looked at in the order of threads: here the end first. */
static void a_range_that_ends_in_another_thread_is_a_trigger(void **state)
{
	struct world w = begin();
	uint64_t start[3] = {0, (uint64_t)SL_NVTX_HAS_TEXT << 32, 77}, stop[3] = {0, 77, 0};

	(void)state;
	open_world(&w, "nvtx:step > 50ms");
	nvtx(&w, w.b, SL_NVTX_START, 0, start, 3, "step");
	nvtx(&w, w.a, SL_NVTX_END, 60, stop, 3, NULL);
	assert_int_equal(fires(&w), 1);
	nvtx(&w, w.a, SL_NVTX_START, 100, start, 3, "step");
	nvtx(&w, w.b, SL_NVTX_END, 140, stop, 3, NULL);
	assert_int_equal(fires(&w), 0);
	end(&w);
}

static void gpu_word(struct world *w, unsigned kind, const void *payload, size_t size)
{
	put(w, w->a, SL_SHAPE_GPU, kind, 1, 0, payload, (unsigned)(size / 8));
}

static void kernel(struct world *w, uint32_t device, uint64_t start_ms, uint64_t end_ms)
{
	struct sl_gpu_kernel k = {
		.start = start_ms * 1000000, .end = end_ms * 1000000, .device = device};

	gpu_word(w, SL_GPU_REC_KERNEL, &k, sizeof(k));
}

static int flushed(struct world *w, uint64_t until_ms)
{
	struct sl_gpu_flushed f = {.until = until_ms * 1000000};

	gpu_word(w, SL_GPU_REC_FLUSHED, &f, sizeof(f));
	return fires(w);
}

static void an_idle_gpu_is_a_trigger(void **state)
{
	struct world w = begin();
	uint64_t at = 10000;

	(void)state;
	open_world(&w, "gpu-idle > 50% over 1s");
	/* Seven of ten ms, two streams at once, in no order. */
	for (; at < 13000; at += 100) {
		for (uint64_t i = 0; i < 10; i++) {
			kernel(&w, 0, at + 90 - i * 10, at + 95 - i * 10);
			kernel(&w, 0, at + 92 - i * 10, at + 97 - i * 10);
		}
		assert_int_equal(flushed(&w, at + 100), 0);
	}
	/* Four of ten, though two streams each. */
	for (; at < 13800; at += 100) {
		for (uint64_t i = 0; i < 10; i++) {
			kernel(&w, 0, at + i * 10, at + 4 + i * 10);
			kernel(&w, 0, at + i * 10, at + 4 + i * 10);
		}
		if (at < 13500)
			assert_int_equal(flushed(&w, at + 100), 0);
	}
	look(&w);
	fired[0] = 0;
	assert_int_equal(flushed(&w, at), 1);
	/* Once in a window. */
	assert_int_equal(flushed(&w, at + 100), 0);
	assert_int_equal(flushed(&w, at + 1000), 1);
	/* A kernel that runs all the time. */
	kernel(&w, 0, at + 1000, at + 4000);
	assert_int_equal(flushed(&w, at + 4000), 0);
	end(&w);
}

static void a_gpu_that_two_processes_share_is_idle_once(void **state)
{
	struct world w = begin();
	struct sl_gpu_device d = {.id = 0, .uuid = "the same"};

	(void)state;
	open_world(&w, "gpu-idle > 50% over 1s");
	gpu_word(&w, SL_GPU_REC_DEVICE, &d, sizeof(d));
	/* It was not used so far. */
	assert_int_equal(flushed(&w, 900), 0);
	d.id = 1;
	gpu_word(&w, SL_GPU_REC_DEVICE, &d, sizeof(d));
	/* One after the other, each 40 %. */
	for (uint64_t at = 1000; at < 4000; at += 10) {
		kernel(&w, 0, at, at + 4);
		kernel(&w, 1, at + 5, at + 9);
	}
	assert_int_equal(flushed(&w, 4000), 0);
	assert_int_equal(flushed(&w, 4900), 1);
	end(&w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* The next line of a pipe: the number of a step; its time in us. 0: there is none. */
static unsigned written(int fd, long long *us)
{
	char line[128] = "";
	unsigned pid = 0, step = 0;

	for (size_t n = 0; n < sizeof(line) - 1 && read(fd, line + n, 1) == 1; n++)
		if (line[n] == '\n')
			break;
	if (sscanf(line, "process %u\t%u\t%lld\n", &pid, &step, us) != 3)
		return 0;
	assert_int_equal(pid, getpid());
	*us = (*us + 500) / 1000;
	return step;
}

static void steps_of_ranks_are_written_without_waiting_for_others(void **state)
{
	struct world w = begin();
	uint64_t string[6] = {5, 27}, now;
	struct sl_gpu_kernel k = {.name = 5};
	struct sl_gpu_flushed f = {0};
	struct timespec ts;
	long long us;
	int both[2];

	(void)state;
	assert_int_equal(pipe2(both, O_NONBLOCK), 0);
	open_world(&w, "rank-late > 2x median");
	trigger_watch_late_to(w.watch, both[1]);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000;
	/* Without a GPU at once; the first one is not written. */
	for (unsigned i = 0; i < 3; i++) {
		push(&w, w.a, now + 100 * i, 0, 0, "step");
		pop(&w, w.a, now + 100 * i + 20 + i, 0, 0);
	}
	assert_int_equal(fires(&w), 0);
	assert_int_equal(written(both[0], &us), 2);
	assert_int_equal(us, 21000);
	assert_int_equal(written(both[0], &us), 3);
	assert_int_equal(us, 22000);
	/* With one, when its records have come; where kernels of NCCL overlap, once. */
	memcpy(&string[2], "_Z45ncclDevKernel_AllReduce", 27);
	put(&w, w.a, SL_SHAPE_META, SL_META_STRING, 0, 0, string, 6);
	k.start = (now + 410) * 1000000;
	k.end = (now + 430) * 1000000;
	gpu_word(&w, SL_GPU_REC_KERNEL, &k, sizeof(k));
	k.start = (now + 420) * 1000000;
	k.end = (now + 470) * 1000000;
	gpu_word(&w, SL_GPU_REC_KERNEL, &k, sizeof(k));
	push(&w, w.a, now + 400, 0, 0, "step");
	pop(&w, w.a, now + 460, 0, 0);
	assert_int_equal(fires(&w), 0);
	assert_int_equal(written(both[0], &us), 0);
	f.until = (now + 480) * 1000000;
	gpu_word(&w, SL_GPU_REC_FLUSHED, &f, sizeof(f));
	assert_int_equal(fires(&w), 0);
	assert_int_equal(written(both[0], &us), 4);
	assert_int_equal(us, 10000);
	close(both[0]);
	close(both[1]);
	end(&w);
}

/* A range of --python-step is a step by its domain; one that is also called "step" is one step all the same. */
static void what_python_step_marks_are_steps(void **state)
{
	struct world w = begin();
	uint64_t domain[1] = {3};
	struct timespec ts;
	uint64_t now, i = 0;
	long long us;
	int both[2];

	(void)state;
	assert_int_equal(pipe2(both, O_NONBLOCK), 0);
	open_world(&w, "rank-late > 2x median");
	trigger_watch_free(w.watch);
	triggers_add_steps(&w.ts);
	w.watch = trigger_watch_new(&w.ts, fire, NULL);
	trigger_watch_late_to(w.watch, both[1]);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000;
	nvtx(&w, w.a, SL_NVTX_DOMAIN, 0, domain, 1, "python-step");
	for (; i < 4; i++) {
		push(&w, w.a, now + 100 * i, 3, 0, i % 2 ? "step" : "train:train_step");
		pop(&w, w.a, now + 100 * i + 20 + i, 3, 0);
		push(&w, w.a, now + 100 * i + 50, 0, 0, "train:train_step");
		pop(&w, w.a, now + 100 * i + 55, 0, 0);
	}
	assert_int_equal(fires(&w), 0);
	for (unsigned step = 2; step <= 4; step++) {
		assert_int_equal(written(both[0], &us), step);
		assert_int_equal(us, 20000 + (long long)(step - 1) * 1000);
	}
	assert_null(trigger_watch_in_vain(w.watch, &(uint32_t){0}));
	close(both[0]);
	close(both[1]);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_that_takes_too_long_is_a_trigger),
		TEST(a_range_of_a_thread_is_a_trigger),
		TEST(ranges_wait_for_domains_and_strings_that_come_late),
		TEST(a_range_without_a_domain_may_be_one_of_python_step),
		TEST(a_range_that_ends_in_another_thread_is_a_trigger),
		TEST(an_idle_gpu_is_a_trigger),
		TEST(a_gpu_that_two_processes_share_is_idle_once),
		TEST(steps_of_ranks_are_written_without_waiting_for_others),
		TEST(what_python_step_marks_are_steps),
	};

	return cmocka_run_group_tests_name("trigger_watch", tests, NULL, NULL);
}
