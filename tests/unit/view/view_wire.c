/* view_wire.c - rectangles and curves as bytes and back: what is left out of the columns follows from the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/view/answers/wire.h"

#define TILES 300
#define NAMES 300
#define K     10

static uint64_t seed = 11;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed ^ seed >> 31) % n;
}

static struct view_store *make_store(void)
{
	struct view_store *v = view_store_new("none.sqlite");
	char name[32];

	assert_non_null(v);
	for (uint32_t i = 1; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		assert_int_equal(view_name_of(v, &(struct tl_text){0, name, strlen(name)}), i);
	}
	return v;
}

/* From a little before the tile to a little behind it. */
static unsigned random_tile(struct view_rect *r, int64_t from)
{
	unsigned n = (unsigned)below(8) ? (unsigned)below(VIEW_TILE_MAX) : 0;
	int64_t at = from - (int64_t)below(2000), step = 2 * ((int64_t)VIEW_TILE_PX << K) / (n + 1);

	for (unsigned i = 0; i < n; i++) {
		int64_t start = at + (int64_t)below((uint64_t)step),
			end = start + (int64_t)below((uint64_t)(step + at - start) + 1);
		bool is_exact = below(2);

		if (start >= from + ((int64_t)VIEW_TILE_PX << K))
			return i;
		r[i] = (struct view_rect){
			.start = start,
			.end = end,
			.covered = is_exact || end == start
					   ? end - start
					   : (int64_t)below((uint64_t)(end - start)),
			.cnt = is_exact ? 1 : 2 + below(1u << below(30)),
			.name = (uint32_t)below(NAMES),
			.flags = (uint8_t)((below(256) & ~(uint64_t)RECT_EXACT) | is_exact),
		};
		at += step;
	}
	return n;
}

/* ---- back ---- */

static uint32_t byte_plane(const uint8_t **at, size_t n, size_t size, uint32_t *to)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = 0;
		for (size_t k = 0; k < size; k++)
			to[i] |= (uint32_t)(*at)[k * n + i] << 8 * k;
	}
	*at += n * size;
	return (uint32_t)n;
}

struct back {
	uint32_t head[8], per_tile[TILES], *gap, *len, *name, *flags, *cnt, *filled;
	const uint32_t *id, *offset;
	const char *texts;
};

static void read_back(const struct writer *b, struct back *k)
{
	const uint8_t *at = (const uint8_t *)b->data + sizeof(k->head);
	uint32_t n, merged;

	memcpy(k->head, b->data, sizeof(k->head));
	n = k->head[4];
	merged = k->head[7];
	k->gap = calloc(n + 1, 4);
	k->len = calloc(n + 1, 4);
	k->name = calloc(n + 1, 4);
	k->flags = calloc(n + 1, 4);
	k->cnt = calloc(merged + 1, 4);
	k->filled = calloc(merged + 1, 4);
	byte_plane(&at, k->head[3], 2, k->per_tile);
	byte_plane(&at, n, 2, k->gap);
	byte_plane(&at, n, 2, k->len);
	byte_plane(&at, n, 2, k->name);
	byte_plane(&at, n, 1, k->flags);
	byte_plane(&at, merged, 2, k->cnt);
	byte_plane(&at, merged, 1, k->filled);
	at += -(at - (const uint8_t *)b->data) & 3;
	k->id = (const uint32_t *)(const void *)at;
	k->offset = k->id + (size_t)2 * k->head[5];
	k->texts = (const char *)(k->offset + k->head[5] + 1);
	assert_int_equal(k->offset[k->head[5]], k->head[6]);
	assert_true(k->texts + ((k->head[6] + 3) & ~3u) == b->data + b->len);
}

static void free_back(struct back *k)
{
	free(k->gap);
	free(k->len);
	free(k->name);
	free(k->flags);
	free(k->cnt);
	free(k->filled);
}

static int64_t place(int64_t t, int64_t from)
{
	int64_t at = (t - from) >> (K - 4);

	return at < 0 ? 0 : at > 16 * VIEW_TILE_PX ? 16 * VIEW_TILE_PX : at;
}

static void tiles(void **state)
{
	static struct view_rect rects[TILES][VIEW_TILE_MAX];
	unsigned cnt[TILES], at = 0, other = 0;
	struct view_store *v = make_store();
	struct view_columns *c = view_columns_new(TILES);
	struct writer b = {0};
	struct back back;
	int64_t len = (int64_t)VIEW_TILE_PX << K;

	(void)state;
	assert_non_null(c);
	for (uint32_t i = 0; i < TILES; i++) {
		int64_t from = ((int64_t)i - 100) * len;

		cnt[i] = random_tile(rects[i], from);
		if (i % 11 == 3)
			view_columns_leave_out(c, i);
		else
			view_columns_add(c, i, rects[i], cnt[i], from, from + len, K, NAMES);
	}
	view_columns_put(c, v, &b);
	assert_false(b.failed);
	read_back(&b, &back);
	for (uint32_t i = 0; i < TILES; i++) {
		int64_t from = ((int64_t)i - 100) * len, end = 0;

		assert_int_equal(back.per_tile[i], i % 11 == 3 ? VIEW_LEFT_OUT : cnt[i]);
		for (unsigned n = 0; n < cnt[i] && i % 11 != 3; n++, at++) {
			const struct view_rect *r = &rects[i][n];
			int64_t x = (end + back.gap[at]) & 0xFFFF;
			uint32_t name = back.name[at], id = back.id[name];
			size_t text_len = back.offset[name + 1] - back.offset[name];

			end = x + back.len[at];
			assert_int_equal(x, place(r->start, from));
			assert_int_equal(end, place(r->end, from));
			assert_int_equal(back.flags[at], r->flags);
			assert_int_equal(id, r->name);
			assert_int_equal(text_len, v->names[id].len);
			assert_memory_equal(back.texts + back.offset[name], v->names[id].text,
					    text_len);
			if (r->flags & RECT_EXACT)
				continue;
			if (r->cnt < 4096)
				assert_int_equal(back.cnt[other], r->cnt);
			else
				assert_true(fabs(12 + (back.cnt[other] - 4096) / 1024.0 -
						 log2((double)r->cnt)) < 0.001);
			assert_int_equal(back.filled[other],
					 r->end == r->start
						 ? 255
						 : (int)((double)r->covered /
							 (double)(r->end - r->start) * 255));
			other++;
		}
	}
	assert_int_equal(at, back.head[4]);
	assert_int_equal(at, view_columns_rects(c));
	assert_int_equal(other, back.head[7]);
	assert_true(at > 10000 && other > 4000 && at - other > 4000);
	free_back(&back);
	view_columns_free(c);
	writer_free(&b);
	view_store_free(v);
}

/* ---- curves ---- */

/* Steps, what holds, pixels of many values; nothing at first, and now and then from some pixel on. */
static void random_curve(float v[3][VIEW_TILE_PX])
{
	float before = NAN;
	int first = (int)below(3) ? 0 : (int)below(VIEW_TILE_PX + 1);

	for (int i = 0; i < VIEW_TILE_PX; i++) {
		float now = (float)below(1000) / 7 - 50, from = isnan(before) ? now : before;
		unsigned what = (unsigned)below(4);

		if (i < first || (what == 0 && i > 0))
			v[0][i] = v[1][i] = v[2][i] = before;
		else {
			v[0][i] = fminf(from, now) - (what == 1 ? (float)below(3) : 0);
			v[1][i] = fmaxf(from, now) + (what == 1 ? (float)below(3) : 0);
			v[2][i] = below(50) ? now : NAN;
		}
		before = v[2][i];
	}
}

static void curves(void **state)
{
	static float v[TILES][3][VIEW_TILE_PX];
	static uint32_t step[TILES * VIEW_TILE_PX], all[3 * TILES * VIEW_TILE_PX];
	struct view_curves *c = view_curves_new(TILES);
	struct writer b = {0};
	const uint8_t *at, *px;
	uint32_t head[8], s = 0, a = 0, held = 0;

	(void)state;
	assert_non_null(c);
	for (int i = 0; i < TILES; i++) {
		random_curve(v[i]);
		view_curves_add(c, v[i][0], v[i][1], v[i][2]);
	}
	view_curves_put(c, 5, &b);
	assert_false(b.failed);
	memcpy(head, b.data, sizeof(head));
	assert_int_equal(head[2], 5);
	assert_int_equal(head[3], TILES);
	px = (const uint8_t *)b.data + sizeof(head);
	at = px + (size_t)TILES * VIEW_TILE_PX;
	byte_plane(&at, head[4], 4, step);
	byte_plane(&at, (size_t)3 * head[5], 4, all);
	assert_true((const char *)at == b.data + b.len);
	for (int i = 0; i < TILES; i++) {
		float before = NAN, got[3], want[3];

		for (int k = 0; k < VIEW_TILE_PX; k++, px++) {
			if (*px == PX_HOLD) {
				got[0] = got[1] = got[2] = before;
				held++;
			} else if (*px == PX_STEP) {
				memcpy(&got[2], &step[s++], 4);
				got[0] = isnan(before) ? got[2] : fminf(before, got[2]);
				got[1] = isnan(before) ? got[2] : fmaxf(before, got[2]);
			} else {
				assert_int_equal(*px, PX_ALL);
				memcpy(got, &all[3 * (size_t)a++], sizeof(got));
			}
			for (int n = 0; n < 3; n++)
				want[n] = v[i][n][k];
			assert_memory_equal(got, want, sizeof(got));
			before = got[2];
		}
	}
	assert_int_equal(s, head[4]);
	assert_int_equal(a, head[5]);
	assert_true(s > 10000 && a > 10000 && held > 10000);
	view_curves_free(c);
	writer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiles),
		cmocka_unit_test(curves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
