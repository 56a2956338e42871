/*
 * lod.h - reading lanes: one event, all events of a span, or the rectangles of a tile.
 *
 * The store's lock is held, shared, from view_reader_begin() to view_reader_end().
 */
#pragma once

#include "exporters/view/index/store.h"

struct view_reader {
	struct view_store *v;
	const struct view_lane *lane;
	struct view_page *nodes[VIEW_LEVELS], *blocks;
	uint32_t extent[VIEW_LEVELS];
	bool no_rows;    /* rows and sources of events are not wanted */
	bool is_damaged; /* of the side file: a requested part is damaged */
};

/* @lane: a number from outside. False: there is no such lane. */
bool view_reader_begin(struct view_reader *r, struct view_store *v, uint32_t lane);
void view_reader_end(struct view_reader *r);
/* Of one of several readers below one lock: all but the lock. */
void view_reader_stop(struct view_reader *r);
/* Goes on with another lane. */
bool view_reader_lane(struct view_reader *r, uint32_t lane);

const struct view_node *view_reader_node(struct view_reader *r, uint32_t level, uint32_t i);
/* Reads the events of a block. Returns their number, 0: damaged. */
unsigned view_reader_block(struct view_reader *r, uint32_t i, struct view_event *e);
/* The same by view_unpack_durations(), for a block that lies wholly in the span and whose events have all ended. */
unsigned view_reader_durations(struct view_reader *r, uint32_t i, uint64_t *dur, uint32_t *name);
/* The first block that ends at @t or later; their number when there is none. */
uint32_t view_reader_find(struct view_reader *r, int64_t t);

/* Does an event have a part of [@from, @to)? An event without duration does when it starts in it. */
static inline bool view_overlaps(const struct view_event *e, int64_t from, int64_t to)
{
	return e->start < to && (e->end > from || e->start >= from);
}

/* Events that overlap [@from, @to), in order; @each returns 0 to go on. */
int view_reader_each(struct view_reader *r, int64_t from, int64_t to,
		     int (*each)(void *ctx, const struct view_event *e), void *ctx);

/* ---- tiles: 256 pixels of 2^k ns ---- */

#define VIEW_TILE_PX  256
#define VIEW_TILE_MAX (2 * VIEW_TILE_PX + 2)
#define VIEW_K_MAX    54

/* On the wire; web/build.sh makes flags.ts of the lines below. */
enum view_rect_flag {
	RECT_EXACT = 1,
	RECT_OPEN = 2,
	RECT_FLOW = 4,
	RECT_SEVERAL = 16,
	RECT_BEFORE = 32,
	RECT_AFTER = 64,
	RECT_INSTANT = 128,
};

struct view_rect {
	int64_t start, end; /* not cut to the tile */
	int64_t covered;
	uint64_t cnt;
	uint32_t name;
	uint8_t flags;
};

/* Writes the rectangles to @rects, of VIEW_TILE_MAX. Returns their number. */
unsigned view_tile(struct view_reader *r, uint32_t k, int64_t index, struct view_rect *rects);
/* Of a counter: each array has VIEW_TILE_PX values. */
void view_tile_counter(struct view_reader *r, uint32_t k, int64_t index, float *least, float *most,
		       float *last);
/* False: no time is there. */
bool view_tile_span(uint32_t k, int64_t index, int64_t *from, int64_t *to);
