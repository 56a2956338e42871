/* sweep_ways.c - ranges and calls of threads in order of time: which call counts for which range, and when, by hand and against loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/sql/sweep.h"

#define RANGES 60
#define CALLS  200

struct log {
	char text[65536];
	size_t len;
	uint64_t began;
	int64_t n[RANGES]; /* by A_SEQ: calls that counted */
	unsigned applied;  /* calls that were applied at all */
	int fails_at;      /* the call of this start is refused; -1: none */
};

__attribute__((format(printf, 2, 3))) static void note(struct log *l, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	l->len += (size_t)vsnprintf(l->text + l->len, sizeof(l->text) - l->len, format, list);
	va_end(list);
	assert_true(l->len < sizeof(l->text));
}

static int on_begin(struct sweep *s, uint64_t *mark)
{
	struct log *l = s->ctx;

	*mark = ++l->began;
	return SQLITE_OK;
}

static uint64_t on_call(struct sweep *s)
{
	return ((struct log *)s->ctx)->began;
}

static int by_seq(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* "5:1,2;" the call at 5 counts for ranges 1 and 2. */
static int on_apply(struct sweep *s, const struct sweep_call *c)
{
	struct log *l = s->ctx;
	int64_t of[RANGES];
	size_t cnt = 0;

	l->applied++;
	if (c->call[C_START] == l->fails_at)
		return SQLITE_FULL;
	for (size_t i = 0; i < s->opens; i++)
		if (s->open[i].mark <= c->mark)
			of[cnt++] = s->open[i].range[A_SEQ];
	qsort(of, cnt, sizeof(*of), by_seq);
	note(l, "%lld:", (long long)c->call[C_START]);
	for (size_t i = 0; i < cnt; i++) {
		note(l, "%s%lld", i ? "," : "", (long long)of[i]);
		l->n[of[i]] += c->call[C_N];
	}
	note(l, ";");
	return SQLITE_OK;
}

static int on_end(struct sweep *s, const struct sweep_range *r)
{
	note(s->ctx, "end %lld;", (long long)r->range[A_SEQ]);
	return SQLITE_OK;
}

static const struct sweep_way way = {on_begin, on_call, on_apply, on_end},
			      way_without_ends = {on_begin, on_call, on_apply, NULL};

struct range_of {
	int64_t tid, start, end;
};

static struct log l;

static int sweep_of(const struct range_of *ranges, size_t range_cnt, const struct range_of *calls,
		    size_t call_cnt, const struct sweep_way *how, int fails_at)
{
	struct sorter *r = sorter_new(A_WORDS, A_KEYS), *c = sorter_new(C_WORDS, C_KEYS);
	int rc;

	memset(&l, 0, sizeof(l));
	l.fails_at = fails_at;
	for (size_t i = 0; i < range_cnt; i++) {
		int64_t record[A_WORDS] = {ranges[i].tid, ranges[i].start, (int64_t)i,
					   ranges[i].end};

		assert_int_equal(sorter_add(r, record), SQLITE_OK);
	}
	for (size_t i = 0; i < call_cnt; i++) {
		int64_t record[C_WORDS] = {calls[i].tid, calls[i].start, calls[i].end, 1};

		assert_int_equal(sorter_add(c, record), SQLITE_OK);
	}
	assert_int_equal(sorter_rewind(r), SQLITE_OK);
	assert_int_equal(sorter_rewind(c), SQLITE_OK);
	rc = sweep(r, c, how, &l);
	sorter_free(r);
	sorter_free(c);
	return rc;
}

#define SWEPT(want, ranges, calls)                                                           \
	do {                                                                                 \
		assert_int_equal(sweep_of(ranges, sizeof(ranges) / sizeof(ranges[0]), calls, \
					  sizeof(calls) / sizeof(calls[0]), &way, -1),       \
				 SQLITE_OK);                                                 \
		assert_string_equal(l.text, want);                                           \
	} while (0)

static void a_call_counts_for_the_ranges_around_it(void **state)
{
	static const struct range_of ranges[] = {{1, 0, 100}, {1, 10, 50}, {1, 60, 70}};
	static const struct range_of calls[] = {{1, 5, 8},    {1, 20, 30}, {1, 55, 58},
						{1, 45, 65},  {1, 61, 69}, {1, 90, 110},
						{1, 120, 130}};

	(void)state;
	/* 45..65 lies in no inner range; 90..110 and 120..130 in none at all */
	SWEPT("5:0;20:0,1;end 1;45:0;55:0;61:0,2;end 2;end 0;", ranges, calls);
	assert_int_equal(l.applied, 5);
}

static void edges_are_inside(void **state)
{
	static const struct range_of ranges[] = {{1, 10, 20}, {1, 20, 20}};
	static const struct range_of calls[] = {
		{1, 10, 20}, {1, 20, 20}, {1, 9, 20}, {1, 20, 21}, {1, 10, 10}};

	(void)state;
	SWEPT("10:0;10:0;20:0,1;end 0;end 1;", ranges, calls);
}

static void threads_do_not_mix(void **state)
{
	static const struct range_of ranges[] = {{2, 0, 100}, {1, 50, 60}, {4, 0, 9}};
	static const struct range_of calls[] = {{1, 10, 20}, {2, 10, 20}, {1, 55, 56},
						{3, 1, 2},   {2, 55, 56}, {5, 1, 2}};

	(void)state;
	/* calls outside of ranges, of threads without any, and behind the last range are never applied */
	SWEPT("55:1;end 1;10:0;55:0;end 0;end 2;", ranges, calls);
	assert_int_equal(l.applied, 3);
}

static void nothing_to_sweep(void **state)
{
	static const struct range_of one[] = {{1, 0, 10}};

	(void)state;
	assert_int_equal(sweep_of(one, 0, one, 0, &way, -1), SQLITE_OK);
	assert_int_equal(sweep_of(one, 0, one, 1, &way, -1), SQLITE_OK);
	assert_string_equal(l.text, "");
	assert_int_equal(sweep_of(one, 1, one, 0, &way, -1), SQLITE_OK);
	assert_string_equal(l.text, "end 0;");
	assert_int_equal(sweep_of(one, 1, one, 1, &way_without_ends, -1), SQLITE_OK);
	assert_string_equal(l.text, "0:0;");
}

/* A failure ends it: no call, and no end of a range, follows. */
static void a_failure_is_the_result(void **state)
{
	static const struct range_of ranges[] = {{1, 0, 100}};
	static const struct range_of calls[] = {{1, 5, 8}, {1, 10, 12}, {1, 20, 30}, {1, 40, 41}};

	(void)state;
	assert_int_equal(sweep_of(ranges, 1, calls, 4, &way, 10), SQLITE_FULL);
	assert_string_equal(l.text, "5:0;");
	assert_int_equal(l.applied, 2);
	/* At the end of a range, too. */
	assert_int_equal(sweep_of(ranges, 1, calls, 4, &way, 40), SQLITE_FULL);
	assert_string_equal(l.text, "5:0;10:0;20:0;");
}

static int64_t below(int64_t n)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

static int by_start(const void *a, const void *b)
{
	const struct range_of *x = a, *y = b;

	if (x->tid != y->tid || x->start != y->start)
		return x->tid != y->tid ? (x->tid > y->tid) - (x->tid < y->tid)
					: (x->start > y->start) - (x->start < y->start);
	return (x->end > y->end) - (x->end < y->end);
}

/* From the first that begins in the range to the last that ends in it, of calls in order. */
static int64_t held(const struct range_of *r, const struct range_of *calls)
{
	int64_t n = 0, upto = -1;

	for (int64_t i = 0; i < CALLS; i++)
		if (calls[i].tid == r->tid && calls[i].end <= r->end)
			upto = i;
	for (int64_t i = 0; i <= upto; i++)
		n += calls[i].tid == r->tid && calls[i].start >= r->start;
	return n;
}

/* Ranges and calls that overlap in any way, against a loop over all pairs. */
static void random_ranges(void **state)
{
	struct range_of ranges[RANGES], calls[CALLS];

	(void)state;
	for (int round = 0; round < 60; round++) {
		int64_t span = round % 3 ? 500 : 40;

		for (size_t i = 0; i < RANGES; i++) {
			int64_t start = below(span);

			ranges[i] = (struct range_of){below(3), start, start + below(span / 4)};
		}
		for (size_t i = 0; i < CALLS; i++) {
			int64_t start = below(span);

			calls[i] = (struct range_of){below(4), start,
						     start + below(1 + below(span / 8))};
		}
		assert_int_equal(sweep_of(ranges, RANGES, calls, CALLS, &way, -1), SQLITE_OK);
		qsort(calls, CALLS, sizeof(*calls), by_start);
		for (size_t r = 0; r < RANGES; r++)
			assert_int_equal(l.n[r], held(&ranges[r], calls));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_counts_for_the_ranges_around_it),
		cmocka_unit_test(edges_are_inside),
		cmocka_unit_test(threads_do_not_mix),
		cmocka_unit_test(nothing_to_sweep),
		cmocka_unit_test(a_failure_is_the_result),
		cmocka_unit_test(random_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
