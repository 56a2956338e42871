/*
 * sample_offcpu.c - off-CPU stacks that cannot be kept are counted: where there is room for fewer threads than there
 * are, and where the ring is never drained. With this kernel's eBPF, on a child.
 */
#include "collector/kernel/sample/sample_offcpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/kernel/sched/sched_internal.h"

#define THREADS 12
#define NAPS    5
#define NAP_NS  20000000
#define LONG_NS 10000000 /* the threshold */
#define PLACES  4
#define RING    (64u << 10)
#define DEEPEST 4096 /* bytes of a stack: some stacks fit into the ring, not all */
/* All of them; but a kernel that is busy leaves some switches out. */
#define ALL_NAPS ((uint64_t)THREADS * NAPS * 3 / 4)

static void *nap(void *arg)
{
	for (int i = 0; i < NAPS; i++)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	return arg;
}

/* All threads go off-CPU at once, when the parent writes a byte. */
static _Noreturn void child(int go)
{
	pthread_t thread[THREADS];
	char c;

	if (read(go, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, nap, NULL))
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static struct {
	uint64_t records, full, crowd;
} got;

/* The child's life, watched; @reads: the ring is emptied meanwhile. False: there is no eBPF. */
static bool watch(bool reads)
{
	struct sched_maps maps;
	struct sample_ask ask = {.scope = SCHED_MODE_TREE, .off_cpu_ns = LONG_NS, .kernel = &maps};
	struct sample_offcpu *so = NULL;
	char why[256] = "";
	struct sched *s;
	int go[2], status = 0;
	pid_t pid;

	got.records = got.full = got.crowd = 0;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid)
		child(go[0]);
	s = sched_open_for(&(struct sched_ask){.mode = SCHED_MODE_TREE, .want = SCHED_BACKEND_BPF},
			   why, sizeof(why));
	if (s && sched_backend(s) == SCHED_BACKEND_BPF && !sched_follow(s, pid) &&
	    sched_maps(s, &maps))
		so = sample_offcpu_open(&ask, NULL, why, sizeof(why));
	assert_int_equal(write(go[1], "x", 1), 1);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(1000);
		if (!so || !reads)
			continue;
		sample_offcpu_look(so);
		while (sample_offcpu_next(so, UINT64_MAX))
			got.records++;
		sample_offcpu_done(so);
	}
	close(go[0]);
	close(go[1]);
	assert_int_equal(status, 0);
	if (so) {
		sample_offcpu_stop(so);
		sample_offcpu_look(so);
		while (sample_offcpu_next(so, UINT64_MAX))
			got.records++;
		sample_offcpu_losses(so, &got.full, &got.crowd);
		sample_offcpu_close(so);
	} else {
		printf("# %s\n", why);
	}
	if (s)
		sched_close(s);
	return so;
}

static void enough_room(void **state)
{
	(void)state;
	if (!watch(true))
		skip();
	assert_true(got.records >= ALL_NAPS);
	assert_int_equal(got.full, 0);
	assert_int_equal(got.crowd, 0);
}

static void too_many_threads(void **state)
{
	bool done;

	(void)state;
	sample_offcpu_tuning.threads = PLACES;
	done = watch(true);
	sample_offcpu_tuning.threads = 0;
	if (!done)
		skip();
	assert_int_equal(got.full, 0);
	assert_true(got.crowd > 0);
	assert_true(got.records > 0);
	assert_true(got.records + got.crowd >= ALL_NAPS);
}

static void full_ring(void **state)
{
	bool done;

	(void)state;
	sample_offcpu_tuning.ring_bytes = RING;
	sample_offcpu_tuning.stack_bytes = DEEPEST;
	done = watch(false);
	sample_offcpu_tuning.ring_bytes = sample_offcpu_tuning.stack_bytes = 0;
	if (!done)
		skip();
	assert_int_equal(got.crowd, 0);
	assert_true(got.full > 0);
	assert_true(got.records > 0);
	assert_true(got.records + got.full >= ALL_NAPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough_room),
		cmocka_unit_test(too_many_threads),
		cmocka_unit_test(full_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
