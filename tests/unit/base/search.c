/* search.c - bisection, against a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/search.h"

static void bisection_finds_the_first(void **state)
{
	int list[40];

	(void)state;
	for (int i = 0; i < 40; i++)
		list[i] = i / 3;
	for (size_t cnt = 0; cnt <= 40; cnt++)
		for (int value = -1; value < 16; value++) {
			size_t want = 0;

			while (want < cnt && list[want] < value)
				want++;
			assert_int_equal(search_first(i, 0, cnt, list[i] < value), want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bisection_finds_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
