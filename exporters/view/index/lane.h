/* lane.h - a lane while it is written: lane.c, cut.c. */
#pragma once

#include "exporters/view/index/totals.h"

/* An extent that is being filled. */
struct view_fill {
	uint8_t *data;
	view_ref ref;
	uint32_t used, room;
	uint32_t made; /* extents before it */
	bool is_dirty;
};

struct view_lane_writer {
	int64_t end; /* of the last event */
	unsigned open_cnt;
	struct view_event open[VIEW_BLOCK]; /* counted in now with their block */
	struct view_fill blocks, totals, nodes[VIEW_LEVELS];
	struct view_node *last[VIEW_LEVELS]; /* the last eight of each level */
	struct view_totals sums;             /* of the stretch that is being written */
	struct view_seen now;                /* becomes seen with the next publication */
};

struct view_lane_writer *view_lane_writer_of(struct view_lane *lane);
/*
 * Takes back the blocks from @block on; the store's lock is held, alone, and all blocks are published. The caller puts the events
 * of these blocks again. 0, -1: no memory, or damaged.
 */
int view_lane_cut(struct view_store *v, struct view_lane *lane, uint32_t block);
/* Writes all events so far; the store's lock is held, as this lane's readers see them from then on. 0, -1. */
int view_lane_publish(struct view_store *v, struct view_lane *lane);
