/*
 * sample_pause.c - samples pause between captures: in threads and children, also those that were started meanwhile;
 * process events are recorded all the same. With this kernel's perf, on this very process.
 */
#include "collector/kernel/sample/sample_events.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TASKS   4
#define SPEND_S 0.1
#define HZ      1000

static struct sample_events *events;
static struct {
	unsigned samples[TASKS], others, mappings;
} seen;
static pid_t task[TASKS]; /* ourselves, a thread, a child, and a child's child */

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* They spin from one flag to the next. */
struct shared {
	int spin, end;
	double spent[TASKS];
	int spins[TASKS];
	pid_t grandchild;
};
static struct shared *shared;

static void spend(unsigned who)
{
	while (!__atomic_load_n(&shared->end, __ATOMIC_ACQUIRE)) {
		double before = cpu();

		if (!__atomic_load_n(&shared->spin, __ATOMIC_ACQUIRE)) {
			usleep(1000);
			continue;
		}
		__atomic_store_n(&shared->spins[who], 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shared->spin, __ATOMIC_ACQUIRE))
			;
		shared->spent[who] += cpu() - before;
		__atomic_store_n(&shared->spins[who], 0, __ATOMIC_RELEASE);
	}
}

static void *in_thread(void *arg)
{
	task[1] = gettid();
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	spend(1);
	return NULL;
}

static void in_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		spend(3);
		_exit(0);
	}
	__atomic_store_n(&shared->grandchild, pid, __ATOMIC_RELEASE);
	spend(2);
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void take(const struct perf_event_header *record)
{
	const struct sample_record *r = (const void *)record;
	unsigned i = 0;

	seen.mappings += record->type == PERF_RECORD_MMAP2;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	while (i < TASKS && r->tid != (uint32_t)task[i])
		i++;
	if (i < TASKS)
		seen.samples[i]++;
	else
		seen.others++;
}

static void look(void)
{
	const struct perf_event_header *record;

	memset(&seen, 0, sizeof(seen));
	sample_events_look(events);
	while ((record = sample_events_next(events, UINT64_MAX)))
		take(record);
	sample_events_done(events);
}

/* Pairs with spend(), whose time is written before it marks the end of the spin. */
static void wait_for_others(int spins)
{
	for (unsigned i = 1; i < TASKS; i++)
		while (__atomic_load_n(&shared->spins[i], __ATOMIC_ACQUIRE) != spins)
			usleep(1000);
}

/* Each for a while; what it is in CPU time is in @spent. */
static void let_spend(double spent[TASKS])
{
	double begin = cpu(), before[TASKS];

	memcpy(before, shared->spent, sizeof(before));
	__atomic_store_n(&shared->spin, 1, __ATOMIC_RELEASE);
	wait_for_others(1);
	while (cpu() - begin < SPEND_S)
		;
	usleep(200000);
	__atomic_store_n(&shared->spin, 0, __ATOMIC_RELEASE);
	wait_for_others(0);
	for (unsigned i = 1; i < TASKS; i++)
		spent[i] = shared->spent[i] - before[i];
	spent[0] = cpu() - begin;
}

static void map_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	munmap(at, 4096);
}

static void none_are_taken_while_they_pause(void)
{
	double spent[TASKS];

	let_spend(spent);
	map_code();
	look();
	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(seen.samples[i], 0);
	assert_int_equal(seen.others, 0);
	assert_int_not_equal(seen.mappings, 0);
}

static void all_are_taken_when_they_do_not(void)
{
	double spent[TASKS];

	let_spend(spent);
	map_code();
	look();
	for (unsigned i = 0; i < TASKS; i++) {
		print_message("task %u: %u samples in %.3f s\n", i, seen.samples[i], spent[i]);
		if (spent[i] > 0.02)
			assert_in_range(seen.samples[i], (unsigned)(spent[i] * HZ * 0.6),
					(unsigned)(spent[i] * HZ * 1.3) + 10);
	}
	assert_int_equal(seen.mappings, 1);
}

static void samples_pause_and_go_on(void **state)
{
	struct sample_ask ask = {
		.scope = SCHED_MODE_TREE, .frequency = HZ, .stack_bytes = 1024, .pauses = true};
	int has_begun = 0;
	char why[512];
	pthread_t thread;

	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	events = sample_events_open(&ask, (struct sample_program){.fd = -1}, why, sizeof(why));
	if (!events) {
		print_message("%s\n", why);
		skip();
	}
	task[0] = getpid();
	assert_int_equal(sample_events_follow(events, getpid(), false), 0);
	/* They inherit events that pause. */
	pthread_create(&thread, NULL, in_thread, &has_begun);
	task[2] = fork();
	if (!task[2])
		in_child();
	while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE) ||
	       !(task[3] = __atomic_load_n(&shared->grandchild, __ATOMIC_ACQUIRE)))
		usleep(1000);
	for (int round = 0; round < 3; round++) {
		none_are_taken_while_they_pause();
		sample_events_pause(events, false);
		all_are_taken_when_they_do_not();
		sample_events_pause(events, true);
		look();
	}
	__atomic_store_n(&shared->end, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	waitpid(task[2], NULL, 0);
	sample_events_close(events);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_pause_and_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
