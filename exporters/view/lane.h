/* lane.h - a lane while it is written: lane.c, cut.c. */
#pragma once

#include "exporters/view/totals.h"

/* An extent that is being filled. */
struct view_fill {
	uint8_t *data;
	view_ref ref;
	uint32_t used, room;
	uint32_t made; /* extents before it */
	bool is_dirty;
};

struct view_lane_writer {
	struct view_event open[VIEW_BLOCK];
	unsigned open_cnt;
	struct view_fill blocks, totals, nodes[VIEW_LEVELS];
	struct view_node *last[VIEW_LEVELS]; /* the last eight of each level */
	struct view_totals sums;             /* of the stretch that is being written */
	struct view_seen now;                /* what becomes seen next */
	int64_t end;                         /* of the last event */
};

struct view_lane_writer *view_lane_writer_of(struct view_lane *lane);
/* Writes what is there; the store's lock is held, for this lane's readers see it then. 0, -1. */
int view_lane_publish(struct view_store *v, struct view_lane *lane);
