/* Which memory is readable: pages without access, strings that end in one, wrapping addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/readable.c" /* NOLINT(bugprone-suspicious-include) */

static char *pages; /* readable, none, readable */

static void readable_words_are_told_from_others(void **state)
{
	(void)state;
	assert_true(sl_readable((uintptr_t)pages));
	assert_true(sl_readable((uintptr_t)pages + PAGE - 8));
	assert_false(sl_readable((uintptr_t)pages + PAGE));
	assert_true(sl_readable((uintptr_t)pages + 2 * PAGE));
	assert_false(sl_readable(0));
	assert_false(sl_readable(UINT64_MAX - 4095));
}

static void readv_tells_readable_words_too(void **state)
{
	(void)state;
	assert_true(by_readv((uintptr_t)pages));
	assert_false(by_readv((uintptr_t)pages + PAGE));
	assert_false(by_readv(UINT64_MAX - 4095));
}

static void readable_ranges_end_with_their_page(void **state)
{
	struct sl_readable r = {0};

	(void)state;
	assert_true(sl_readable_bytes(&r, pages, PAGE));
	assert_false(sl_readable_bytes(&r, pages, PAGE + 1));
	assert_true(sl_readable_bytes(&r, pages + 5, 0));
	assert_false(sl_readable_bytes(&r, pages + 5, SIZE_MAX));
	assert_false(sl_readable_bytes(&r, NULL, 8));
	assert_false(sl_readable_bytes(&r, pages + PAGE - 4, 8));
	assert_true(sl_readable_bytes(&r, pages + 2 * PAGE, 8));
}

static void strings_are_read_up_to_their_page(void **state)
{
	struct sl_readable r = {0};

	(void)state;
	memset(pages, 'a', PAGE);
	assert_true(sl_readable_len(&r, pages + PAGE - 4, 100) == SIZE_MAX);
	pages[PAGE - 1] = 0;
	assert_int_equal(sl_readable_len(&r, pages + PAGE - 4, 100), 3);
	assert_int_equal(sl_readable_len(&r, pages, 2 * PAGE), PAGE - 1);
	assert_int_equal(sl_readable_len(&r, pages, PAGE - 1), PAGE - 1);
	assert_true(sl_readable_len(&r, pages, PAGE - 2) == SIZE_MAX);
	assert_true(sl_readable_len(&r, pages + PAGE, 100) == SIZE_MAX);
	assert_true(sl_readable_len(&r, NULL, 100) == SIZE_MAX);
	assert_true(sl_readable_len(&r, (const char *)16, 100) == SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readable_words_are_told_from_others),
		cmocka_unit_test(readv_tells_readable_words_too),
		cmocka_unit_test(readable_ranges_end_with_their_page),
		cmocka_unit_test(strings_are_read_up_to_their_page),
	};

	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
