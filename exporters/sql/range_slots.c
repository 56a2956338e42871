/*
 * range_slots.c - the GPU work of the calls within a range, for all ranges.
 *
 * Open ranges are identified by the slot that was the last one when they began; a call counts in the last slot alone,
 * and a range that ends sums up the slots from its own on, by a tree over them. So neither the depth of ranges nor
 * the number of calls in one matters, and memory holds the open ranges alone.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/projection_internal.h"

#define NO_SLOT UINT32_MAX

struct range_slots {
	int (*found)(void *ctx, const int64_t *range, const struct work *w);
	void *ctx;
	struct work *tree; /* leaf i at cap + i, the sum of nodes 2i and 2i + 1 at i */
	uint32_t *users;   /* ranges that began in the slot */
	uint32_t slots, cap;
	bool fresh; /* no call yet in the last slot */
};

static void add_work(struct work *to, const struct work *w)
{
	to->n += w->n;
	if (w->first < to->first)
		to->first = w->first;
	if (w->last > to->last)
		to->last = w->last;
}

static void slot_add(struct range_slots *s, uint32_t slot, const struct work *w)
{
	for (uint32_t i = s->cap + slot; i > 0; i /= 2)
		add_work(&s->tree[i], w);
}

static struct work work_since(const struct range_slots *s, uint32_t slot)
{
	uint32_t i = s->cap + slot;
	struct work sum = s->tree[i];

	for (; i > 1; i /= 2)
		if (i % 2 == 0)
			add_work(&sum, &s->tree[i + 1]);
	return sum;
}

/* Slots in which no open range began join the one before them. */
static int compact(struct range_slots *s, struct sweep *of)
{
	uint32_t *map = malloc((s->slots + 1) * sizeof(*map)), kept = 0, cap;
	struct work *old = s->tree + s->cap, *tree;
	uint32_t *users;

	if (!map)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < s->slots; i++) {
		if (s->users[i] > 0) {
			old[kept] = old[i];
			s->users[kept++] = s->users[i];
		} else if (kept > 0) {
			add_work(&old[kept - 1], &old[i]);
		}
		map[i] = kept > 0 ? kept - 1 : NO_SLOT;
	}
	cap = kept * 2 > s->cap ? s->cap * 2 : s->cap < 64 ? 64 : s->cap;
	tree = malloc((size_t)cap * 2 * sizeof(*tree));
	users = calloc(cap, sizeof(*users));
	if (!tree || !users) {
		free(map);
		free(tree);
		free(users);
		return SQLITE_NOMEM;
	}
	for (uint32_t i = 0; i < cap; i++)
		tree[cap + i] = i < kept ? old[i] : nothing;
	for (uint32_t i = cap; i-- > 1;) {
		tree[i] = tree[2 * i];
		add_work(&tree[i], &tree[2 * i + 1]);
	}
	tree[0] = nothing;
	if (kept > 0)
		memcpy(users, s->users, kept * sizeof(*users));
	for (size_t i = 0; i < of->opens; i++)
		of->open[i].mark = map[of->open[i].mark];
	for (size_t i = 0; i < of->pendings; i++)
		if (of->pending[i].mark != NO_SLOT)
			of->pending[i].mark = map[of->pending[i].mark];
	free(map);
	free(s->tree);
	free(s->users);
	s->tree = tree;
	s->users = users;
	s->cap = cap;
	s->slots = kept;
	return SQLITE_OK;
}

static int new_slot(struct range_slots *s, struct sweep *of)
{
	if (s->slots > 0 && s->fresh)
		return SQLITE_OK;
	if (s->slots == s->cap) {
		int rc = compact(s, of);

		if (rc != SQLITE_OK)
			return rc;
	}
	s->slots++;
	s->fresh = true;
	return SQLITE_OK;
}

/* ---- as the sweep goes on ---- */

static int begin(struct sweep *of, uint64_t *mark)
{
	struct range_slots *s = of->ctx;
	int rc = new_slot(s, of);

	if (rc != SQLITE_OK)
		return rc;
	*mark = s->slots - 1;
	s->users[s->slots - 1]++;
	return SQLITE_OK;
}

static uint64_t call(struct sweep *of)
{
	struct range_slots *s = of->ctx;

	s->fresh = false;
	return s->slots - 1;
}

static int apply(struct sweep *of, const struct sweep_call *c)
{
	const struct work w = {c->call[C_N], c->call[C_FIRST], c->call[C_LAST]};

	if (c->mark != NO_SLOT)
		slot_add(of->ctx, (uint32_t)c->mark, &w);
	return SQLITE_OK;
}

static int end(struct sweep *of, const struct sweep_range *r)
{
	struct range_slots *s = of->ctx;
	struct work w = work_since(s, (uint32_t)r->mark);

	s->users[r->mark]--;
	return w.n > 0 ? s->found(s->ctx, r->range, &w) : SQLITE_OK;
}

int work_of_ranges(struct sorter *ranges, struct sorter *calls,
		   int (*found)(void *ctx, const int64_t *range, const struct work *w), void *ctx)
{
	static const struct sweep_way way = {begin, call, apply, end};
	struct range_slots s = {.found = found, .ctx = ctx};
	int rc = sweep(ranges, calls, &way, &s);

	free(s.tree);
	free(s.users);
	return rc;
}
