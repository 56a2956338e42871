/* ranks_clock_line.c - corners of the lines that are put through differences of clocks; all numbers are done by head. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "exporters/ranks/clock_fit.h"

#define S INT64_C(1000000000)

static struct clock_end ends[8192];
static size_t cnt;
static uint64_t id;

static int clear(void **state)
{
	(void)state;
	cnt = 0;
	id = 0;
	return 0;
}

/* A collective that node @a ends at @x and node @b at @y by their clocks. */
static void both(uint32_t a, int64_t x, uint32_t b, int64_t y)
{
	ends[cnt++] = (struct clock_end){++id, a, x};
	ends[cnt++] = (struct clock_end){id, b, y};
}

static void fit(struct clock_fit *f, uint32_t nodes)
{
	assert_int_equal(clock_fit(ends, cnt, nodes, f), 0);
}

static void assert_line(const struct clock_line *l, uint32_t node, int64_t time, double offset,
			double drift, uint32_t n)
{
	assert_int_equal(l->node, node);
	assert_int_equal(l->time, time);
	assert_true(fabs(l->offset - offset) < 1e-6);
	assert_true(fabs(l->drift - drift) < 1e-12);
	assert_int_equal(l->ends, n);
}

/* ---- how many ends ---- */

static void no_ends_give_no_lines(void **state)
{
	struct clock_fit f;

	(void)state;
	fit(&f, 0);
	assert_int_equal(f.cnt, 0);
	fit(&f, 3);
	assert_int_equal(f.cnt, 0);
	assert_int_equal(f.reference, 0);
	assert_true(clock_fit_at(&f, 1, 5) == 0);
	clock_fit_free(&f);
}

static void seven_ends_give_no_line(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 7; i++)
		both(0, i * S + 500, 1, i * S);
	fit(&f, 2);
	assert_int_equal(f.cnt, 0);
	clock_fit_free(&f);
}

/* Node 0 shows 500 more than node 1 each time. */
static void eight_ends_give_a_line(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 7; i >= 0; i--)
		both(0, i * S + 500, 1, i * S);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_line(f.lines, 1, 0, 500, 0, 8);
	assert_true(f.lines->error == 0);
	assert_true(clock_fit_at(&f, 1, 100 * S) == 500);
	assert_true(clock_fit_at(&f, 0, 100 * S) == 0);
	clock_fit_free(&f);
}

/* ---- slope, middle, error ---- */

/* 100 ns ahead at 0, 1,000 ns more each second: 10^-6; 12 points are 3 thirds of 4. */
static void drift_is_the_slope(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 12; i++)
		both(0, i * S + 100 + 1000 * i, 1, i * S);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_line(f.lines, 1, 0, 100, 1e-6, 12);
	assert_true(f.lines->error < 1e-3);
	/* At 20 s: 100 + 20 * 1,000; at -1 s the line goes on: 100 - 1,000. */
	assert_true(fabs(clock_fit_at(&f, 1, 20 * S) - 20100) < 1e-3);
	assert_true(fabs(clock_fit_at(&f, 1, -S) + 900) < 1e-3);
	clock_fit_free(&f);
}

/* A single end of node 1 is a minute late: medians do not see it. */
static void one_end_that_is_off_does_not_count(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 30; i++)
		both(0, i * S + 100 + 1000 * i, 1, i * S + (i == 17 ? -S / 2 : 0));
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_true(fabs(f.lines->offset - 100) < 1e-3);
	assert_true(fabs(f.lines->drift - 1e-6) < 1e-12);
	clock_fit_free(&f);
}

/* Slope and medians of these thirds swing between two values for ever: a bound ends that. */
static void medians_that_swing_come_to_an_end(void **state)
{
	static const int seconds[] = {0, 7, 10, 13, 14, 19, 20, 21, 38};
	static const int ms[] = {11, 17, 11, -18, -15, -12, 14, 10, 16};
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 9; i++)
		both(0, (100 + seconds[i]) * S + ms[i] * S / 1000, 1, (100 + seconds[i]) * S);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_int_equal(f.lines->ends, 9);
	clock_fit_free(&f);
}

/*
 * All at one time, so there is no slope; differences 0, 0, 0, 10, 10, 10, 20, 20, 20: in the middle 10. From it they are 0
 * three times, 10 six times: 10 in the middle, 14.826 as a deviation; 3 * 2.6 * 14.826 / sqrt(9) = 38.5476.
 */
static void error_is_of_what_the_line_leaves(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 9; i++)
		both(0, 7 * S + i / 3 * 10, 1, 7 * S);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_line(f.lines, 1, 7 * S, 10, 0, 9);
	assert_true(fabs(f.lines->error - 38.5476) < 1e-6);
	clock_fit_free(&f);
}

/* Of 10 differences 0 to 9 the middle is between 4 and 5. */
static void middle_of_an_even_number_is_between_two(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 10; i++)
		both(0, 7 * S + (i * 7 + 3) % 10, 1, 7 * S);
	fit(&f, 2);
	assert_line(f.lines, 1, 7 * S, 4.5, 0, 10);
	clock_fit_free(&f);
}

/* ---- stretches ---- */

/* @step apart; the clock jumps by 1,000 ns from end @jump on. */
static void many(int n, int64_t step, int jump)
{
	for (int i = 0; i < n; i++)
		both(0, i * step + (i < jump ? 0 : 1000), 1, i * step);
}

/* Of 4 ends a second the first 256 take 64 s, more than a minute. Fewer than 256 more are no stretch of their own. */
static void rest_of_255_ends_is_in_the_first_line(void **state)
{
	struct clock_fit f;

	(void)state;
	many(511, S / 4, 511);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_line(f.lines, 1, 0, 0, 0, 511);
	clock_fit_free(&f);
}

static void rest_of_256_ends_has_a_line(void **state)
{
	struct clock_fit f;

	(void)state;
	many(512, S / 4, 256);
	fit(&f, 2);
	assert_int_equal(f.cnt, 2);
	assert_line(&f.lines[0], 1, 0, 0, 0, 256);
	assert_line(&f.lines[1], 1, 64 * S, 1000, 0, 256);
	/* The line in force is the last that has begun; before the first, that one. */
	assert_true(clock_fit_at(&f, 1, 64 * S - 1) == 0);
	assert_true(clock_fit_at(&f, 1, 64 * S) == 1000);
	assert_true(clock_fit_at(&f, 1, 1000 * S) == 1000);
	assert_true(clock_fit_at(&f, 1, -S) == 0);
	clock_fit_free(&f);
}

/* Of 10 ends a second a minute has 600, number 600 is a minute after the first. */
static void stretch_lasts_a_minute(void **state)
{
	struct clock_fit f;

	(void)state;
	many(856, S / 10, 600);
	fit(&f, 2);
	assert_int_equal(f.cnt, 2);
	assert_line(&f.lines[0], 1, 0, 0, 0, 600);
	assert_line(&f.lines[1], 1, 60 * S, 1000, 0, 256);
	clock_fit_free(&f);
}

/* ---- nodes ---- */

/* Node 2 shares 16, the others 8 each; node 3 has 20 that it shares with none. */
static void reference_shares_most_ends(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 8; i++) {
		both(0, i * S, 2, i * S + 5);
		both(1, i * S, 2, i * S + 7);
	}
	for (int i = 0; i < 20; i++)
		ends[cnt++] = (struct clock_end){++id, 3, i * S};
	fit(&f, 4);
	assert_int_equal(f.reference, 2);
	assert_int_equal(f.cnt, 2);
	assert_line(&f.lines[0], 0, 0, 5, 0, 8);
	assert_line(&f.lines[1], 1, 0, 7, 0, 8);
	clock_fit_free(&f);
}

static void first_of_equal_nodes_is_the_reference(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 8; i++)
		both(2, i * S, 1, i * S + 5);
	fit(&f, 3);
	assert_int_equal(f.reference, 1);
	assert_int_equal(f.cnt, 1);
	assert_line(f.lines, 2, 0, 5, 0, 8);
	clock_fit_free(&f);
}

/*
 * 0 and 1 share 20, 1 and 2 share 9 of other collectives: 1 is the reference of both. 2 and 3 share 8: 3 is 100 behind 2, which is
 * 10 behind 1. The error of 2 is 38.5476, as above; 3 has it too, and none of its own.
 */
static void node_without_the_reference_is_fitted_through_another(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 20; i++)
		both(0, i * S, 1, i * S + 3);
	for (int i = 0; i < 9; i++)
		both(1, 7 * S + i / 3 * 10, 2, 7 * S);
	for (int i = 0; i < 8; i++)
		both(2, 7 * S + 100, 3, 7 * S);
	fit(&f, 4);
	assert_int_equal(f.reference, 1);
	assert_int_equal(f.cnt, 3);
	assert_line(&f.lines[0], 0, 0, 3, 0, 20);
	assert_line(&f.lines[1], 2, 7 * S, 10, 0, 9);
	assert_line(&f.lines[2], 3, 7 * S, 110, 0, 8);
	assert_true(f.lines[0].error == 0);
	assert_true(fabs(f.lines[1].error - 38.5476) < 1e-6);
	assert_true(fabs(f.lines[2].error - 38.5476) < 1e-6);
	clock_fit_free(&f);
}

/* With the reference node 2 shares 7 ends, too few; with node 1, which has a line, 8. Both are not added up. */
static void ends_against_several_nodes_are_not_added_up(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 20; i++)
		both(0, i * S, 1, i * S);
	for (int i = 0; i < 7; i++)
		both(0, i * S + 1000, 2, i * S);
	for (int i = 0; i < 8; i++)
		both(1, i * S + 30, 2, i * S);
	fit(&f, 3);
	/* 27 against 28: node 1 is the reference. */
	assert_int_equal(f.reference, 1);
	assert_int_equal(f.cnt, 2);
	assert_line(&f.lines[0], 0, 0, 0, 0, 20);
	assert_line(&f.lines[1], 2, 0, 30, 0, 8);
	clock_fit_free(&f);
}

/* Three nodes end each collective together. */
static void nodes_of_one_collective_are_fitted_at_once(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 8; i++) {
		both(1, i * S - 20, 0, i * S);
		ends[cnt++] = (struct clock_end){id, 2, i * S + 40};
	}
	fit(&f, 3);
	assert_int_equal(f.reference, 0);
	assert_int_equal(f.cnt, 2);
	assert_line(&f.lines[0], 1, -20, 20, 0, 8);
	assert_line(&f.lines[1], 2, 40, -40, 0, 8);
	clock_fit_free(&f);
}

/* From 1970 until the year 2262: 2^63 - 1 apart. */
static void ends_that_are_2_to_the_63_apart(void **state)
{
	struct clock_fit f;

	(void)state;
	for (int i = 0; i < 8; i++)
		both(0, INT64_MAX, 1, 0);
	fit(&f, 2);
	assert_int_equal(f.cnt, 1);
	assert_true(f.lines->offset == 0x1p63);
	assert_true(f.lines->drift == 0);
	clock_fit_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_ends_give_no_lines, clear),
		cmocka_unit_test_setup(seven_ends_give_no_line, clear),
		cmocka_unit_test_setup(eight_ends_give_a_line, clear),
		cmocka_unit_test_setup(drift_is_the_slope, clear),
		cmocka_unit_test_setup(one_end_that_is_off_does_not_count, clear),
		cmocka_unit_test_setup(medians_that_swing_come_to_an_end, clear),
		cmocka_unit_test_setup(error_is_of_what_the_line_leaves, clear),
		cmocka_unit_test_setup(middle_of_an_even_number_is_between_two, clear),
		cmocka_unit_test_setup(rest_of_255_ends_is_in_the_first_line, clear),
		cmocka_unit_test_setup(rest_of_256_ends_has_a_line, clear),
		cmocka_unit_test_setup(stretch_lasts_a_minute, clear),
		cmocka_unit_test_setup(reference_shares_most_ends, clear),
		cmocka_unit_test_setup(first_of_equal_nodes_is_the_reference, clear),
		cmocka_unit_test_setup(node_without_the_reference_is_fitted_through_another, clear),
		cmocka_unit_test_setup(ends_against_several_nodes_are_not_added_up, clear),
		cmocka_unit_test_setup(nodes_of_one_collective_are_fitted_at_once, clear),
		cmocka_unit_test_setup(ends_that_are_2_to_the_63_apart, clear),
	};

	return cmocka_run_group_tests_name("ranks_clock_line", tests, NULL, NULL);
}
