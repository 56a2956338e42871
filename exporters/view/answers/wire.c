/* wire.c - the columns of wire.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/answers/wire.h"

#define TILE_MAGIC    0x54564C53u /* "SLVT" */
#define COUNTER_MAGIC 0x43564C53u /* "SLVC" */
#define VERSION       2
#define NO_NAME       UINT16_MAX

struct head {
	uint32_t magic, version, generation, tiles, rects, names, text_bytes, merged;
};

/* The low bytes of @v, then the higher ones. */
static void put_planes(struct writer *b, const void *v, size_t n, size_t size)
{
	const uint8_t *from = v;
	uint8_t part[4096];

	for (size_t plane = 0; plane < size; plane++)
		for (size_t i = 0; i < n;) {
			size_t k = 0;

			while (k < sizeof(part) && i < n)
				part[k++] = from[i++ * size + plane];
			writer_add(b, part, k);
		}
}

/* ---- tiles ---- */

struct view_columns {
	uint16_t *per_tile;
	uint32_t tiles;
	uint16_t *gap, *len, *name;
	uint8_t *flags;
	uint32_t rects, room;
	uint16_t *cnt; /* of merged ones */
	uint8_t *filled;
	uint32_t merged, merged_room;
	uint32_t *names; /* of the reply: numbers of the store */
	uint32_t name_cnt, name_room;
	struct map name_at;
	bool failed;
};

struct view_columns *view_columns_new(uint32_t tiles)
{
	struct view_columns *c = calloc(1, sizeof(*c));

	if (c)
		c->per_tile = calloc(tiles, sizeof(*c->per_tile));
	if (!c || !c->per_tile) {
		free(c);
		return NULL;
	}
	c->tiles = tiles;
	return c;
}

void view_columns_free(struct view_columns *c)
{
	if (!c)
		return;
	free(c->per_tile);
	free(c->gap);
	free(c->len);
	free(c->name);
	free(c->flags);
	free(c->cnt);
	free(c->filled);
	free(c->names);
	map_free(&c->name_at);
	free(c);
}

uint32_t view_columns_rects(const struct view_columns *c)
{
	return c->rects;
}

/* Columns of one length. */
static bool has_room(struct view_columns *c)
{
	void *all[] = {&c->gap, &c->len, &c->name, &c->flags, &c->cnt, &c->filled};
	uint32_t room = c->room, merged_room = c->merged_room;

	for (int i = 0; i < 4 && c->rects == c->room; i++) {
		room = c->room;
		c->failed |= !grow(all[i], c->rects, &room, i < 3 ? 2 : 1);
	}
	for (int i = 4; i < 6 && c->merged == c->merged_room; i++) {
		merged_room = c->merged_room;
		c->failed |= !grow(all[i], c->merged, &merged_room, i < 5 ? 2 : 1);
	}
	if (c->failed)
		return false;
	c->room = room;
	c->merged_room = merged_room;
	return true;
}

static uint16_t name_at(struct view_columns *c, uint32_t name)
{
	uint64_t *slot = map_at(&c->name_at, name, true);

	if (!slot) {
		c->failed = true;
		return NO_NAME;
	}
	if (*slot == 0) {
		if (c->name_cnt >= NO_NAME)
			return NO_NAME;
		if (!grow(&c->names, c->name_cnt, &c->name_room, sizeof(*c->names))) {
			c->failed = true;
			return NO_NAME;
		}
		c->names[c->name_cnt] = name;
		*slot = ++c->name_cnt;
	}
	return (uint16_t)(*slot - 1);
}

static uint16_t packed_count(uint64_t cnt)
{
	double steps;

	if (cnt < 4096)
		return (uint16_t)cnt;
	steps = 4096 + 1024 * (log2((double)cnt) - 12);
	return steps >= UINT16_MAX ? UINT16_MAX : (uint16_t)steps;
}

/* A time in the tile in 1/16 of a pixel. */
static int64_t place_of(int64_t t, int64_t from, int64_t to, uint32_t k)
{
	t = t < from ? 0 : t > to ? to - from : t - from;
	return k >= 4 ? t >> (k - 4) : t << (4 - k);
}

static void add_merged(struct view_columns *c, const struct view_rect *r)
{
	int64_t len = r->end - r->start;
	double share = len > 0 ? (double)r->covered / (double)len : 1;

	c->cnt[c->merged] = packed_count(r->cnt);
	/* Damage may be anything. */
	c->filled[c->merged] = (uint8_t)(share >= 1 ? 255 : share > 0 ? share * 255 : 0);
	c->merged++;
}

void view_columns_add(struct view_columns *c, uint32_t i, const struct view_rect *r, unsigned cnt,
		      int64_t from, int64_t to, uint32_t k, uint32_t names)
{
	int64_t before = 0;

	c->per_tile[i] = (uint16_t)cnt;
	for (unsigned n = 0; n < cnt && has_room(c); n++, r++) {
		int64_t x = place_of(r->start, from, to, k), end = place_of(r->end, from, to, k);

		x = x > 16 * VIEW_TILE_PX - 1 ? 16 * VIEW_TILE_PX - 1 : x;
		end = end > x ? end : x;
		c->gap[c->rects] = (uint16_t)(x - before);
		c->len[c->rects] = (uint16_t)(end - x);
		c->name[c->rects] = name_at(c, r->name < names ? r->name : 0);
		c->flags[c->rects] = r->flags;
		c->rects++;
		before = end;
		if (!(r->flags & RECT_EXACT))
			add_merged(c, r);
	}
}

void view_columns_leave_out(struct view_columns *c, uint32_t i)
{
	c->per_tile[i] = VIEW_LEFT_OUT;
}

/* Behind one another; @ends: where each ends. */
static void write_texts(struct writer *texts, uint32_t *ends, const struct view_store *v,
			const struct view_columns *c)
{
	for (uint32_t i = 0; i < c->name_cnt; i++) {
		const struct view_name *name = &v->names[c->names[i]];

		writer_add_marked(texts, name->text, name->len);
		ends[i] = (uint32_t)texts->len;
	}
}

static void put_names(struct writer *b, const struct view_store *v, const struct view_columns *c,
		      const struct writer *texts, const uint32_t *ends)
{
	const uint32_t first = 0;

	for (uint32_t i = 0; i < c->name_cnt; i++)
		writer_add(b, &c->names[i], 4);
	for (uint32_t i = 0; i < c->name_cnt; i++)
		writer_add(b, &v->names[c->names[i]].color, 4);
	writer_add(b, &first, 4);
	writer_add(b, ends, 4 * (size_t)c->name_cnt);
	writer_add(b, texts->data, texts->len);
	writer_pad(b, 4);
}

void view_columns_put(const struct view_columns *c, struct view_store *v, struct writer *b)
{
	struct head h = {TILE_MAGIC,  VERSION, v->generation, c->tiles, c->rects,
			 c->name_cnt, 0,       c->merged};
	uint32_t *ends = malloc((c->name_cnt + 1) * sizeof(*ends));
	struct writer texts = {0};

	if (ends)
		write_texts(&texts, ends, v, c);
	b->failed |= texts.failed || !ends || c->failed;
	if (b->failed)
		goto out;
	h.text_bytes = (uint32_t)texts.len;
	writer_add(b, &h, sizeof(h));
	put_planes(b, c->per_tile, c->tiles, 2);
	put_planes(b, c->gap, c->rects, 2);
	put_planes(b, c->len, c->rects, 2);
	put_planes(b, c->name, c->rects, 2);
	writer_add(b, c->flags, c->rects);
	put_planes(b, c->cnt, c->merged, 2);
	writer_add(b, c->filled, c->merged);
	writer_pad(b, 4);
	put_names(b, v, c, &texts, ends);
out:
	writer_free(&texts);
	free(ends);
}

/* ---- curves ---- */

struct view_curves {
	uint8_t *px;
	float *step, *all;
	uint32_t tiles, steps, alls;
};

struct view_curves *view_curves_new(uint32_t tiles)
{
	struct view_curves *c = calloc(1, sizeof(*c));
	size_t n = (size_t)tiles * VIEW_TILE_PX;

	if (!c)
		return NULL;
	c->px = malloc(n);
	c->step = malloc(n * sizeof(float));
	c->all = malloc(n * 3 * sizeof(float));
	if (c->px && c->step && c->all)
		return c;
	view_curves_free(c);
	return NULL;
}

void view_curves_free(struct view_curves *c)
{
	if (!c)
		return;
	free(c->px);
	free(c->step);
	free(c->all);
	free(c);
}

/* Bit by bit: NaN is no value yet. */
static bool is_same(const float *a, const float *b, int n)
{
	return memcmp(a, b, (size_t)n * sizeof(*a)) == 0;
}

void view_curves_add(struct view_curves *c, const float *least, const float *most,
		     const float *last)
{
	uint8_t *px = c->px + (size_t)c->tiles++ * VIEW_TILE_PX;
	float before = NAN;

	for (int i = 0; i < VIEW_TILE_PX; i++) {
		float now[3] = {least[i], most[i], last[i]}, hold[3] = {before, before, before};
		float v = last[i], from = isnan(before) ? v : before;
		float step[3] = {from < v ? from : v, from > v ? from : v, v};

		if (is_same(now, hold, 3))
			px[i] = PX_HOLD;
		else if (is_same(now, step, 3)) {
			px[i] = PX_STEP;
			c->step[c->steps++] = v;
		} else {
			px[i] = PX_ALL;
			memcpy(c->all + 3 * (size_t)c->alls++, now, sizeof(now));
		}
		before = v;
	}
}

void view_curves_put(const struct view_curves *c, uint32_t generation, struct writer *b)
{
	struct head h = {COUNTER_MAGIC, VERSION, generation, c->tiles, c->steps, c->alls, 0, 0};

	writer_add(b, &h, sizeof(h));
	writer_add(b, c->px, (size_t)c->tiles * VIEW_TILE_PX);
	put_planes(b, c->step, c->steps, sizeof(float));
	put_planes(b, c->all, 3 * (size_t)c->alls, sizeof(float));
}
