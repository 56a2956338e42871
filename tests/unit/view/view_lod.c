/*
 * view_lod.c - tiles of random lanes against brute force: counts, times, every event of a pixel or more, and nothing drawn
 * where there is nothing; while the lane grows, and out of the file again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/view/index/lod.h"

#define CHECKS 10000

static uint64_t seed = 7;
static char dir[] = "/tmp/sightline-view-XXXXXX";
static char report[64];

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed ^ seed >> 31) % n;
}

struct lane {
	struct view_lane *lane;
	struct view_event *e;
	uint32_t cnt;
};

static struct view_store *make_store(uint32_t names)
{
	struct view_store *v = view_store_new(report);
	bool is_kept = true;
	char name[32];

	assert_non_null(v);
	v->side = view_side_create(report, &is_kept);
	assert_non_null(v->side);
	assert_true(is_kept);
	assert_int_equal(view_source_of(v, "TABLE"), 0);
	for (uint32_t i = 1; i < names; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		assert_int_equal(view_name_of(v, &(struct tl_text){0, name, strlen(name)}), i);
	}
	return v;
}

/* Bursts of short events, and now and then a long one, a pause, an instant. */
static void random_event(struct view_event *e, int64_t *at, uint32_t names, unsigned scale)
{
	*at += below(4) ? (int64_t)below(8u << below(scale)) : 0;
	e->start = *at;
	*at += below(50) ? (int64_t)below(4u << below(scale)) : (int64_t)below(1u << (scale + 8));
	e->end = below(20) ? *at : e->start;
	*at = e->end;
	e->row = (int64_t)below(1 << 20);
	e->name = below(3) ? 1 + (uint32_t)below(2) : (uint32_t)below(names);
	e->source = 0;
	e->flags = e->end == e->start ? VIEW_INSTANT : 0;
}

static void fill(struct view_store *v, struct lane *l, uint32_t cnt)
{
	struct view_row *row;
	char key[32];
	int64_t at = -(int64_t)below(100000);
	unsigned scale = 1 + (unsigned)below(12);

	snprintf(key, sizeof(key), "row %u", v->row_cnt);
	row = view_row_add(v, VIEW_OSRT, 0, key, "row", 3);
	assert_non_null(row);
	l->lane = view_lane_add(v, row);
	l->e = calloc(cnt, sizeof(*l->e));
	l->cnt = cnt;
	assert_true(l->lane && l->e);
	for (uint32_t i = 0; i < cnt; i++) {
		random_event(&l->e[i], &at, v->name_cnt, scale);
		struct view_event copy = l->e[i];

		assert_int_equal(view_lane_put(v, l->lane, &copy), 0);
		/* Half-filled blocks are written when others want to look. */
		if (below(5000) == 0)
			assert_int_equal(view_lanes_publish(v, false), 0);
	}
}

static bool is_edge(const struct lane *l, int64_t t, bool is_start)
{
	uint32_t low = 0, high = l->cnt;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if ((is_start ? l->e[mid].start : l->e[mid].end) < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->cnt && (is_start ? l->e[low].start : l->e[low].end) == t;
}

static unsigned dominant, right; /* rectangles of many events; those with the right name */

/* Is the name the one with most time of the events between, or as good as it? */
static void check_name(const struct lane *l, const struct view_rect *r, uint32_t names)
{
	double weight[64] = {0}, most = 0;

	if (r->cnt <= 64 || names > 64)
		return;
	for (uint32_t i = 0; i < l->cnt; i++)
		if (l->e[i].start >= r->start && l->e[i].end <= r->end)
			weight[l->e[i].name] += (double)VIEW_WEIGHT(l->e[i].end - l->e[i].start);
	for (uint32_t i = 0; i < names; i++)
		most = weight[i] > most ? weight[i] : most;
	dominant++;
	right += weight[r->name] >= 0.99 * most;
}

static void check_tile(struct view_store *v, const struct lane *l, uint32_t k, int64_t index)
{
	struct view_rect rects[VIEW_TILE_MAX];
	struct view_reader r;
	int64_t from, to, p = INT64_C(1) << k, covered = 0, want_covered = 0;
	uint64_t cnt = 0, want = 0;
	unsigned n, at = 0;

	assert_true(view_tile_span(k, index, &from, &to));
	assert_true(view_reader_begin(&r, v, l->lane->id));
	n = view_tile(&r, k, index, rects);
	assert_false(r.is_damaged);
	view_reader_end(&r);
	assert_true(n <= VIEW_TILE_MAX);
	for (unsigned i = 0; i < n; i++) {
		assert_true(rects[i].start <= rects[i].end);
		assert_true(i == 0 || rects[i - 1].end <= rects[i].start);
		assert_true(is_edge(l, rects[i].start, true) && is_edge(l, rects[i].end, false));
		assert_int_equal(!!(rects[i].flags & RECT_BEFORE), rects[i].start < from);
		assert_int_equal(!!(rects[i].flags & RECT_AFTER), rects[i].end > to);
		cnt += rects[i].cnt;
		covered += rects[i].covered;
		if (i % 8 == 0)
			check_name(l, &rects[i], v->name_cnt);
	}
	for (uint32_t i = 0; i < l->cnt; i++) {
		const struct view_event *e = &l->e[i];

		if (!view_overlaps(e, from, to))
			continue;
		want++;
		want_covered += e->end - e->start;
		if (e->end - e->start < p)
			continue;
		while (at < n && (rects[at].start != e->start || rects[at].end != e->end))
			at++;
		assert_true(at < n && rects[at].flags & RECT_EXACT && rects[at].name == e->name);
	}
	assert_int_equal(cnt, want);
	assert_int_equal(covered, want_covered);
}

static void check_random(struct view_store *v, const struct lane *l)
{
	int64_t first = l->e[0].start, last = l->e[l->cnt - 1].end;
	uint32_t k = (uint32_t)below(40);
	int64_t t = first + (int64_t)below((uint64_t)(last - first) + 2) - 1;
	int64_t len = (int64_t)VIEW_TILE_PX << k, index = t / len - (t % len < 0);

	check_tile(v, l, k, index);
}

static void tiles(void **state)
{
	static const uint32_t sizes[] = {1,    2,    31,   32,    33,    64,    257, 1000,
					 2048, 4097, 9999, 20000, 20480, 30000, 5,   700};
	struct view_store *v = make_store(20);
	struct lane lanes[sizeof(sizes) / sizeof(sizes[0])];
	size_t cnt = sizeof(sizes) / sizeof(sizes[0]), len;
	uint8_t *dir_bytes;

	(void)state;
	for (size_t i = 0; i < cnt; i++)
		fill(v, &lanes[i], sizes[i]);
	assert_int_equal(view_lanes_publish(v, true), 0);
	assert_int_equal(v->disordered, 0);
	for (int n = 0; n < CHECKS / 2; n++)
		check_random(v, &lanes[below(cnt)]);
	/* The directory and the file hold the same. */
	dir_bytes = view_directory_write(v, &len);
	assert_non_null(dir_bytes);
	struct view_store *again = view_store_new(report);

	assert_int_equal(view_directory_read(again, dir_bytes, len), 0);
	again->side = v->side;
	v->side = NULL;
	for (int n = 0; n < CHECKS / 2; n++)
		check_random(again, &lanes[below(cnt)]);
	/* Ninety-five of a hundred rectangles of many events have the right name. */
	assert_true(dominant > 200 && right * 100 >= dominant * 95);
	free(dir_bytes);
	view_store_free(v);
	view_store_free(again);
	for (size_t i = 0; i < cnt; i++)
		free(lanes[i].e);
}

/* What is published is all there, each time. */
static void growing(void **state)
{
	struct view_store *v = make_store(5);
	struct view_row *row = view_row_add(v, VIEW_OSRT, 0, "row", "row", 3);
	struct lane l = {.lane = view_lane_add(v, row),
			 .e = calloc(20000, sizeof(struct view_event))};
	int64_t at = 0;

	(void)state;
	while (l.cnt < 20000) {
		for (uint32_t more = 1 + (uint32_t)below(900); more > 0 && l.cnt < 20000; more--) {
			random_event(&l.e[l.cnt], &at, v->name_cnt, 6);
			struct view_event copy = l.e[l.cnt++];

			assert_int_equal(view_lane_put(v, l.lane, &copy), 0);
		}
		assert_int_equal(view_lanes_publish(v, false), 0);
		for (int n = 0; n < 20; n++)
			check_random(v, &l);
	}
	free(l.e);
	view_store_free(v);
}

/* ---- counters ---- */

static void check_curve(struct view_store *v, const struct lane *l, const double *value, uint32_t k,
			int64_t index)
{
	float least[VIEW_TILE_PX], most[VIEW_TILE_PX], last[VIEW_TILE_PX];
	struct view_reader r;
	int64_t from, to;
	uint32_t i = 0;
	float held = NAN;

	assert_true(view_tile_span(k, index, &from, &to));
	assert_true(view_reader_begin(&r, v, l->lane->id));
	view_tile_counter(&r, k, index, least, most, last);
	view_reader_end(&r);
	for (; i < l->cnt && l->e[i].start < from; i++)
		held = (float)value[i];
	for (int px = 0; px < VIEW_TILE_PX; px++) {
		int64_t end = from + ((int64_t)(px + 1) << k);
		float low = held, high = held;

		for (; i < l->cnt && l->e[i].start < end; i++) {
			held = (float)value[i];
			low = isnan(low) || held < low ? held : low;
			high = isnan(high) || held > high ? held : high;
		}
		if (isnan(held)) {
			assert_true(isnan(last[px]) && isnan(least[px]) && isnan(most[px]));
			continue;
		}
		assert_true(least[px] == low && most[px] == high && last[px] == held);
	}
}

static void counters(void **state)
{
	struct view_store *v = make_store(2);

	(void)state;
	for (int n = 0; n < 40; n++) {
		struct view_row *row;
		uint32_t cnt = 1 + (uint32_t)below(n % 2 ? 9000 : 40);
		struct lane l = {.e = calloc(cnt, sizeof(*l.e)), .cnt = cnt};
		double *value = calloc(cnt, sizeof(*value));
		int64_t at = (int64_t)below(1000);
		bool is_real = n % 3 == 0;
		char key[16];

		snprintf(key, sizeof(key), "c%d", n);
		row = view_row_add(v, VIEW_COUNTER, 0, key, key, strlen(key));
		l.lane = view_lane_add(v, row);
		for (uint32_t i = 0; i < cnt; i++) {
			int64_t bits = (int64_t)below(1000) - 500;

			at += (int64_t)below(3) * (int64_t)below(2000);
			l.e[i].start = at;
			value[i] = is_real ? (double)bits / 7 : (double)bits;
			if (is_real)
				memcpy(&bits, &value[i], sizeof(bits));
			assert_int_equal(view_lane_value(v, l.lane, at, is_real, bits, 0), 0);
		}
		assert_int_equal(view_lanes_publish(v, false), 0);
		for (int c = 0; c < 50; c++) {
			uint32_t k = (uint32_t)below(20);

			check_curve(v, &l, value, k, (int64_t)below((uint64_t)(at >> (k + 8)) + 2));
		}
		free(l.e);
		free(value);
	}
	view_store_free(v);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(report, sizeof(report), "%s/r.sqlite", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiles),
		cmocka_unit_test(growing),
		cmocka_unit_test(counters),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
