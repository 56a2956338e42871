/* lod.c - nodes and blocks out of extents, events out of blocks. */
#include <string.h>

#include "exporters/view/index/lod.h"

bool view_reader_begin(struct view_reader *r, struct view_store *v, uint32_t lane)
{
	memset(r, 0, sizeof(*r));
	r->v = v;
	pthread_rwlock_rdlock(&v->lock);
	if (view_reader_lane(r, lane))
		return true;
	pthread_rwlock_unlock(&v->lock);
	return false;
}

static void put_pages(struct view_reader *r)
{
	for (int level = 0; level < VIEW_LEVELS; level++) {
		if (r->nodes[level])
			view_page_put(r->v->side, r->nodes[level]);
		r->nodes[level] = NULL;
	}
	if (r->blocks)
		view_page_put(r->v->side, r->blocks);
	r->blocks = NULL;
}

bool view_reader_lane(struct view_reader *r, uint32_t lane)
{
	put_pages(r);
	r->lane = NULL;
	if (lane < 1 || lane > r->v->lane_cnt || !r->v->side)
		return false;
	r->lane = r->v->lanes[lane - 1];
	return true;
}

void view_reader_stop(struct view_reader *r)
{
	put_pages(r);
	if (r->is_damaged)
		__atomic_store_n(&r->v->is_damaged, true, __ATOMIC_RELAXED);
}

void view_reader_end(struct view_reader *r)
{
	view_reader_stop(r);
	pthread_rwlock_unlock(&r->v->lock);
}

const struct view_node *view_reader_node(struct view_reader *r, uint32_t level, uint32_t i)
{
	const struct view_seen *seen = &r->lane->seen;
	uint32_t at, extent = view_node_extent(level, i, &at);
	uint32_t used = VIEW_EXTENT_HEAD + (at + 1) * (uint32_t)sizeof(struct view_node);
	struct view_page *page = r->nodes[level];

	if (!page || r->extent[level] != extent || page->used < used) {
		if (page)
			view_page_put(r->v->side, page);
		page = r->nodes[level] =
			extent < seen->refs[level].cnt
				? view_page_get(r->v->side, seen->refs[level].ref[extent], used,
						r->lane->id, level)
				: NULL;
		r->extent[level] = extent;
	}
	if (!page) {
		r->is_damaged = true;
		return NULL;
	}
	return (const struct view_node *)(page->data + VIEW_EXTENT_HEAD) + at;
}

/* Where a block lies in r->blocks; 0: damaged. */
static uint32_t block_at(struct view_reader *r, uint32_t i)
{
	const struct view_node *n = view_reader_node(r, 0, i);
	uint32_t at = n ? (uint32_t)(n->where & 0xFFFF) : 0;
	view_ref ref = n ? n->where >> 16 : 0;

	if (n && (!r->blocks || r->blocks->ref != ref || r->blocks->used <= at)) {
		if (r->blocks)
			view_page_put(r->v->side, r->blocks);
		r->blocks = view_page_get(r->v->side, ref, at + 1, r->lane->id, VIEW_LEVEL_BLOCKS);
	}
	return n && r->blocks && at >= VIEW_EXTENT_HEAD ? at : 0;
}

unsigned view_reader_durations(struct view_reader *r, uint32_t i, uint64_t *dur, uint32_t *name)
{
	uint32_t at = block_at(r, i), most = 0;
	unsigned cnt = 0;

	if (at)
		cnt = view_unpack_durations(r->blocks->data + at, r->blocks->used - at, dur, name);
	for (unsigned k = 0; k < cnt; k++)
		most = name[k] > most ? name[k] : most;
	if (cnt == 0 || most >= r->v->name_cnt) {
		r->is_damaged = true;
		return 0;
	}
	return cnt;
}

unsigned view_reader_block(struct view_reader *r, uint32_t i, struct view_event *e)
{
	uint32_t at = block_at(r, i);
	unsigned cnt = 0;

	if (at)
		cnt = view_unpack(r->blocks->data + at, r->blocks->used - at, e, !r->no_rows);
	r->is_damaged |= cnt == 0;
	for (unsigned k = 0; k < cnt; k++) {
		r->is_damaged |= e[k].name >= r->v->name_cnt;
		e[k].name = e[k].name < r->v->name_cnt ? e[k].name : 0;
	}
	for (unsigned k = 0; k < cnt && !r->no_rows; k++) {
		r->is_damaged |= e[k].source >= r->v->source_cnt;
		e[k].source = e[k].source < r->v->source_cnt ? e[k].source : 0;
	}
	return cnt;
}

uint32_t view_reader_find(struct view_reader *r, int64_t t)
{
	uint32_t low = 0, high = r->lane->seen.cnt[0];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct view_node *n = view_reader_node(r, 0, mid);

		if (!n)
			return r->lane->seen.cnt[0];
		if (n->end < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int view_reader_each(struct view_reader *r, int64_t from, int64_t to,
		     int (*each)(void *ctx, const struct view_event *e), void *ctx)
{
	struct view_event e[VIEW_BLOCK];
	uint32_t cnt = r->lane->seen.cnt[0];
	int rc = 0;

	for (uint32_t i = view_reader_find(r, from); i < cnt && rc == 0; i++) {
		unsigned n = view_reader_block(r, i, e);

		if (n == 0 || e[0].start >= to)
			return 0;
		for (unsigned k = 0; k < n && rc == 0; k++)
			if (view_overlaps(&e[k], from, to))
				rc = each(ctx, &e[k]);
	}
	return rc;
}
