/* sample_losses.c - page faults that the kernel counts, and for which it does not run the program that samples them. */
#include "collector/kernel/sample/sample_events.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 16

static struct sample_events *open_events(const uint64_t *runs)
{
	const struct sample_ask ask = {
		.scope = SCHED_MODE_SYSTEM, .frequency = 1, .stack_bytes = 1024};
	const struct sample_program program = {.fd = -1, .fault_runs = runs};
	struct sample_events *es;
	char why[256];

	es = sample_events_open(&ask, program, why, sizeof(why));
	if (!es)
		print_message("%s\n", why);
	return es;
}

/* Major faults of this process, by the kernel's own count. */
static uint64_t fault(void)
{
	char name[] = "sample_losses.XXXXXX", page[4096] = "x";
	struct rusage before, after;
	int fd = mkstemp(name);
	volatile char *at;

	assert_true(fd >= 0);
	unlink(name);
	for (int i = 0; i < PAGES; i++)
		assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	at = mmap(NULL, PAGES * sizeof(page), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	madvise((void *)at, PAGES * sizeof(page), MADV_RANDOM);
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < PAGES; i++)
		(void)at[i * (int)sizeof(page)];
	getrusage(RUSAGE_SELF, &after);
	munmap((void *)at, PAGES * sizeof(page));
	close(fd);
	return (uint64_t)(after.ru_majflt - before.ru_majflt);
}

static void faults_without_a_run_of_the_program_are_missed(void **state)
{
	uint64_t runs = 0, faults, missed;
	struct sample_events *es = open_events(&runs);

	(void)state;
	if (!es)
		skip();
	faults = fault();
	sample_events_stop(es);
	missed = sample_events_losses(es).missed;
	assert_true(missed >= faults);
	/* A total does not fall. */
	runs = UINT64_MAX;
	assert_int_equal(sample_events_losses(es).missed, missed);
	sample_events_close(es);
	if (!faults)
		skip(); /* the folder is in memory */
}

static void faults_with_a_run_of_the_program_are_not_missed(void **state)
{
	const uint64_t runs = UINT64_MAX;
	struct sample_events *es = open_events(&runs);

	(void)state;
	if (!es)
		skip();
	fault();
	sample_events_stop(es);
	assert_int_equal(sample_events_losses(es).missed, 0);
	sample_events_close(es);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_without_a_run_of_the_program_are_missed),
		cmocka_unit_test(faults_with_a_run_of_the_program_are_not_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
