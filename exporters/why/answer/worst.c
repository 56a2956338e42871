/* worst.c - of each culprit the longest stretch of time that it takes at once: where to look first. */
#include <stdlib.h>
#include <string.h>

#include "exporters/why/answer/pieces.h"
#include "exporters/why/answer/why.h"

static void cover(struct why *y, struct why_pieces *p)
{
	for (size_t i = 0; i < y->time.spans_cnt; i++) {
		const struct why_span *s = &y->time.spans[i];

		if (y->gpu)
			why_pieces_cover_gpu(p, &y->walk, y->gpu, s->start, s->end);
		else
			why_pieces_cover(p, &y->walk, y->focus, s->start, s->end);
	}
}

int why_find_worst(struct why *y)
{
	struct why_pieces p = {0};
	size_t leaves = y->walk.leaves_cnt;
	struct why_leaf *kept;
	bool keeps_pieces = y->walk.keeps_pieces;

	if (!y->culprits_cnt)
		return SQLITE_OK;
	/* The same walk again: its leaves are counted once. */
	kept = malloc((leaves + 1) * sizeof(*kept));
	if (!kept)
		return SQLITE_NOMEM;
	memcpy(kept, y->walk.leaves, leaves * sizeof(*kept));
	y->walk.keeps_pieces = false;
	cover(y, &p);
	y->walk.keeps_pieces = keeps_pieces;
	memcpy(y->walk.leaves, kept, leaves * sizeof(*kept));
	free(kept);
	for (size_t i = 0; i < y->culprits_cnt; i++) {
		struct why_culprit *c = &y->culprits[i];
		const struct why_piece_kind *k = why_pieces_longest(&p, &c->part.cause);

		c->worst_thread = k ? k->thread : c->part.thread;
		c->worst_from = k ? k->start : 0;
		c->worst_to = k ? k->end : 0;
	}
	why_pieces_free(&p);
	return walk_end(&y->walk);
}
