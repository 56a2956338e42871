/*
 * walk_table.c - the results of the walk: leaves, one for each cause, process and way to it, and the hops of these ways, each
 * once.
 */
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/events/big_array.h"
#include "exporters/why/walk/walk_parts.h"

static uint64_t hash_cause(uint64_t h, const struct why_cause *c)
{
	return hash_join(hash_join(hash_join(hash_join(h, c->reason), c->place), c->name),
			 c->object);
}

static bool same_cause(const struct why_cause *a, const struct why_cause *b)
{
	return a->reason == b->reason && a->place == b->place && a->name == b->name &&
	       a->object == b->object;
}

static uint64_t hash_leaf(const struct why_leaf *l)
{
	return hash_join(hash_join(hash_cause(1, &l->cause), l->process), l->hop);
}

static uint64_t hash_hop(const struct why_hop *h)
{
	return hash_join(hash_join(hash_cause(2, &h->cause), h->thread), h->parent);
}

/* The leaf that is equal to @key, made if there is none; NULL: no memory. */
static struct why_leaf *leaf_of(struct walk *w, const struct why_leaf *key)
{
	uint64_t hash = hash_leaf(key);
	uint32_t at, i;

	for (i = slots_first(&w->leaf_of, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&w->leaf_of, hash, &at)) {
		struct why_leaf *l = &w->leaves[i];

		if (same_cause(&l->cause, &key->cause) && l->process == key->process &&
		    l->hop == key->hop)
			return l;
	}
	if (!grow(&w->leaves, w->leaves_cnt, &w->leaves_room, sizeof(*key)) ||
	    !slots_add(&w->leaf_of, hash, (uint32_t)w->leaves_cnt))
		return NULL;
	w->leaves[w->leaves_cnt] = *key;
	return &w->leaves[w->leaves_cnt++];
}

static void add_piece(struct walk *w, struct why_leaf *l, int64_t ns)
{
	struct why_piece *p = l->piece ? &w->pieces[l->piece - 1] : NULL;

	if (p && p->span == w->span_no) {
		p->ns += ns;
		return;
	}
	if (!big_grow(&w->pieces, w->pieces_cnt, &w->pieces_room, sizeof(*p)) || !w->pieces) {
		w->is_short = true;
		return;
	}
	w->pieces[w->pieces_cnt++] = (struct why_piece){w->span_no, (uint32_t)(l - w->leaves), ns};
	l->piece = (uint32_t)w->pieces_cnt;
}

struct why_leaf *walk_leaf(struct walk *w, const struct at *at, const struct why_cause *cause,
			   int64_t ns, double sure)
{
	struct why_cause in_range = *cause;
	struct why_leaf key = {.cause = *cause,
			       .process = w->m->threads[at->thread].process,
			       .hop = at->hop,
			       .thread = at->thread,
			       .disk = WHY_NONE};
	struct why_leaf *l;

	if (ns <= 0)
		return NULL;
	/* Time that was not recorded has no place. */
	if (w->range != PLACE_NONE && cause->place == PLACE_NONE && cause->reason != WHY_UNKNOWN) {
		in_range.place = key.cause.place = w->range;
		cause = &in_range;
	}
	if (w->span) {
		w->span(w->span_ctx, cause, ns);
		return NULL;
	}
	if (w->seen)
		w->seen(w->seen_ctx, at->thread, cause, ns);
	l = leaf_of(w, &key);
	if (!l) {
		w->is_short = true;
		return NULL;
	}
	l->sure = (l->sure * (double)l->ns + at->sure * sure * (double)ns) / (double)(l->ns + ns);
	l->ns += ns;
	l->cnt++;
	walk_disk_add(w, &l->disk, &l->disk_ns);
	if (w->keeps_pieces)
		add_piece(w, l, ns);
	return l;
}

uint32_t walk_hop(struct walk *w, const struct at *at, const struct why_cause *cause)
{
	struct why_hop key = {at->hop, at->thread, *cause};
	uint64_t hash = hash_hop(&key);
	uint32_t place, i;

	for (i = slots_first(&w->hop_of, hash, &place); i != SLOTS_NONE;
	     i = slots_next(&w->hop_of, hash, &place)) {
		const struct why_hop *h = &w->hops[i];

		if (same_cause(&h->cause, cause) && h->thread == key.thread &&
		    h->parent == key.parent)
			return i;
	}
	if (w->hops_cnt >= WALK_HOPS ||
	    !grow(&w->hops, w->hops_cnt, &w->hops_room, sizeof(*w->hops)) ||
	    !slots_add(&w->hop_of, hash, (uint32_t)w->hops_cnt))
		return at->hop;
	w->hops[w->hops_cnt] = key;
	return (uint32_t)w->hops_cnt++;
}
