/*
 * wire.h - tiles and curves as bytes. The link may be slow: columns hold differences, and nothing that follows from the rest.
 * Columns of 16 and 32 bits lie byte by byte (first the lowest bytes of all), which deflates best.
 *
 * Tiles: a head; 16 bits for each tile: its rectangles, VIEW_LEFT_OUT where there was no room for it. Then of all rectangles:
 *   16 gap     from the end of the one before in its tile (of the first: from the tile's edge) to its beginning, in 1/16 pixel, modulo 2^16
 *   16 len     in 1/16 pixel
 *   16 name    place in the names of this reply; 65535: none
 *    8 flags   enum view_rect_flag
 *   16 count   \ only of rectangles without RECT_EXACT: the others are one event each, and filled by it. count: exact below 4096,
 *    8 filled  / then 1024 steps for each power of two; filled: in 255ths
 * padded to 4 bytes; of all names 32 number, 32 color, 32 offset (one more), not byte by byte, and the texts, padded to 4.
 *
 * Curves: a head; for each pixel 8 bits, enum view_px; for each PX_STEP 32 bits, for each PX_ALL 3 times 32: least, most, last.
 */
#pragma once

#include "exporters/view/answers/js.h"
#include "exporters/view/index/lod.h"

#define VIEW_LEFT_OUT UINT16_MAX

/* On the wire; web/build.sh makes flags.ts of the lines below. */
enum view_px {
	PX_HOLD, /* least, most and last are the last value of the pixel before */
	PX_STEP, /* a last value; with the value before, if any, it also makes the least and the most */
	PX_ALL,
};

struct view_columns;

/* NULL: no memory. @tiles: the number of tiles to be added. */
struct view_columns *view_columns_new(uint32_t tiles);
void view_columns_free(struct view_columns *c);
uint32_t view_columns_rects(const struct view_columns *c);
/* The rectangles of tile @i. @names: the number of names in the store; a damaged file may have larger numbers. */
void view_columns_add(struct view_columns *c, uint32_t i, const struct view_rect *r, unsigned cnt,
		      int64_t from, int64_t to, uint32_t k, uint32_t names);
void view_columns_leave_out(struct view_columns *c, uint32_t i);
void view_columns_put(const struct view_columns *c, struct view_store *v, struct writer *b);

struct view_curves;

struct view_curves *view_curves_new(uint32_t tiles);
void view_curves_free(struct view_curves *c);
/* Each array has VIEW_TILE_PX values. */
void view_curves_add(struct view_curves *c, const float *least, const float *most,
		     const float *last);
void view_curves_put(const struct view_curves *c, uint32_t generation, struct writer *b);
