/* tiles.c - /v1/tiles and /v1/counters: what is drawn, as columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SL_HAVE_ZLIB
#include <zlib.h>
#endif

#include "collector/base/grow.h"
#include "exporters/view/lod.h"
#include "exporters/view/route.h"

#define TILES_MAX     4096
#define TILE_MAGIC    0x54564C53u /* "SLVT" */
#define COUNTER_MAGIC 0x43564C53u /* "SLVC" */
#define NO_NAME       UINT16_MAX

struct wanted { /* of the request */
	uint32_t lane;
	uint8_t k, unused[3];
	int64_t index;
};

struct head {
	uint32_t magic, version, generation, tiles, rects, names, text_bytes, unused;
};

/* ---- columns ---- */

struct columns {
	uint32_t *per_tile;
	uint16_t *x, *w, *name, *cnt;
	uint8_t *occupied, *flags;
	uint32_t rects, room;
	uint32_t *names; /* of the reply: numbers of the store */
	uint32_t name_cnt, name_room;
	struct tl_map name_at;
	bool failed;
};

static void columns_free(struct columns *c)
{
	free(c->per_tile);
	free(c->x);
	free(c->w);
	free(c->name);
	free(c->cnt);
	free(c->occupied);
	free(c->flags);
	free(c->names);
	tl_map_free(&c->name_at);
}

static bool columns_grow(struct columns *c)
{
	void *columns[] = {&c->x, &c->w, &c->name, &c->cnt, &c->occupied, &c->flags};
	uint32_t room = c->room;

	for (int i = 0; i < 6; i++) {
		room = c->room;
		if (!grow(columns[i], c->rects, &room, i < 4 ? sizeof(uint16_t) : sizeof(uint8_t)))
			return false;
	}
	c->room = room;
	return true;
}

static uint16_t name_at(struct columns *c, uint32_t name)
{
	uint64_t *slot = tl_map_at(&c->name_at, name, true);

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

/* Exact below 4096, then 1024 steps for each power of two. */
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

/* @names: how many the store has; a damaged file may name others. */
static void add_rect(struct columns *c, const struct view_rect *r, int64_t from, int64_t to,
		     uint32_t k, uint32_t names)
{
	int64_t x, end, len = r->end - r->start;
	double share = len > 0 ? (double)r->covered / (double)len : 1;

	if (c->rects == c->room && !columns_grow(c)) {
		c->failed = true;
		return;
	}
	x = place_of(r->start, from, to, k);
	end = place_of(r->end, from, to, k);
	x = x > 16 * VIEW_TILE_PX - 1 ? 16 * VIEW_TILE_PX - 1 : x;
	c->x[c->rects] = (uint16_t)x;
	c->w[c->rects] = (uint16_t)(end > x ? end - x : 0);
	c->name[c->rects] = name_at(c, r->name < names ? r->name : 0);
	c->cnt[c->rects] = packed_count(r->cnt);
	c->occupied[c->rects] = (uint8_t)(share >= 1 ? 255 : share * 255);
	c->flags[c->rects] = r->flags;
	c->rects++;
}

/* ---- the reply ---- */

static void add_padded(struct view_buf *b, const void *from, size_t len)
{
	view_buf_add(b, from, len);
	view_buf_pad(b, 4);
}

static void put_names(struct view_buf *b, struct view_store *v, struct columns *c, struct head *h)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->name_cnt; i++)
		view_buf_add(b, &c->names[i], 4);
	for (uint32_t i = 0; i < c->name_cnt; i++)
		view_buf_add(b, &v->names[c->names[i]].color, 4);
	for (uint32_t i = 0; i <= c->name_cnt; i++) {
		view_buf_add(b, &at, 4);
		if (i < c->name_cnt)
			at += v->names[c->names[i]].len;
	}
	for (uint32_t i = 0; i < c->name_cnt; i++)
		view_buf_add(b, v->names[c->names[i]].text, v->names[c->names[i]].len);
	h->text_bytes = at;
	view_buf_pad(b, 4);
}

static void put_columns(struct view_buf *b, struct view_store *v, struct columns *c, uint32_t tiles)
{
	struct head h = {TILE_MAGIC, 1, v->generation, tiles, c->rects, c->name_cnt, 0, 0};
	size_t n = c->rects;

	view_buf_add(b, &h, sizeof(h));
	add_padded(b, c->per_tile, tiles * sizeof(uint32_t));
	add_padded(b, c->x, n * 2);
	add_padded(b, c->w, n * 2);
	add_padded(b, c->name, n * 2);
	add_padded(b, c->cnt, n * 2);
	add_padded(b, c->occupied, n);
	add_padded(b, c->flags, n);
	put_names(b, v, c, &h);
	if (!b->failed)
		memcpy(b->data, &h, sizeof(h));
}

/* What was asked for, whole records; NULL after a refusal. */
static const struct wanted *wanted_of(struct view_request *q, struct view_reply *a, uint32_t *cnt)
{
	if (q->len == 0 || q->len % sizeof(struct wanted) ||
	    q->len / sizeof(struct wanted) > TILES_MAX) {
		view_refuse(a, 400, "the body must be 1 to 4096 records of 16 bytes");
		return NULL;
	}
	*cnt = (uint32_t)(q->len / sizeof(struct wanted));
	return (const struct wanted *)q->body;
}

static void deflate_reply(struct view_request *q, struct view_reply *a)
{
#ifdef SL_HAVE_ZLIB
	int64_t z = 0;
	uLongf len = compressBound(a->body.len);
	char *packed = view_param_int(q, "z", &z) && z == 1 ? malloc(len) : NULL;

	if (packed &&
	    compress2((Bytef *)packed, &len, (const Bytef *)a->body.data, a->body.len, 1) == Z_OK) {
		free(a->body.data);
		a->body.data = packed;
		a->body.len = len;
		a->body.room = len;
		a->is_deflated = true;
		return;
	}
	free(packed);
#else
	(void)q, (void)a;
#endif
}

void view_answer_tiles(struct view_request *q, struct view_reply *a)
{
	struct view_store *v = q->store;
	struct columns c = {0};
	struct view_rect rects[VIEW_TILE_MAX];
	struct view_reader r = {.v = v};
	struct wanted want;
	uint32_t cnt;
	const struct wanted *list = wanted_of(q, a, &cnt);

	if (!list)
		return;
	c.per_tile = calloc(cnt, sizeof(*c.per_tile));
	a->type = "application/octet-stream";
	pthread_rwlock_rdlock(&v->lock);
	for (uint32_t i = 0; c.per_tile && i < cnt && !c.failed; i++) {
		int64_t from, to;
		unsigned n;

		memcpy(&want, list + i, sizeof(want));
		if (!view_tile_span(want.k, want.index, &from, &to) ||
		    ((!r.lane || r.lane->id != want.lane) && !view_reader_lane(&r, want.lane)))
			continue;
		n = view_tile(&r, want.k, want.index, rects);
		for (unsigned k = 0; k < n; k++)
			add_rect(&c, &rects[k], from, to, want.k, v->name_cnt);
		c.per_tile[i] = n;
	}
	if (c.per_tile && !c.failed)
		put_columns(&a->body, v, &c, cnt);
	else
		a->body.failed = true;
	view_reader_end(&r);
	columns_free(&c);
	if (r.is_damaged)
		view_refuse(a, 503, "the index of the report was damaged: it is made anew");
	else if (!a->body.failed)
		deflate_reply(q, a);
}

void view_answer_counters(struct view_request *q, struct view_reply *a)
{
	struct view_store *v = q->store;
	struct view_reader r = {.v = v};
	struct wanted want;
	uint32_t cnt;
	const struct wanted *list = wanted_of(q, a, &cnt);
	struct head h = {COUNTER_MAGIC, 1, v->generation, 0, 0, 0, 0, 0};

	if (!list)
		return;
	h.tiles = cnt;
	a->type = "application/octet-stream";
	view_buf_add(&a->body, &h, sizeof(h));
	pthread_rwlock_rdlock(&v->lock);
	for (uint32_t i = 0; i < cnt; i++) {
		float curve[3][VIEW_TILE_PX];

		memcpy(&want, list + i, sizeof(want));
		for (int k = 0; k < VIEW_TILE_PX; k++)
			curve[0][k] = curve[1][k] = curve[2][k] = NAN;
		if (((r.lane && r.lane->id == want.lane) || view_reader_lane(&r, want.lane)))
			view_tile_counter(&r, want.k, want.index, curve[0], curve[1], curve[2]);
		view_buf_add(&a->body, curve, sizeof(curve));
	}
	view_reader_end(&r);
	if (!a->body.failed)
		deflate_reply(q, a);
}
