/* compare.c - names alike, the test of ranks, conditions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/compare/compare.h"

static void alike(const char *name, const char *want)
{
	char *got = compare_alike(name);

	assert_string_equal(got, want);
	free(got);
}

static void names_without_numbers(void **state)
{
	(void)state;
	alike("", "");
	alike("step 17", "step #");
	alike("aten::to, seq = 4, op_id = 998949", "aten::to, seq = #, op_id = #");
	alike("/tmp/tmp1234/cache-deadbeef01/x", "/tmp/tmp#/cache-#/x");
	alike("deadbeef", "deadbeef"); /* no number in it: may be a word */
	alike("facade01", "#");
	alike("v2", "v#");
	alike("2", "#");
	alike("a12345678", "#");
	alike("xa12345678", "xa#"); /* hexadecimal numbers stand alone */
}

/* All ways to choose which ranks are the first sample's, looked at one by one. */
static double by_hand(const double *all, unsigned cnt, unsigned n)
{
	double rank[16] = {0}, sum = 0, far = 0, ways = 0, mean;

	for (unsigned i = 0; i < cnt; i++) {
		unsigned less = 0, same = 0;

		for (unsigned j = 0; j < cnt; j++) {
			less += all[j] < all[i];
			same += all[j] == all[i];
		}
		rank[i] = less + (same + 1) / 2.0;
	}
	for (unsigned i = 0; i < n; i++)
		sum += rank[i];
	mean = n * (cnt + 1) / 2.0;
	for (unsigned mask = 0; mask < 1u << cnt; mask++) {
		double s = 0;

		if ((unsigned)__builtin_popcount(mask) != n)
			continue;
		for (unsigned i = 0; i < cnt; i++)
			s += mask >> i & 1 ? rank[i] : 0;
		ways++;
		far += fabs(s - mean) >= fabs(sum - mean) - 1e-9;
	}
	return far / ways;
}

static void ranks_exactly(void **state)
{
	static const double apart[] = {1, 2, 3, 4, 5, 6, 7, 8};
	double p, some[12];

	(void)state;
	/* 2 of 70 ways, 2 of 252 */
	p = compare_same(apart, 4, apart + 4, 4);
	assert_true(fabs(p - 2.0 / 70) < 1e-12);
	assert_true(compare_same(apart, 3, apart + 3, 5) < 0);
	p = compare_same(apart, 4, apart, 4);
	assert_true(fabs(p - 1) < 1e-12);
	srandom(3);
	for (int round = 0; round < 300; round++) {
		unsigned a = 4 + (unsigned)random() % 3, b = 4 + (unsigned)random() % 3;

		/* few values: many are equal */
		for (unsigned i = 0; i < a + b; i++)
			some[i] = (double)(random() % (round % 2 ? 6 : 1000)) / 7;
		p = compare_same(some, a, some + a, b);
		assert_true(fabs(p - by_hand(some, a + b, a)) < 1e-9);
	}
}

/* Where the exact way would be too long, the other gives nearly the same. */
static void ranks_approximately(void **state)
{
	double a[31], b[31], exact, near;

	(void)state;
	for (int shift = 0; shift < 12; shift++) {
		for (int i = 0; i < 31; i++) {
			a[i] = i * 7 % 31;
			b[i] = i * 11 % 31 + shift;
		}
		exact = compare_same(a, 30, b, 30);
		near = compare_same(a, 31, b, 31);
		assert_true(fabs(exact - near) < 0.03 + exact * 0.1);
	}
	for (int i = 0; i < 31; i++)
		b[i] = a[i] = 5;
	assert_true(compare_same(a, 31, b, 31) == 1);
}

/* Normal, with a standard deviation of one: the sum of twelve equal ones. */
static double noise(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)random() / 2147483648.0;
	return sum;
}

/* Noise of 1 %, as in the table in sightline-compare(1): in four of five comparisons the change is found. */
static void changes_that_so_many_runs_find(void **state)
{
	double a[20], b[20], same[20];

	(void)state;
	srandom(5);
	for (size_t i = 0; i < COMPARE_PLANS; i++) {
		unsigned found = 0, wrong = 0, n = (unsigned)compare_plans[i];

		for (int round = 0; round < 1000; round++) {
			for (unsigned r = 0; r < n; r++) {
				a[r] = 100 + noise();
				same[r] = 100 + noise();
				b[r] = 100 + compare_found(1, i) + noise();
			}
			found += compare_same(a, n, b, n) < 0.05;
			wrong += compare_same(a, n, same, n) < 0.05;
		}
		assert_in_range(found, 750, 850);
		assert_in_range(wrong, 5, 65);
	}
}

/* 98, 100, 102 and 196, 204: the squares of -2, 0, 2 and -2, 2 per cent over 2 + 1 degrees of freedom. */
static void noise_of_all_sets(void **state)
{
	static struct compare_item items[5] = {{.metric = {98, [METRIC_MIN] = 7}},
					       {.metric = {100, [METRIC_MIN] = 7}},
					       {.metric = {102, [METRIC_MIN] = 7}},
					       {.metric = {196, [METRIC_MIN] = 7}},
					       {.metric = {204, [METRIC_MIN] = 7}}};
	static struct compare_kind kind = {.name = "step"};
	const struct compare_item *a[] = {&items[0], &items[1], &items[2]};
	const struct compare_item *b[] = {&items[3], &items[4]};
	struct compare_figure figures[] = {{.is_there = true, .items = a},
					   {.is_there = true, .items = b}};
	struct compare_set sets[] = {{.cnt = 3}, {.cnt = 2}};
	struct compare_row row = {.kind = &kind, .figure = figures};
	struct comparison c = {.sets = sets, .set_cnt = 2, .rows = &row, .row_cnt = 1};

	(void)state;
	assert_true(fabs(compare_noise(&c, &row, METRIC_TOTAL) - sqrt(16 / 3.0)) < 1e-9);
	assert_true(compare_noise(&c, &row, METRIC_MIN) == 0);
	assert_ptr_equal(compare_steps(&c), &row);
	/* One run has no noise, nor has a set without the figure. */
	sets[0].cnt = 1;
	figures[1].is_there = false;
	assert_true(isnan(compare_noise(&c, &row, METRIC_TOTAL)));
	figures[0].is_there = false;
	assert_null(compare_steps(&c));
}

static struct compare_kind kinds[] = {{.name = "step"},
				      {.name = "kernel"},
				      {.name = "gpu_memory", .is_bytes = true},
				      {.name = "instructions", .is_count = true}};
static const struct comparison known = {.kinds = kinds, .kind_cnt = 4};

static void parse(const char *text, int want, enum compare_metric m, char op, double limit,
		  bool change, bool percent, const char *pattern)
{
	struct compare_gate g;
	char why[512] = "";
	int rc = compare_gate_parse(&known, text, &g, why, sizeof(why));

	if (rc != want)
		fail_msg("%s: %s", text, why);
	assert_true(rc == 0 || *why);
	if (rc == 0) {
		assert_int_equal(g.metric, m);
		assert_int_equal(g.op, op);
		assert_true(fabs(g.limit - limit) <= 1e-9 * fabs(limit));
		assert_int_equal(g.is_change, change);
		assert_int_equal(g.is_percent, percent);
		if (pattern)
			assert_string_equal(g.pattern, pattern);
		else
			assert_null(g.pattern);
	}
	compare_gate_free(&g);
}

static void conditions(void **state)
{
	(void)state;
	parse("step.median > +3%", 0, METRIC_MEDIAN, '>', 3, true, true, NULL);
	parse(" step.p99>=+3 % ", 0, METRIC_P99, 'g', 3, true, true, NULL);
	parse("step < -2ms", 0, METRIC_TOTAL, '<', -2e6, true, false, NULL);
	parse("gpu_memory > 70GB", 0, METRIC_TOTAL, '>', 70e9, false, false, NULL);
	parse("gpu_memory<=1.5 GiB", 0, METRIC_TOTAL, 'l', 1.5 * 1073741824, false, false, NULL);
	parse("kernel[*g[ae]mm*].count > 10", 0, METRIC_COUNT, '>', 10, false, false, "*g[ae]mm*");
	parse("kernel[a > b].max > +5us", 0, METRIC_MAX, '>', 5000, true, false, "a > b");
	parse("instructions > +100", 0, METRIC_TOTAL, '>', 100, true, false, NULL);
	parse("instructions > +100ms", -1, 0, 0, 0, 0, 0, NULL);
	parse("", -1, 0, 0, 0, 0, 0, NULL);
	parse("> +3%", -1, 0, 0, 0, 0, 0, NULL);
	parse("kernel[x > 3", -1, 0, 0, 0, 0, 0, NULL);
	parse("steps > +3%", -1, 0, 0, 0, 0, 0, NULL);
	parse("step.mode > +3%", -1, 0, 0, 0, 0, 0, NULL);
	parse("step = +3%", -1, 0, 0, 0, 0, 0, NULL);
	parse("step > 3%", -1, 0, 0, 0, 0, 0, NULL); /* is that 3 % more, or what? */
	parse("step > +", -1, 0, 0, 0, 0, 0, NULL);
	parse("step > ++3%", -1, 0, 0, 0, 0, 0, NULL);
	parse("step > 3GB", -1, 0, 0, 0, 0, 0, NULL);
	parse("gpu_memory > 3ms", -1, 0, 0, 0, 0, 0, NULL);
	parse("step.count > 3ms", -1, 0, 0, 0, 0, 0, NULL);
	parse("step > 3 ms or so", -1, 0, 0, 0, 0, 0, NULL);
}

static void summaries(void **state)
{
	static const struct compare_sample one[] = {{7, 1}}, two[] = {{1, 1}, {4, 1}},
					   many[] = {{1, 50}, {2, 48}, {9, 1}, {100, 1}};
	double m[METRIC_CNT];

	(void)state;
	compare_summarize(one, 1, m);
	assert_true(m[METRIC_MEDIAN] == 7 && m[METRIC_P99] == 7 && m[METRIC_TOTAL] == 7 &&
		    m[METRIC_COUNT] == 1);
	compare_summarize(two, 2, m);
	assert_true(m[METRIC_MEDIAN] == 2.5 && m[METRIC_MEAN] == 2.5 && m[METRIC_MIN] == 1 &&
		    m[METRIC_MAX] == 4);
	compare_summarize(many, 4, m); /* of a hundred: the 50th is 1, the 51st 2, the 99th 9 */
	assert_true(m[METRIC_MEDIAN] == 1.5 && m[METRIC_P99] == 9 && m[METRIC_MAX] == 100);
	assert_true(m[METRIC_TOTAL] == 50 + 96 + 9 + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_without_numbers),
		cmocka_unit_test(ranks_exactly),
		cmocka_unit_test(ranks_approximately),
		cmocka_unit_test(changes_that_so_many_runs_find),
		cmocka_unit_test(noise_of_all_sets),
		cmocka_unit_test(conditions),
		cmocka_unit_test(summaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
