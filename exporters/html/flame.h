/* flame.h - call stacks of samples, added up into a tree. */
#ifndef SL_HTML_FLAME_H
#define SL_HTML_FLAME_H

#include "exporters/html/scan.h"

#define FLAME_DEPTH_MAX 256 /* frames of a stack; the innermost of deeper ones are left out */

/* A function, a module (for addresses without a symbol), a process: what a frame is called. */
enum frame_kind {
	FRAME_SYMBOL,
	FRAME_MODULE,
	FRAME_PROCESS
};
#define FRAME_KEY(id, kind) ((int64_t)((uint64_t)(id) << 2 | (kind)))
#define FRAME_ID(key)       ((key) >> 2)
#define FRAME_KIND(key)     ((enum frame_kind)((key)&3))

struct flame_node {
	uint32_t parent; /* 0: the root, which is node 0 */
	uint32_t label;  /* number in labels */
	uint32_t cnt;    /* samples that went through it */
	uint32_t self;   /* and ended in it */
};

struct flame {
	struct id_map labels; /* FRAME_KEY()s */
	bool *kernel;         /* by label: ran in the kernel */
	struct id_map edges;  /* parent and label; its number + 1 is the node */
	struct flame_node *nodes;
	size_t node_cnt, node_room, kernel_room;
};

/* Reads all samples. 0, or -1 after one sentence in s->why. */
int flame_read(struct flame *f, struct scan *s);
void flame_free(struct flame *f);

#endif
