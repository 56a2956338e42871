/*
 * cut.c - taking back the end of a lane, of reports that grow: a call is written when it has ended, after others that began
 * later. The extents stay where they are, and are written again.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/index/lane.h"

/* Makes extent @ref, after its first @used bytes, the next to be filled. */
static int fill_again(struct view_store *v, struct view_lane *lane, struct view_fill *f,
		      uint32_t level, view_ref ref, uint32_t used)
{
	uint32_t room = view_class_bytes[VIEW_REF_CLASS(ref)];

	if (!f->data || f->ref != ref) {
		struct view_page *page = view_page_get(v->side, ref, used, lane->id, level);
		uint8_t *data =
			page ? realloc(f->data, f->data && f->room > room ? f->room : room) : NULL;

		if (data) {
			f->data = data;
			memset(data, 0, room);
			memcpy(data, page->data, page->used);
		}
		if (page)
			view_page_put(v->side, page);
		if (!data)
			return -1;
		f->ref = ref;
		f->room = room;
	}
	memset(f->data + used, 0, f->room - used);
	f->used = used;
	f->is_dirty = true;
	view_side_forget(v->side, ref, false);
	return 0;
}

/* Nodes of a level up to the first @cnt. */
static int cut_level(struct view_store *v, struct view_lane *lane, uint32_t level, uint32_t cnt)
{
	struct view_lane_writer *w = lane->w;
	struct view_refs *refs = &w->now.refs[level];
	struct view_fill *f = &w->nodes[level];
	uint32_t at, extent = view_node_extent(level, cnt, &at), kept = extent + (at > 0);

	while (refs->cnt > kept)
		view_side_forget(v->side, refs->ref[--refs->cnt], true);
	if (lane->seen.refs[level].cnt > kept)
		lane->seen.refs[level].cnt = kept;
	w->now.cnt[level] = cnt;
	f->made = kept;
	if (at > 0)
		return fill_again(v, lane, f, level, refs->ref[extent],
				  VIEW_EXTENT_HEAD + at * (uint32_t)sizeof(struct view_node));
	/* The next node begins an extent. */
	f->used = f->room;
	f->is_dirty = false;
	return 0;
}

/* The number of whole nodes of a level. */
static uint32_t nodes_above(uint32_t blocks, uint32_t level)
{
	return (uint32_t)((uint64_t)blocks >> (3 * level));
}

/* The nodes of each level that wait for the one above them. */
static int keep_last(struct view_lane_writer *w, struct view_reader *r, uint32_t block)
{
	for (uint32_t level = 0; level < VIEW_LEVELS && w->last[level]; level++) {
		uint32_t cnt = nodes_above(block, level);

		for (uint32_t i = cnt - cnt % VIEW_FAN; i < cnt; i++) {
			const struct view_node *n = view_reader_node(r, level, i);

			if (!n)
				return -1;
			w->last[level][i % VIEW_FAN] = *n;
		}
	}
	return 0;
}

/* Subtracts the blocks from @block on from the counts; returns the place of the first, and the extents of the others. */
static int take_back(struct view_lane *lane, struct view_reader *r, uint32_t block, uint64_t *first,
		     struct view_refs *others)
{
	struct view_seen *now = &lane->w->now;
	struct view_event e[VIEW_BLOCK];
	view_ref last = 0;

	for (uint32_t i = block; i < now->cnt[0]; i++) {
		const struct view_node *n = view_reader_node(r, 0, i);
		uint64_t where = n ? n->where : 0;
		unsigned cnt = n ? view_reader_block(r, i, e) : 0;

		if (cnt == 0)
			return -1;
		now->events -= cnt;
		for (unsigned k = 0; k < cnt; k++)
			if (!(e[k].flags & VIEW_OPEN))
				now->busy -= e[k].end - e[k].start;
		if (i == block)
			*first = where;
		else if (where >> 16 != last && where >> 16 != *first >> 16) {
			if (!grow(&others->ref, others->cnt, &others->room, sizeof(view_ref)))
				return -1;
			others->ref[others->cnt++] = where >> 16;
		}
		last = where >> 16;
	}
	return 0;
}

int view_lane_cut(struct view_store *v, struct view_lane *lane, uint32_t block)
{
	struct view_lane_writer *w = view_lane_writer_of(lane);
	struct view_reader r = {.v = v};
	uint32_t cnt = w ? w->now.cnt[0] : 0;
	struct view_refs others = {0};
	uint64_t first = 0;
	int rc;

	if (!w || block >= cnt)
		return w ? 0 : -1;
	if (!view_reader_lane(&r, lane->id))
		return -1;
	w->end = INT64_MIN;
	rc = keep_last(w, &r, block);
	if (rc == 0 && block > 0) {
		const struct view_node *n = view_reader_node(&r, 0, block - 1);

		w->end = n ? n->end : INT64_MIN;
		w->now.last = n && !(n->flags & VIEW_OPEN) ? n->end : w->now.last;
		rc = n ? 0 : -1;
	}
	if (rc == 0)
		rc = take_back(lane, &r, block, &first, &others);
	/* Puts back the pages of the reader, which are to be forgotten. */
	view_reader_lane(&r, 0);
	while (others.cnt > 0)
		view_side_forget(v->side, others.ref[--others.cnt], true);
	free(others.ref);
	for (uint32_t level = 0; level < VIEW_LEVELS && rc == 0; level++)
		if (w->now.cnt[level] > nodes_above(block, level))
			rc = cut_level(v, lane, level, nodes_above(block, level));
	if (rc == 0)
		rc = fill_again(v, lane, &w->blocks, VIEW_LEVEL_BLOCKS, first >> 16,
				(uint32_t)(first & 0xFFFF));
	/* A sum cannot be taken back: the stretch has no totals unless the cut is at its start. */
	view_totals_begin(&w->sums);
	w->sums.is_off = block % VIEW_TOTALS_BLOCKS != 0;
	return rc;
}
