/* select_self.c - self time: of each event the time in which none is nested in it, in the same row. */
#include "exporters/view/answers/select_internal.h"

#define BLOCKS_MAX (1u << 15) /* of nested events: 4 million */

/* The events of a lane in order of time, from a block on. */
struct walk {
	struct view_reader r;
	struct view_event e[VIEW_BLOCK];
	uint32_t block;
	unsigned cnt, at;
};

static bool is_nested(enum view_kind kind)
{
	return kind == VIEW_NVTX || kind == VIEW_CUDA || kind == VIEW_LIBRARY || kind == VIEW_OSRT;
}

/* NULL: there are no more. */
static const struct view_event *next_of(struct walk *w)
{
	while (w->at == w->cnt) {
		if (w->block >= w->r.lane->seen.cnt[0])
			return NULL;
		w->cnt = view_reader_block(&w->r, w->block++, w->e);
		w->at = 0;
		if (w->cnt == 0)
			return NULL;
	}
	return &w->e[w->at++];
}

static bool begin(struct walk *w, struct view_store *v, uint32_t lane, int64_t from)
{
	w->r = (struct view_reader){.v = v, .no_rows = true};
	w->cnt = w->at = 0;
	if (!view_reader_lane(&w->r, lane))
		return false;
	w->block = view_reader_find(&w->r, from);
	return true;
}

/* The part of both events in the span. */
static int64_t common(const struct select *s, const struct view_event *a,
		      const struct view_event *b)
{
	int64_t start = a->start > b->start ? a->start : b->start;
	int64_t end = a->end < b->end ? a->end : b->end;

	start = start > s->from ? start : s->from;
	end = end < s->to ? end : s->to;
	return end > start ? end - start : 0;
}

/* Events of @inner lie one level below those of @outer. */
static void merge(struct select *s, const struct view_row *row, struct walk *outer,
		  struct walk *inner)
{
	const struct view_event *o = next_of(outer), *i;

	for (i = next_of(inner); i && i->start < s->to && !s->failed; i = next_of(inner)) {
		struct group *g;
		int64_t ns;

		while (o && o->end <= i->start)
			o = next_of(outer);
		if (!o)
			return;
		ns = common(s, o, i);
		if (ns <= 0)
			continue;
		g = view_group_of(s, row, o->name);
		if (!g)
			s->failed = true;
		else if (__builtin_add_overflow(g->inner, ns, &g->inner))
			g->inner = INT64_MAX;
	}
}

static void add_level(struct select *s, const struct view_row *row, uint32_t out, uint32_t in)
{
	struct walk outer = {.r.v = s->v}, inner = {.r.v = s->v};

	if (begin(&outer, s->v, out, s->from) && begin(&inner, s->v, in, s->from))
		merge(s, row, &outer, &inner);
	view_reader_stop(&outer.r);
	view_reader_stop(&inner.r);
}

static bool is_asked_for(const struct view_span *span, uint32_t lane)
{
	for (uint32_t i = 0; i < span->lane_cnt; i++)
		if (span->lanes[i] == lane)
			return true;
	return span->lane_cnt == 0;
}

static uint64_t blocks_of(struct select *s, const struct view_row *row)
{
	struct view_reader r = {.v = s->v, .no_rows = true};
	uint64_t cnt = 0;

	for (uint32_t k = 1; k < row->lane_cnt; k++)
		if (view_reader_lane(&r, row->lanes[k]))
			cnt += view_reader_find(&r, s->to) - view_reader_find(&r, s->from) + 1;
	view_reader_stop(&r);
	return cnt;
}

void view_add_inner(struct select *s, const struct view_span *span)
{
	uint64_t blocks = 0;

	pthread_rwlock_rdlock(&s->v->lock);
	for (uint32_t i = 0; i < s->v->row_cnt; i++)
		if (is_nested(s->v->rows[i]->kind))
			blocks += blocks_of(s, s->v->rows[i]);
	s->has_inner = blocks <= BLOCKS_MAX && !s->by_totals;
	for (uint32_t i = 0; i < s->v->row_cnt && s->has_inner; i++) {
		const struct view_row *row = s->v->rows[i];

		for (uint32_t k = 0; is_nested(row->kind) && k + 1 < row->lane_cnt && !s->failed;
		     k++)
			if (is_asked_for(span, row->lanes[k]))
				add_level(s, row, row->lanes[k], row->lanes[k + 1]);
	}
	pthread_rwlock_unlock(&s->v->lock);
}
