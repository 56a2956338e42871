/* flame.c - weights of stacks into a tree that can be drawn. */
#include "exporters/html/flame.h"

#include <stdlib.h>
#include <string.h>

/* The child of @parent that is called so. STACK_NO_NODE: no memory. */
static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t label)
{
	uint64_t *at = map_at(&f->edges, (uint64_t)parent << 32 | label, true);

	if (at && *at)
		return (uint32_t)*at;
	if (at && f->node_cnt == f->node_room) {
		struct flame_node *more = reallocarray(f->nodes, 2 * f->node_room, sizeof(*more));

		if (!more)
			return STACK_NO_NODE;
		f->nodes = more;
		f->node_room *= 2;
	}
	if (!at)
		return STACK_NO_NODE;
	f->nodes[f->node_cnt] = (struct flame_node){.parent = parent, .label = label};
	*at = f->node_cnt;
	return (uint32_t)f->node_cnt++;
}

static bool add(struct flame *f, const struct stack_entry *e)
{
	const struct stack_costs *w = f->w;
	int64_t value = e->value[f->what];
	uint32_t path[FLAME_DEPTH_MAX], node = 0;
	unsigned cnt = 0, from = 0;

	if (value <= 0)
		return true;
	/* A ring: of a deep stack it keeps the outermost frames. */
	for (uint32_t n = e->node; n; n = w->node[n].parent)
		path[cnt++ % FLAME_DEPTH_MAX] = w->node[n].frame;
	from = cnt > FLAME_DEPTH_MAX ? cnt - FLAME_DEPTH_MAX : 0;
	f->nodes[0].cnt = stack_cost_sum(f->nodes[0].cnt, value);
	node = child_of(f, 0, w->frame_cnt + e->owner);
	for (unsigned i = cnt; node != STACK_NO_NODE; i--) {
		f->nodes[node].cnt = stack_cost_sum(f->nodes[node].cnt, value);
		if (i == from)
			break;
		node = child_of(f, node, path[(i - 1) % FLAME_DEPTH_MAX]);
	}
	if (node == STACK_NO_NODE)
		return false;
	f->nodes[node].self = stack_cost_sum(f->nodes[node].self, value);
	return true;
}

bool flame_build(struct flame *f, const struct stack_costs *w, enum stack_cost what)
{
	*f = (struct flame){.w = w, .what = what, .node_room = 1024, .node_cnt = 1};
	f->label_cnt = w->frame_cnt + w->owner_cnt;
	f->nodes = calloc(f->node_room, sizeof(*f->nodes));
	if (!f->nodes)
		return false;
	for (size_t i = 0; i < w->entry_cnt; i++)
		if (!add(f, &w->entry[i]))
			return false;
	return true;
}

void flame_free(struct flame *f)
{
	map_free(&f->edges);
	free(f->nodes);
	memset(f, 0, sizeof(*f));
}
