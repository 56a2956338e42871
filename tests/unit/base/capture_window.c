/* capture_window.c - which moments are kept, and what is left of a range that reaches beyond them. */
#include "collector/base/capture_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ZERO 1000 /* CLOCK_MONOTONIC at session time 0 */

static struct windows w;

/* [10, 20) and [40, 60) in ticks; 100 ns per tick, from 2000. */
static int set_up(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	assert_int_equal(windows_add(&w, 10, 3000), 0);
	w.list[0].to = 20;
	w.list[0].to_mono = 4000;
	assert_int_equal(windows_add(&w, 40, 6000), 0);
	w.list[1].to = 60;
	w.list[1].to_mono = 8000;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	windows_release(&w);
	return 0;
}

static void ticks_are_kept_from_the_first_on_and_not_the_last(void **state)
{
	(void)state;
	assert_false(windows_have(&w, 9));
	assert_true(windows_have(&w, 10));
	assert_true(windows_have(&w, 19));
	assert_false(windows_have(&w, 20));
	assert_false(windows_have(&w, 39));
	assert_true(windows_have(&w, 40));
	assert_false(windows_have(&w, 60));
	assert_false(windows_have_ns(&w, ZERO, 1999));
	assert_true(windows_have_ns(&w, ZERO, 2000));
	assert_false(windows_have_ns(&w, ZERO, 3000));
	assert_true(windows_have_ns(&w, ZERO, 6999));
}

static void without_windows_nothing_without_a_list_all_is_kept(void **state)
{
	struct windows none = {0};
	int64_t from = 5, to = 6;

	(void)state;
	assert_false(windows_have(&none, 5));
	assert_false(windows_cut(&none, ZERO, &from, &to));
	assert_true(windows_have(NULL, 5));
	assert_true(windows_have_ns(NULL, ZERO, 5));
	assert_true(windows_cut(NULL, ZERO, &from, &to));
	assert_int_equal(from, 5);
	assert_int_equal(to, 6);
}

static void an_open_window_has_no_end(void **state)
{
	struct windows open = {0};
	int64_t from = -500, to = INT64_MAX - ZERO;

	(void)state;
	assert_int_equal(windows_add(&open, 10, 3000), 0);
	assert_true(windows_have(&open, UINT64_MAX - 1));
	assert_true(windows_cut(&open, ZERO, &from, &to));
	assert_int_equal(from, 2000);
	assert_int_equal(to, INT64_MAX - ZERO);
	windows_release(&open);
}

static void cut(int64_t from, int64_t to, int64_t want_from, int64_t want_to)
{
	assert_true(windows_cut(&w, ZERO, &from, &to));
	assert_int_equal(from, want_from);
	assert_int_equal(to, want_to);
}

static void ranges_are_cut_to_the_windows_they_touch(void **state)
{
	int64_t from = 3000, to = 4999;

	(void)state;
	assert_false(windows_cut(&w, ZERO, &from, &to)); /* between the two */
	assert_int_equal(from, 3000);
	from = 0;
	to = 1999;
	assert_false(windows_cut(&w, ZERO, &from, &to)); /* before */
	from = 7000;
	to = 9000;
	assert_false(windows_cut(&w, ZERO, &from, &to)); /* behind */
	cut(2100, 2200, 2100, 2200);
	cut(0, 2000, 2000, 2000); /* ends where one begins */
	cut(0, 2200, 2000, 2200);
	cut(2900, 4000, 2900, 3000);
	cut(0, 9000, 2000, 7000);
	cut(3500, 5500, 5000, 5500);
	cut(2500, 5500, 2500, 5500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(ticks_are_kept_from_the_first_on_and_not_the_last),
		TEST(without_windows_nothing_without_a_list_all_is_kept),
		TEST(an_open_window_has_no_end),
		TEST(ranges_are_cut_to_the_windows_they_touch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
