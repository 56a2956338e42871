/* clock_fit.c - what was planted is found: offset, drift, a chain of nodes, ends that are off. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "exporters/ranks/clock_fit.h"

#define EPOCH   INT64_C(1790000000000000000)
#define SECONDS 300
#define RATE    10 /* collectives per second */

static uint64_t state;

/* -1 to 1 */
static double any(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / (double)(1ull << 52) - 1;
}

struct clock {
	double offset, drift;
};

/* What the clock of a node shows at a true time. */
static int64_t shows(const struct clock *c, double t)
{
	return EPOCH + llround(t - c->offset - c->drift * t);
}

/* Ends of collectives of the nodes from @first to @last, each up to @jitter late or early, each tenth by a ms. */
static size_t add(struct clock_end *to, uint64_t id, uint32_t first, uint32_t last,
		  const struct clock *clocks, double jitter)
{
	size_t cnt = 0;

	for (int i = 0; i < SECONDS * RATE; i++) {
		double t = (i + 0.3 * any()) * 1e9 / RATE;

		for (uint32_t n = first; n <= last; n++) {
			double off = i % 10 == 3 && n == last ? 1e6 : 0;

			to[cnt++] = (struct clock_end){id + (uint64_t)i, n,
						       shows(&clocks[n], t + jitter * any() + off)};
		}
	}
	return cnt;
}

static void assert_near(const struct clock_fit *f, const struct clock *clocks, uint32_t node,
			double within)
{
	for (int i = 0; i <= SECONDS; i++) {
		double t = i * 1e9;
		int64_t own = shows(&clocks[node], t);
		double want = (double)(shows(&clocks[f->reference], t) - own);
		double got = clock_fit_at(f, node, own);

		if (fabs(got - want) > within)
			fail_msg("node %u, %d s: %.0f ns, not %.0f", node, i, got, want);
	}
	for (size_t i = 0; i < f->cnt; i++)
		if (f->lines[i].node == node)
			assert_true(f->lines[i].error < 2 * within);
}

static void test_planted(void **unused)
{
	static const struct clock clocks[] = {{0, 0}, {200e3, 50e-6}, {-3e6, -20e-6}};
	struct clock_end *ends = calloc(3 * SECONDS * RATE, sizeof(*ends));

	(void)unused;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct clock_fit f;
		size_t cnt;

		state = seed;
		cnt = add(ends, 0, 0, 2, clocks, 20e3);
		assert_int_equal(clock_fit(ends, cnt, 3, &f), 0);
		assert_int_equal(f.reference, 0);
		assert_near(&f, clocks, 1, 10e3);
		assert_near(&f, clocks, 2, 10e3);
		clock_fit_free(&f);
	}
	free(ends);
}

/* Nodes 0 to 2 share collectives, 2 and 3 others. */
static void test_chain(void **unused)
{
	static const struct clock clocks[] = {
		{0, 0}, {1e3, 0}, {200e3, 50e-6}, {-5e6, 10e-6}, {7, 7e-6}};
	struct clock_end *ends = calloc(5 * SECONDS * RATE, sizeof(*ends));
	struct clock_fit f;
	size_t cnt;

	(void)unused;
	state = 4;
	cnt = add(ends, 0, 0, 2, clocks, 20e3);
	cnt += add(ends + cnt, 1000000, 2, 3, clocks, 20e3);
	assert_int_equal(clock_fit(ends, cnt, 5, &f), 0);
	assert_int_equal(f.reference, 2);
	for (uint32_t n = 0; n < 4; n++)
		assert_near(&f, clocks, n, n == 2 ? 0.5 : 10e3);
	/* One that shares none has no line. */
	assert_true(clock_fit_at(&f, 4, EPOCH) == 0);
	clock_fit_free(&f);
	free(ends);
}

/* A clock that is steered while it runs. */
static void test_steered(void **unused)
{
	struct clock_end *ends = calloc(2 * SECONDS * RATE, sizeof(*ends));
	struct clock_fit f;
	size_t cnt = 0;

	(void)unused;
	state = 9;
	for (int i = 0; i < SECONDS * RATE; i++) {
		double t = i * 1e9 / RATE, bend = t < 120e9 ? t * 50e-6 : 120e9 * 50e-6;

		ends[cnt++] = (struct clock_end){(uint64_t)i, 0, EPOCH + llround(t + 20e3 * any())};
		ends[cnt++] = (struct clock_end){(uint64_t)i, 1,
						 EPOCH + llround(t - bend + 20e3 * any())};
	}
	assert_int_equal(clock_fit(ends, cnt, 2, &f), 0);
	for (int i = 0; i <= SECONDS; i += 10) {
		double t = i * 1e9, bend = t < 120e9 ? t * 50e-6 : 120e9 * 50e-6;

		/* Where it bends, the line that crosses the bend may be off. */
		if (i < 110 || i > 130)
			assert_true(fabs(clock_fit_at(&f, 1, EPOCH + llround(t - bend)) - bend) <
				    10e3);
	}
	clock_fit_free(&f);
	free(ends);
}

static void test_few(void **unused)
{
	struct clock_end ends[] = {{1, 0, 5}, {1, 1, 7}, {2, 0, 9}, {2, 1, 11}};
	struct clock_fit f;

	(void)unused;
	assert_int_equal(clock_fit(ends, 4, 2, &f), 0);
	assert_int_equal(f.cnt, 0);
	clock_fit_free(&f);
	assert_int_equal(clock_fit(NULL, 0, 0, &f), 0);
	assert_int_equal(f.cnt, 0);
	clock_fit_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_steered),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
