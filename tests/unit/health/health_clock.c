/* health_clock.c - times of samples whose clock drifts, is slewed, or is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/health/health_clock.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

static void a_line_through_both(void **state)
{
	/* The clock runs 500 ppm fast: as much as NTP slews. */
	const struct clock_pair a = {1700 * SECOND, 5 * SECOND},
				b = {1700 * SECOND + 100050000, 5 * SECOND + 100 * MS};

	(void)state;
	assert_false(health_clock_jumps(&a, &b));
	assert_int_equal(health_clock_line(&a, &b, a.its), a.mono);
	assert_int_equal(health_clock_line(&a, &b, b.its), b.mono);
	assert_in_range(health_clock_line(&a, &b, a.its + 50025000), 5 * SECOND + 50 * MS - 1,
			5 * SECOND + 50 * MS + 1);
	/* Without a line: the distance. */
	assert_int_equal(health_clock_line(&b, &b, b.its - 7 * MS), b.mono - 7 * MS);
}

/* A batch of samples every 100 us between pairs 100 ms apart; the clock is set by @jump after @at of them. */
static size_t set_at(int64_t jump, size_t at, struct clock_pair *a, struct clock_pair *b,
		     int64_t *its)
{
	*a = (struct clock_pair){1700 * SECOND, 5 * SECOND};
	*b = (struct clock_pair){1700 * SECOND + 100 * MS + jump, 5 * SECOND + 100 * MS};
	for (size_t i = 0; i < 1000; i++)
		its[i] = a->its + (int64_t)(i + 1) * 100000 + (i >= at ? jump : 0);
	return health_clock_set_at(a, b, its, 1000, 1);
}

static void a_clock_that_is_set(void **state)
{
	static const int64_t jumps[] = {10 * MS, -10 * MS, 3 * SECOND, -3 * SECOND, 3600 * SECOND};
	static const size_t places[] = {0, 1, 500, 999};
	struct clock_pair a, b;
	int64_t its[1000];

	(void)state;
	for (size_t j = 0; j < sizeof(jumps) / sizeof(*jumps); j++)
		for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
			size_t at = set_at(jumps[j], places[p], &a, &b, its);

			assert_true(health_clock_jumps(&a, &b));
			assert_int_equal(at, places[p]);
			/* Each sample is where it was. */
			for (size_t i = 0; i < 1000; i++)
				assert_int_equal(health_clock_line(i < at ? &a : &b,
								   i < at ? &a : &b, its[i]),
						 a.mono + (int64_t)(i + 1) * 100000);
		}
	set_at(0, 0, &a, &b, its);
	assert_false(health_clock_jumps(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_through_both),
		cmocka_unit_test(a_clock_that_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
