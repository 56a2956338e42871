/* flame.h - the costs of stacks, added up into a tree of frames below their processes. */
#pragma once

#include "collector/base/map.h"
#include "exporters/stacks/stack_costs.h"

#define FLAME_DEPTH_MAX 256 /* frames of a stack; the innermost of deeper ones are left out */

struct flame_node {
	uint32_t parent; /* 0: the root, which is node 0 */
	uint32_t label;  /* frame of w; after these its owners */
	int64_t cnt;     /* cost of the stacks that pass the node */
	int64_t self;    /* cost of the stacks that end in it */
};

struct flame {
	const struct stack_costs *w;
	enum stack_cost what;
	struct map edges; /* parent and label to node */
	struct flame_node *nodes;
	size_t node_cnt, node_room;
	uint32_t label_cnt;
};

static inline bool flame_is_process(const struct flame *f, uint32_t label)
{
	return label >= f->w->frame_cnt;
}

/* The tree of one weight. False: no memory. */
bool flame_build(struct flame *f, const struct stack_costs *w, enum stack_cost what);
void flame_free(struct flame *f);
