/* tiles.c - /v1/tiles and /v1/counters: rectangles and curves to draw, as columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SL_HAVE_ZLIB
#include <zlib.h>
#endif

#include "exporters/view/answers/answer.h"
#include "exporters/view/answers/wire.h"

#define TILES_MAX 4096

struct wanted { /* of the request: a tile and @more that follow it */
	uint32_t lane;
	uint8_t k, more, unused[2];
	int64_t index;
};

/* Each tile of a request, in its order. */
struct tour {
	const uint8_t *at, *end;
	struct wanted w; /* w.more: the number of tiles still to come */
	bool is_open;
	uint32_t cnt;
};

static bool next_tile(struct tour *t)
{
	if (t->is_open && t->w.more > 0) {
		t->w.more--;
		/* Past the last: no lane reaches there. */
		t->w.index = t->w.index < INT64_MAX ? t->w.index + 1 : INT64_MAX;
		return true;
	}
	if (t->at == t->end)
		return false;
	memcpy(&t->w, t->at, sizeof(t->w));
	t->at += sizeof(t->w);
	t->is_open = true;
	return true;
}

/* False after a refusal. */
static bool begin_tour(struct view_request *q, struct view_reply *a, struct tour *t)
{
	*t = (struct tour){.at = q->body, .end = q->body + q->len};
	for (size_t i = 0; i < q->len / sizeof(struct wanted) && t->cnt <= TILES_MAX; i++)
		t->cnt += 1u + q->body[i * sizeof(struct wanted) + offsetof(struct wanted, more)];
	if (q->len > 0 && q->len % sizeof(struct wanted) == 0 && t->cnt <= TILES_MAX)
		return true;
	view_refuse(a, 400, "the body must be records of 16 bytes, of 1 to 4096 tiles");
	return false;
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

static bool has_lane(struct view_reader *r, uint32_t lane)
{
	return (r->lane && r->lane->id == lane) || view_reader_lane(r, lane);
}

/* @most: rectangles in the answer; further tiles are left out. */
static void fill(struct view_columns *c, struct tour *t, struct view_reader *r, int64_t most)
{
	struct view_rect rects[VIEW_TILE_MAX];
	int64_t from, to;

	for (uint32_t i = 0; next_tile(t); i++) {
		if (view_columns_rects(c) >= most)
			view_columns_leave_out(c, i);
		else if (view_tile_span(t->w.k, t->w.index, &from, &to) && has_lane(r, t->w.lane))
			view_columns_add(c, i, rects, view_tile(r, t->w.k, t->w.index, rects), from,
					 to, t->w.k, r->v->name_cnt);
	}
}

void view_answer_tiles(struct view_request *q, struct view_reply *a)
{
	struct view_reader r = {.v = q->store};
	struct view_columns *c;
	struct tour tour;
	int64_t most;

	if (!begin_tour(q, a, &tour))
		return;
	if (!view_param_int(q, "most", &most))
		most = INT64_MAX;
	c = view_columns_new(tour.cnt);
	a->type = "application/octet-stream";
	pthread_rwlock_rdlock(&q->store->lock);
	if (c) {
		fill(c, &tour, &r, most);
		view_columns_put(c, q->store, &a->body);
	} else
		a->body.failed = true;
	view_reader_end(&r);
	view_columns_free(c);
	if (r.is_damaged)
		view_refuse(a, 503, "the index of the report was damaged: it is made anew");
	else if (!a->body.failed)
		deflate_reply(q, a);
}

void view_answer_counters(struct view_request *q, struct view_reply *a)
{
	struct view_store *v = q->store;
	struct view_reader r = {.v = v};
	struct view_curves *c;
	struct tour t;

	if (!begin_tour(q, a, &t))
		return;
	c = view_curves_new(t.cnt);
	a->type = "application/octet-stream";
	pthread_rwlock_rdlock(&v->lock);
	while (c && next_tile(&t)) {
		float curve[3][VIEW_TILE_PX];

		for (int k = 0; k < VIEW_TILE_PX; k++)
			curve[0][k] = curve[1][k] = curve[2][k] = NAN;
		if (has_lane(&r, t.w.lane))
			view_tile_counter(&r, t.w.k, t.w.index, curve[0], curve[1], curve[2]);
		view_curves_add(c, curve[0], curve[1], curve[2]);
	}
	if (c)
		view_curves_put(c, v->generation, &a->body);
	else
		a->body.failed = true;
	view_reader_end(&r);
	view_curves_free(c);
	if (!a->body.failed)
		deflate_reply(q, a);
}
