/* budget_trim.c - memory that is free again does not count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/budget.h"

#define BLOCKS 8000u
#define BYTES  40000u /* 320 MB, in blocks that are no maps of their own */

/* The last block is held, so that the heap cannot shrink at its top. */
static void freed_memory_is_given_back(void **state)
{
	char **block;

	(void)state;
	if (BUDGET_MEMORY > (uint64_t)BLOCKS * BYTES)
		skip(); /* with a sanitizer */
	block = calloc(BLOCKS, sizeof(*block));
	assert_non_null(block);
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = malloc(BYTES);
		assert_non_null(block[i]);
		memset(block[i], 1, BYTES);
	}
	assert_true(budget_memory() > BUDGET_MEMORY);
	for (unsigned i = 0; i < BLOCKS - 1; i++)
		free(block[i]);
	/* It was looked at just now: not twice within a second. */
	for (unsigned tries = 0; tries < 300 && budget_memory() > BUDGET_MEMORY; tries++)
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	assert_true(budget_memory() < BUDGET_MEMORY / 2);
	free(block[BLOCKS - 1]);
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(freed_memory_is_given_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
