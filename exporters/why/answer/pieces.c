/* pieces.c - leaves in the order of time, the longest piece of each kind. */
#include "exporters/why/answer/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"

static uint64_t hash_of(const struct why_cause *c, uint32_t thread)
{
	const uint32_t part[] = {c->reason, c->place, c->name, c->object, thread};

	return hash_bytes(0, part, sizeof(part));
}

static uint32_t find(const struct why_pieces *p, const struct why_cause *cause, uint32_t thread)
{
	uint64_t hash = hash_of(cause, thread);
	uint32_t at, i;

	for (i = slots_first(&p->by_kind, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&p->by_kind, hash, &at))
		if (p->kinds[i].thread == thread &&
		    memcmp(&p->kinds[i].cause, cause, sizeof(*cause)) == 0)
			return i;
	return WHY_NONE;
}

static uint32_t kind_of(struct why_pieces *p, const struct why_cause *cause, uint32_t thread)
{
	uint32_t i = find(p, cause, thread);

	if (i != WHY_NONE)
		return i;
	i = (uint32_t)p->kinds_cnt;
	if (!grow(&p->kinds, p->kinds_cnt, &p->kinds_room, sizeof(*p->kinds)) ||
	    !slots_add(&p->by_kind, hash_of(cause, thread), i)) {
		p->is_short = true;
		return WHY_NONE;
	}
	p->kinds[p->kinds_cnt++] = (struct why_piece_kind){.cause = *cause, .thread = thread};
	return i;
}

static void add_slice(struct why_pieces *p, uint32_t kind)
{
	if (!p->keeps_slices)
		return;
	/* Spans that touch have no gap between them. */
	if (p->slices_cnt && p->slices[p->slices_cnt - 1].start == p->at) {
		p->slices[p->slices_cnt - 1].kind = kind;
		return;
	}
	if (!grow(&p->slices, p->slices_cnt, &p->slices_room, sizeof(*p->slices))) {
		p->is_short = true;
		return;
	}
	p->slices[p->slices_cnt++] = (struct why_slice){p->at, kind};
}

/* Ends the piece that the walk is in. */
static void end_piece(struct why_pieces *p)
{
	struct why_piece_kind *k = p->last != WHY_NONE ? &p->kinds[p->last] : NULL;

	if (k && p->at - p->since > k->end - k->start) {
		k->start = p->since;
		k->end = p->at;
	}
	p->last = WHY_NONE;
}

static void on_leaf(void *ctx, uint32_t thread, const struct why_cause *cause, int64_t ns)
{
	struct why_pieces *p = ctx;
	uint32_t kind;

	if (ns <= 0)
		return;
	kind = kind_of(p, cause, thread);
	if (kind != p->last) {
		end_piece(p);
		p->since = p->at;
		p->last = kind;
		add_slice(p, kind);
	}
	if (kind != WHY_NONE)
		p->kinds[kind].ns += ns;
	p->at += ns;
}

static void begin(struct why_pieces *p, struct walk *w, int64_t from)
{
	p->at = from;
	p->last = WHY_NONE;
	w->seen = on_leaf;
	w->seen_ctx = p;
}

static void end(struct why_pieces *p, struct walk *w)
{
	end_piece(p);
	add_slice(p, WHY_NONE);
	w->seen = NULL;
	w->seen_ctx = NULL;
}

void why_pieces_cover(struct why_pieces *p, struct walk *w, uint32_t thread, int64_t from,
		      int64_t to)
{
	begin(p, w, from);
	walk_cover(w, thread, from, to);
	end(p, w);
}

void why_pieces_cover_gpu(struct why_pieces *p, struct walk *w, const struct why_gpu *g,
			  int64_t from, int64_t to)
{
	begin(p, w, from);
	why_gpu_cover(w, g, from, to);
	end(p, w);
}

const struct why_piece_kind *why_pieces_longest(const struct why_pieces *p,
						const struct why_cause *cause)
{
	const struct why_piece_kind *found = NULL;

	for (size_t i = 0; i < p->kinds_cnt; i++) {
		const struct why_piece_kind *k = &p->kinds[i];

		if (memcmp(&k->cause, cause, sizeof(*cause)) == 0 &&
		    (!found || k->end - k->start > found->end - found->start))
			found = k;
	}
	return found;
}

const struct why_piece_kind *why_piece_of(const struct why_pieces *p, const struct why_cause *cause,
					  uint32_t thread)
{
	uint32_t i = find(p, cause, thread);

	return i != WHY_NONE ? &p->kinds[i] : NULL;
}

void why_pieces_free(struct why_pieces *p)
{
	free(p->kinds);
	free(p->slices);
	slots_free(&p->by_kind);
	memset(p, 0, sizeof(*p));
}
