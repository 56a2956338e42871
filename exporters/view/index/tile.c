/*
 * tile.c - the rectangles of a tile: one for each event of a pixel or more, and one for all shorter events that start in the same
 * pixel, taken from as few nodes as possible.
 */
#include <math.h>
#include <string.h>

#include "exporters/view/index/lod.h"

#define NAMES 8

/* Events that start in one pixel. */
struct bucket {
	struct view_rect r;
	int64_t px;
	uint32_t name[NAMES];
	float weight[NAMES];
	float all;
	unsigned names;
	bool is_instant;
};

struct tile {
	struct view_reader *reader;
	int64_t from, to, p;
	uint32_t k;
	struct bucket b; /* cnt 0: empty */
	struct view_rect *rects;
	unsigned cnt;
};

bool view_tile_span(uint32_t k, int64_t index, int64_t *from, int64_t *to)
{
	int64_t len;

	if (k > VIEW_K_MAX)
		return false;
	len = (int64_t)VIEW_TILE_PX << k;
	if (__builtin_mul_overflow(index, len, from) || __builtin_add_overflow(*from, len, to))
		return false;
	return true;
}

static void flush(struct tile *t)
{
	struct bucket *b = &t->b;
	unsigned best = 0;

	if (b->r.cnt == 0)
		return;
	for (unsigned i = 1; i < b->names; i++)
		if (b->weight[i] > b->weight[best])
			best = i;
	b->r.name = b->name[best];
	if (2 * b->weight[best] < b->all)
		b->r.flags |= RECT_SEVERAL;
	if (b->is_instant)
		b->r.flags |= RECT_INSTANT;
	if (b->r.cnt == 1)
		b->r.flags |= RECT_EXACT;
	if (t->cnt < VIEW_TILE_MAX)
		t->rects[t->cnt++] = b->r;
	b->r.cnt = 0;
}

static void add_name(struct bucket *b, uint32_t name, float weight)
{
	unsigned i = 0, least = 0;

	while (i < b->names && b->name[i] != name)
		i++;
	if (i == b->names && b->names == NAMES) {
		/* In place of the lightest one, whose weight it takes over: an upper bound, as in Space-Saving. */
		for (unsigned k = 1; k < NAMES; k++)
			least = b->weight[k] < b->weight[least] ? k : least;
		b->name[least] = name;
		i = least;
	} else if (i == b->names) {
		b->name[b->names] = name;
		b->weight[b->names++] = 0;
	}
	b->weight[i] += weight;
}

/* The bucket of events that start at @start. */
static struct bucket *bucket_at(struct tile *t, int64_t start)
{
	int64_t px = start < t->from ? -1 : (start - t->from) >> t->k;
	struct bucket *b = &t->b;

	if (b->r.cnt > 0 && b->px != px)
		flush(t);
	if (b->r.cnt == 0)
		*b = (struct bucket){.px = px, .is_instant = true, .r.start = start};
	return b;
}

static void add_node(struct tile *t, const struct view_node *n)
{
	struct bucket *b = bucket_at(t, n->start);

	b->r.end = n->end;
	b->r.cnt += n->cnt;
	b->r.covered += n->covered;
	b->r.flags |= n->flags & VIEW_FLOW ? RECT_FLOW : 0;
	b->is_instant &= n->longest == 0;
	b->all += (float)(n->covered > n->cnt ? n->covered : n->cnt);
	for (int i = 0; i < 2; i++)
		if (n->weight[i] > 0)
			add_name(b, n->name[i], n->weight[i]);
}

static void add_event(struct tile *t, const struct view_event *e)
{
	int64_t dur = e->end - e->start;
	struct bucket *b;

	if (dur >= t->p) {
		uint8_t flags = RECT_EXACT;

		flush(t);
		flags |= e->flags & VIEW_OPEN ? RECT_OPEN : 0;
		flags |= e->flags & VIEW_FLOW ? RECT_FLOW : 0;
		if (t->cnt < VIEW_TILE_MAX)
			t->rects[t->cnt++] =
				(struct view_rect){e->start, e->end, dur, 1, e->name, flags};
		return;
	}
	b = bucket_at(t, e->start);
	b->r.end = e->end;
	b->r.cnt++;
	b->r.covered += dur;
	b->r.flags |= e->flags & VIEW_FLOW ? RECT_FLOW : 0;
	b->is_instant &= dur == 0;
	b->all += VIEW_WEIGHT(dur);
	add_name(b, e->name, VIEW_WEIGHT(dur));
}

/* The highest level of which a node begins at block @i and may be taken as a whole; -1: open the block. */
static int level_at(struct tile *t, uint32_t i, int above, const struct view_node **node)
{
	const struct view_seen *seen = &t->reader->lane->seen;
	int level = 0;

	while (level < above && level + 1 < VIEW_LEVELS && i % (1u << 3 * (level + 1)) == 0 &&
	       3 * (level + 1) < 32 && i >> 3 * (level + 1) < seen->cnt[level + 1])
		level++;
	for (; level >= 0; level--) {
		const struct view_node *n =
			view_reader_node(t->reader, (uint32_t)level, i >> 3 * level);

		if (!n)
			return -1;
		*node = n;
		if (n->start >= t->from && n->end <= t->to && n->longest < t->p &&
		    n->end - n->start < t->p)
			return level;
	}
	return -1;
}

unsigned view_tile(struct view_reader *r, uint32_t k, int64_t index, struct view_rect *rects)
{
	struct tile t = {.reader = r, .k = k, .rects = rects};
	struct view_event e[VIEW_BLOCK];
	uint32_t cnt = r->lane->seen.cnt[0];
	int level = 1;

	if (r->lane->is_counter || !view_tile_span(k, index, &t.from, &t.to))
		return 0;
	t.p = INT64_C(1) << k;
	r->no_rows = true;
	for (uint32_t i = view_reader_find(r, t.from); i < cnt;) {
		const struct view_node *n = NULL;
		unsigned in_block;

		/* Levels are climbed one by one: no node higher above the last one is tried. */
		level = level_at(&t, i, level + 1, &n);
		if (level >= 0) {
			add_node(&t, n);
			i += 1u << 3 * level;
			continue;
		}
		if (!n || n->start >= t.to)
			break;
		in_block = view_reader_block(r, i++, e);
		for (unsigned j = 0; j < in_block; j++)
			if (view_overlaps(&e[j], t.from, t.to))
				add_event(&t, &e[j]);
		if (in_block == 0)
			break;
	}
	flush(&t);
	for (unsigned i = 0; i < t.cnt; i++) {
		rects[i].flags |= rects[i].start < t.from ? RECT_BEFORE : 0;
		rects[i].flags |= rects[i].end > t.to ? RECT_AFTER : 0;
	}
	return t.cnt;
}

/* ---- counters ---- */

struct curve {
	float *least, *most, *last;
	int64_t from;
	uint32_t k;
	int at; /* px of the last value; -1: before the tile */
};

/* Keeps the value up to @px. */
static void hold(struct curve *c, int px, float value)
{
	for (int i = c->at + 1; i <= px && i < VIEW_TILE_PX; i++)
		c->least[i] = c->most[i] = c->last[i] = value;
	c->at = px > c->at ? px : c->at;
}

static float step(struct curve *c, int64_t t, float before, float least, float most, float last)
{
	uint64_t off = ((uint64_t)t - (uint64_t)c->from) >> c->k;
	int px = (int)off;

	if (t < c->from)
		return last;
	if (off >= VIEW_TILE_PX)
		return before;
	if (px > c->at) {
		hold(c, px - 1, before);
		c->at = px;
		/* The value from before is there at the pixel's beginning. */
		c->least[px] = isnan(before) ? least : before;
		c->most[px] = isnan(before) ? most : before;
	}
	c->least[px] = fminf(c->least[px], least);
	c->most[px] = fmaxf(c->most[px], most);
	c->last[px] = last;
	return last;
}

/* The largest node that begins with block @i and lies in one pixel; how many blocks it stands for in @blocks. NULL: none. */
static const struct view_node *node_in_pixel(const struct tile *t, uint32_t i, uint32_t *blocks)
{
	const struct view_node *best = NULL;

	for (uint32_t level = 0; level < VIEW_LEVELS && 3 * level < 32; level++) {
		const struct view_node *n;

		if (i % (1u << 3 * level) != 0 ||
		    i >> 3 * level >= t->reader->lane->seen.cnt[level])
			break;
		n = view_reader_node(t->reader, level, i >> 3 * level);
		if (!n || n->start < t->from || n->start >> t->k != n->end >> t->k)
			break;
		best = n;
		*blocks = 1u << 3 * level;
	}
	return best;
}

void view_tile_counter(struct view_reader *r, uint32_t k, int64_t index, float *least, float *most,
		       float *last)
{
	struct tile t = {.reader = r, .k = k};
	struct curve c = {least, most, last, 0, k, -1};
	struct view_event e[VIEW_BLOCK];
	uint32_t cnt = r->lane->seen.cnt[0], i;
	float value = NAN;
	bool is_span = view_tile_span(k, index, &t.from, &t.to);

	c.from = t.from;
	i = is_span && r->lane->is_counter ? view_reader_find(r, t.from) : cnt;
	if (i > 0 && i <= cnt && is_span && r->lane->is_counter) {
		const struct view_node *n = view_reader_node(r, 0, i - 1);

		value = n ? (float)n->last : value;
	}
	for (bool done = false; i < cnt && !done;) {
		const struct view_node *n = view_reader_node(r, 0, i), *whole;
		uint32_t blocks = 1;
		unsigned in_block;

		if (!n || n->start >= t.to)
			break;
		whole = node_in_pixel(&t, i, &blocks);
		if (whole) {
			value = step(&c, whole->start, value, (float)whole->least,
				     (float)whole->most, (float)whole->last);
			i += blocks;
			continue;
		}
		in_block = view_reader_block(r, i++, e);
		done = in_block == 0;
		for (unsigned j = 0; j < in_block && !done; j++) {
			float v = (float)view_event_value(&e[j]);

			done = e[j].start >= t.to;
			if (!done)
				value = step(&c, e[j].start, value, v, v, v);
		}
	}
	hold(&c, VIEW_TILE_PX - 1, value);
}
