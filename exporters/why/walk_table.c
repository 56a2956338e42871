/*
 * walk_table.c - what the walk finds: leaves, one for each cause, process and way to it, and the hops of those ways, each once.
 */
#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/why/walk_internal.h"

static size_t mix(size_t h, uint32_t value)
{
	h = (h ^ value) * 0x9E3779B97F4A7C15u;
	return h ^ h >> 29;
}

static size_t hash_cause(size_t h, const struct why_cause *c)
{
	return mix(mix(mix(mix(h, c->reason), c->place), c->name), c->object);
}

static bool same_cause(const struct why_cause *a, const struct why_cause *b)
{
	return a->reason == b->reason && a->place == b->place && a->name == b->name &&
	       a->object == b->object;
}

static size_t hash_leaf(const struct why_leaf *l)
{
	return mix(mix(hash_cause(1, &l->cause), l->process), l->hop);
}

static size_t hash_hop(const struct why_hop *h)
{
	return mix(mix(hash_cause(2, &h->cause), h->thread), h->parent);
}

static bool room_for_leaf(struct walk *w)
{
	size_t want = w->leaf_slot_cnt ? 2 * w->leaf_slot_cnt : 1024;
	uint32_t *slots;

	if (2 * w->leaves_cnt < w->leaf_slot_cnt)
		return true;
	slots = calloc(want, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < w->leaves_cnt; i++) {
		size_t s = hash_leaf(&w->leaves[i]) & (want - 1);

		while (slots[s])
			s = (s + 1) & (want - 1);
		slots[s] = i + 1;
	}
	free(w->leaf_slots);
	w->leaf_slots = slots;
	w->leaf_slot_cnt = want;
	return true;
}

static void add_piece(struct walk *w, struct why_leaf *l, int64_t ns)
{
	struct why_piece *p = l->piece ? &w->pieces[l->piece - 1] : NULL;

	if (p && p->span == w->span_no) {
		p->ns += ns;
		return;
	}
	if (!grow(&w->pieces, w->pieces_cnt, &w->pieces_room, sizeof(*p)) || !w->pieces) {
		w->is_short = true;
		return;
	}
	w->pieces[w->pieces_cnt++] = (struct why_piece){w->span_no, (uint32_t)(l - w->leaves), ns};
	l->piece = (uint32_t)w->pieces_cnt;
}

struct why_leaf *walk_leaf(struct walk *w, const struct at *at, const struct why_cause *cause,
			   int64_t ns, double sure)
{
	struct why_leaf key = {.cause = *cause,
			       .process = w->m->threads[at->thread].process,
			       .hop = at->hop,
			       .thread = at->thread,
			       .disk = WHY_NONE};
	struct why_leaf *l;
	size_t s;

	if (ns <= 0)
		return NULL;
	if (w->span) {
		w->span(w->span_ctx, cause, ns);
		return NULL;
	}
	if (w->seen)
		w->seen(w->seen_ctx, at->thread, cause, ns);
	if (!room_for_leaf(w)) {
		w->is_short = true;
		return NULL;
	}
	for (s = hash_leaf(&key) & (w->leaf_slot_cnt - 1); w->leaf_slots[s];
	     s = (s + 1) & (w->leaf_slot_cnt - 1)) {
		l = &w->leaves[w->leaf_slots[s] - 1];
		if (same_cause(&l->cause, cause) && l->process == key.process && l->hop == key.hop)
			break;
	}
	if (!w->leaf_slots[s]) {
		if (!grow(&w->leaves, w->leaves_cnt, &w->leaves_room, sizeof(key))) {
			w->is_short = true;
			return NULL;
		}
		w->leaves[w->leaves_cnt++] = key;
		w->leaf_slots[s] = (uint32_t)w->leaves_cnt;
	}
	l = &w->leaves[w->leaf_slots[s] - 1];
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
	size_t s;

	for (s = hash_hop(&key) & (w->hop_slot_cnt - 1); w->hop_slots[s];
	     s = (s + 1) & (w->hop_slot_cnt - 1)) {
		const struct why_hop *h = &w->hops[w->hop_slots[s]];

		if (same_cause(&h->cause, cause) && h->thread == key.thread &&
		    h->parent == key.parent)
			return w->hop_slots[s];
	}
	if (w->hops_cnt >= WALK_HOPS ||
	    !grow(&w->hops, w->hops_cnt, &w->hops_room, sizeof(*w->hops)))
		return at->hop;
	w->hops[w->hops_cnt] = key;
	w->hop_slots[s] = (uint32_t)w->hops_cnt;
	return (uint32_t)w->hops_cnt++;
}
