/* clock_map.c - ticks become nanoseconds: between snapshots exactly, for hours, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collector/base/clock_map.h"
#include "preload/wire/clock.h"

static void times_between_snapshots_are_interpolated(void **state)
{
	struct clock_map m;

	(void)state;
	clock_map_init(&m, SL_CLOCK_TSC, 1000000);
	clock_map_add(&m, 5000, 1000000);
	clock_map_add(&m, 7000, 1001000);
	clock_map_add(&m, 8000, 1003000); /* the clock was corrected: twice as fast */
	assert_int_equal(clock_map_ns(&m, 5000), 0);
	assert_int_equal(clock_map_ns(&m, 6000), 500);
	assert_int_equal(clock_map_ns(&m, 7500), 2000);
	assert_int_equal(clock_map_ns(&m, 8000), 3000);
	/* Backwards and forwards, whatever segment was used last. */
	assert_int_equal(clock_map_ns(&m, 5500), 250);
	assert_int_equal(clock_map_ns(&m, 7900), 2800);
	assert_int_equal(m.newest, 8000);
	clock_map_release(&m);
}

static void a_moment_has_its_ticks_and_time_zero_can_move(void **state)
{
	struct clock_map m;

	(void)state;
	clock_map_init(&m, SL_CLOCK_TSC, 1000000);
	clock_map_add(&m, 5000, 1000000);
	clock_map_add(&m, 7000, 1001000);
	clock_map_add(&m, 8000, 1003000);
	assert_int_equal(clock_map_ticks(&m, 1000000), 5000);
	assert_int_equal(clock_map_ticks(&m, 1000500), 6000);
	assert_int_equal(clock_map_ticks(&m, 1002000), 7500);
	assert_int_equal(clock_map_ticks(&m, 1003000), 8000);
	assert_int_equal(clock_map_ns(&m, 7500), 2000);
	clock_map_shift(&m, 1500);
	assert_int_equal(clock_map_ns(&m, 7500), 500);
	assert_int_equal(clock_map_ns(&m, 6000), -1000);
	assert_int_equal(clock_map_ticks(&m, 1002000), 7500);
	clock_map_add(&m, 9000, 1004000);
	assert_int_equal(clock_map_ns(&m, 8500), 2000);
	clock_map_release(&m);
}

/* Snapshots are off by some ns; a second away from two that lie 10 us apart, that would be milliseconds. */
static void beyond_the_snapshots_time_goes_on_as_it_did_over_some_time(void **state)
{
	struct clock_map m;

	(void)state;
	clock_map_init(&m, SL_CLOCK_TSC, 0);
	clock_map_add(&m, 2000000000, 1000000000);
	clock_map_add(&m, 2000020000, 1000010020);
	clock_map_add(&m, 2400000000, 1200000000);
	clock_map_add(&m, 3999980000, 1999990020);
	clock_map_add(&m, 4000000000, 2000000000);
	assert_int_equal(clock_map_ns(&m, 1000000000), 500000000);
	assert_int_equal(clock_map_ns(&m, 5000000000), 2500000000);
	assert_int_equal(clock_map_ns(&m, 4000000000), 2000000000);
	assert_int_equal(clock_map_ticks(&m, 500000000), 1000000000);
	assert_int_equal(clock_map_ticks(&m, 2500000000), 5000000000);
	clock_map_release(&m);
	/* One alone knows nothing of it. */
	clock_map_init(&m, SL_CLOCK_MONO, 0);
	clock_map_add(&m, 1000, 1000);
	assert_int_equal(clock_map_ns(&m, 900), 900);
	assert_int_equal(clock_map_ticks(&m, 1100), 1100);
	clock_map_release(&m);
}

static void a_snapshot_that_does_not_advance_is_ignored(void **state)
{
	struct clock_map m;

	(void)state;
	clock_map_init(&m, SL_CLOCK_TSC, 0);
	clock_map_add(&m, 100, 100);
	clock_map_add(&m, 200, 200);
	clock_map_add(&m, 200, 300);
	clock_map_add(&m, 150, 400);
	clock_map_add(&m, 300, 150);
	assert_int_equal(m.cnt, 2);
	assert_int_equal(m.newest, 200);
	clock_map_release(&m);
}

/* A day of snapshots, every 5 ms for the last hour of it, at 3 GHz. */
static void long_sessions_stay_small_and_exact(void **state)
{
	const double rate = 3.0;
	struct clock_map m;
	int64_t before = INT64_MIN;

	(void)state;
	clock_map_init(&m, SL_CLOCK_TSC, 0);
	for (int64_t ns = 1; ns < 100000000000ll; ns += 5000000)
		clock_map_add(&m, (uint64_t)(rate * (double)ns), ns);
	for (int64_t ns = 100000000000ll; ns < 86400000000000ll; ns += 1000000000)
		clock_map_add(&m, (uint64_t)(rate * (double)ns), ns);
	assert_true(m.cnt < 10000);
	for (int64_t ns = 1; ns < 86398000000000ll; ns += 7777777777ll) {
		int64_t got = clock_map_ns(&m, (uint64_t)(rate * (double)ns));

		assert_true(llabs(got - ns) <= 2);
		assert_true(got > before);
		before = got;
	}
	clock_map_release(&m);
}

/* Whether the rate agrees with two snapshots around it. A hypervisor may stop the processor between two clock reads. */
static bool measure(uint32_t mode)
{
	struct clock_snapshot a = clock_snapshot_take(mode, true), b;
	struct clock_snapshot begun = clock_snapshot_take(mode, false);
	uint64_t rate = clock_calibrate(mode, &begun, 20);
	struct clock_map m;
	int64_t mid;

	b = clock_snapshot_take(mode, true);
	assert_true(b.ticks > a.ticks && b.mono > a.mono);
	assert_true(a.real > 1600000000000000000ll && a.boot >= a.mono - 1000000);
	clock_map_init(&m, mode, a.mono);
	clock_map_add(&m, a.ticks, a.mono);
	clock_map_add(&m, b.ticks, b.mono);
	mid = clock_map_ns(&m, a.ticks + (b.ticks - a.ticks) / 2);
	assert_true(llabs(mid - (b.mono - a.mono) / 2) <= 1);
	clock_map_release(&m);
	/* Ticks per ns, against the same two snapshots: within a part in a thousand. */
	return llabs((int64_t)(((unsigned __int128)(uint64_t)(b.mono - a.mono) * rate >> 32) -
			       (b.ticks - a.ticks))) < (int64_t)((b.ticks - a.ticks) / 1000);
}

static void this_machine_is_measured_right(void **state)
{
	static const uint32_t modes[] = {SL_CLOCK_MONO, SL_CLOCK_TSC};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int tries = 10;

		while (!measure(modes[i]) && --tries)
			;
		assert_true(tries > 0);
	}
}

static void a_clock_can_be_forced(void **state)
{
	const char *before = getenv("SIGHTLINE_CLOCK");

	(void)state;
	setenv("SIGHTLINE_CLOCK", "monotonic", 1);
	assert_int_equal(clock_mode_detect(), SL_CLOCK_MONO);
	setenv("SIGHTLINE_CLOCK", "tsc", 1);
	assert_int_equal(clock_mode_detect(), SL_CLOCK_TSC);
	if (before)
		setenv("SIGHTLINE_CLOCK", before, 1);
	else
		unsetenv("SIGHTLINE_CLOCK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_between_snapshots_are_interpolated),
		cmocka_unit_test(a_moment_has_its_ticks_and_time_zero_can_move),
		cmocka_unit_test(beyond_the_snapshots_time_goes_on_as_it_did_over_some_time),
		cmocka_unit_test(a_snapshot_that_does_not_advance_is_ignored),
		cmocka_unit_test(long_sessions_stay_small_and_exact),
		cmocka_unit_test(this_machine_is_measured_right),
		cmocka_unit_test(a_clock_can_be_forced),
	};

	return cmocka_run_group_tests_name("clock_map", tests, NULL, NULL);
}
