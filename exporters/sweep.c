/*
 * sweep.c - what the calls within a range gave the GPU, for all ranges, in one pass over time.
 *
 * A range holds the calls from the first that begins in it to the last that began and ended before its end. Open
 * ranges are told apart by the slot that was the last one when they began; a call counts in the last slot alone,
 * and a range that ends sums up the slots from its own on, by a tree over them. So neither the depth of ranges nor
 * the number of calls in one matters, and what is kept is what is open.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/projection_internal.h"

#define NO_SLOT UINT32_MAX

struct open {
	int64_t range[A_WORDS];
	uint32_t slot;
};

struct pending { /* a call that had not ended when the next one began */
	int64_t end;
	struct work w;
	uint32_t slot;
};

struct sweep {
	struct open *open; /* a heap, the next to end first */
	size_t opens, open_room;
	struct pending *pending;
	size_t pendings, pending_room;
	struct work *tree; /* leaf i at cap + i, the sum of nodes 2i and 2i + 1 at i */
	uint32_t *users;   /* ranges that began in the slot */
	uint32_t slots, cap;
	bool fresh; /* no call yet in the last slot */
};

static const struct work nothing = {0, INT64_MAX, INT64_MIN};

static void add_work(struct work *to, const struct work *w)
{
	to->n += w->n;
	if (w->first < to->first)
		to->first = w->first;
	if (w->last > to->last)
		to->last = w->last;
}

/* ---- slots ---- */

static void slot_add(struct sweep *s, uint32_t slot, const struct work *w)
{
	for (uint32_t i = s->cap + slot; i > 0; i /= 2)
		add_work(&s->tree[i], w);
}

static struct work work_since(const struct sweep *s, uint32_t slot)
{
	uint32_t i = s->cap + slot;
	struct work sum = s->tree[i];

	for (; i > 1; i /= 2)
		if (i % 2 == 0)
			add_work(&sum, &s->tree[i + 1]);
	return sum;
}

/* Slots in which no open range began join the one before them. */
static int compact(struct sweep *s)
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
	for (size_t i = 0; i < s->opens; i++)
		s->open[i].slot = map[s->open[i].slot];
	for (size_t i = 0; i < s->pendings; i++)
		if (s->pending[i].slot != NO_SLOT)
			s->pending[i].slot = map[s->pending[i].slot];
	free(map);
	free(s->tree);
	free(s->users);
	s->tree = tree;
	s->users = users;
	s->cap = cap;
	s->slots = kept;
	return SQLITE_OK;
}

static int new_slot(struct sweep *s)
{
	if (s->slots > 0 && s->fresh)
		return SQLITE_OK;
	if (s->slots == s->cap) {
		int rc = compact(s);

		if (rc != SQLITE_OK)
			return rc;
	}
	s->slots++;
	s->fresh = true;
	return SQLITE_OK;
}

/* ---- calls ---- */

/* The first @cnt of those pending count from now on. */
static void apply(struct sweep *s, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (s->pending[i].slot != NO_SLOT)
			slot_add(s, s->pending[i].slot, &s->pending[i].w);
	s->pendings -= cnt;
	memmove(s->pending, s->pending + cnt, s->pendings * sizeof(*s->pending));
}

/* All up to the last one that ended by then count: a range that ends now holds them, and each that ends later. */
static void apply_ended(struct sweep *s, int64_t by, size_t look_at)
{
	for (size_t i = s->pendings; i > 0 && look_at > 0; i--, look_at--) {
		if (s->pending[i - 1].end <= by) {
			apply(s, i);
			return;
		}
	}
}

static int add_call(struct sweep *s, const int64_t *call)
{
	if (s->opens == 0)
		return SQLITE_OK;
	apply_ended(s, call[C_START], 8);
	if (s->pendings == s->pending_room) {
		size_t room = s->pending_room ? s->pending_room * 2 : 16;
		struct pending *more = reallocarray(s->pending, room, sizeof(*more));

		if (!more)
			return SQLITE_NOMEM;
		s->pending = more;
		s->pending_room = room;
	}
	s->pending[s->pendings++] = (struct pending){
		.end = call[C_END],
		.w = {call[C_N], call[C_FIRST], call[C_LAST]},
		.slot = s->slots - 1,
	};
	s->fresh = false;
	return SQLITE_OK;
}

/* ---- ranges ---- */

static int begin_range(struct sweep *s, const int64_t *range)
{
	int rc = new_slot(s);
	size_t at = s->opens;
	struct open *o;

	if (rc != SQLITE_OK)
		return rc;
	if (s->opens == s->open_room) {
		size_t room = s->open_room ? s->open_room * 2 : 16;
		struct open *more = reallocarray(s->open, room, sizeof(*more));

		if (!more)
			return SQLITE_NOMEM;
		s->open = more;
		s->open_room = room;
	}
	o = s->open;
	for (s->opens++; at > 0 && o[(at - 1) / 2].range[A_END] > range[A_END]; at = (at - 1) / 2)
		o[at] = o[(at - 1) / 2];
	memcpy(o[at].range, range, sizeof(o[at].range));
	o[at].slot = s->slots - 1;
	s->users[s->slots - 1]++;
	return SQLITE_OK;
}

static struct open end_range(struct sweep *s)
{
	struct open *o = s->open, top = o[0], last = o[--s->opens];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < s->opens; at = child) {
		child += child + 1 < s->opens && o[child + 1].range[A_END] < o[child].range[A_END];
		if (last.range[A_END] <= o[child].range[A_END])
			break;
		o[at] = o[child];
	}
	o[at] = last;
	return top;
}

static int next_of(struct sorter *from, const int64_t **record)
{
	int rc = sorter_next(from, record);

	if (rc == SQLITE_DONE)
		*record = NULL;
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* Of what happens at the same time, beginnings of ranges come first, then calls, then ends. */
static int step(struct sweep *s, const int64_t *range, const int64_t *call, char *what)
{
	int64_t tid = s->opens > 0                           ? s->open[0].range[A_TID]
		      : !call                                ? range[A_TID]
		      : !range || call[C_TID] < range[A_TID] ? call[C_TID]
							     : range[A_TID];
	int64_t end = s->opens > 0 ? s->open[0].range[A_END] : INT64_MAX;

	if (range && range[A_TID] != tid)
		range = NULL;
	if (call && call[C_TID] != tid)
		call = NULL;
	if (range && (!call || range[A_START] <= call[C_START]) &&
	    (s->opens == 0 || range[A_START] <= end)) {
		*what = 'r';
		return begin_range(s, range);
	}
	if (call && (s->opens == 0 || call[C_START] <= end)) {
		*what = 'c';
		return add_call(s, call);
	}
	*what = 'e';
	return SQLITE_OK;
}

int sweep(struct sorter *ranges, struct sorter *calls,
	  int (*found)(void *ctx, const int64_t *range, const struct work *w), void *ctx)
{
	struct sweep s = {.opens = 0};
	const int64_t *range, *call;
	int rc = next_of(ranges, &range);

	if (rc == SQLITE_OK)
		rc = next_of(calls, &call);
	while (rc == SQLITE_OK && (range || s.opens > 0)) {
		char what;

		rc = step(&s, range, call, &what);
		if (rc == SQLITE_OK && what == 'r') {
			rc = next_of(ranges, &range);
		} else if (rc == SQLITE_OK && what == 'c') {
			rc = next_of(calls, &call);
		} else if (rc == SQLITE_OK) {
			struct open o = end_range(&s);
			struct work w;

			apply_ended(&s, o.range[A_END], SIZE_MAX);
			w = work_since(&s, o.slot);
			s.users[o.slot]--;
			if (w.n > 0)
				rc = found(ctx, o.range, &w);
			if (s.opens == 0)
				s.pendings = 0;
		}
	}
	free(s.open);
	free(s.pending);
	free(s.tree);
	free(s.users);
	return rc;
}
