/* select_test.c - are the durations of a name in two reports the same? By the test of compare, over single events. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "exporters/compare/compare.h"
#include "exporters/view/answers/fold.h"
#include "exporters/view/answers/select_internal.h"

#define TESTED_MAX 300  /* names, most time first */
#define SAMPLE_MAX 1000 /* events of a name */

/* What makes groups of two reports the same: the kind, the name, and the name of the row of those that are apart by row. */
struct key {
	enum view_kind kind;
	const char *name;
	size_t len;
	const char *row;
	char folded[VIEW_FOLD_MAX]; /* where name points, if numbers are folded */
};

/* The store's lock is held. */
static void key_of(const struct select *s, const struct group *g, struct key *k)
{
	const struct view_name *n = &s->v->names[g->name];

	k->kind = g->kind;
	k->row = g->row ? s->v->rows[g->row - 1]->name : "";
	k->name = k->folded;
	if (g->is_folded && view_fold(n->text, n->len, k->folded, &k->len))
		return;
	k->name = n->text;
	k->len = n->len;
}

static uint64_t hash_of(const struct key *k)
{
	return hash_bytes((uint64_t)k->kind, k->name, k->len);
}

static bool same(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && a->len == b->len && memcmp(a->name, b->name, a->len) == 0 &&
	       strcmp(a->row, b->row) == 0;
}

/* Durations of whole events, evenly from those that are kept. */
static size_t sample_of(const struct group *g, double *to)
{
	size_t all = g->weighed_cnt ? g->weighed_cnt : g->kept_cnt;
	size_t cnt = all < SAMPLE_MAX ? all : SAMPLE_MAX;

	for (size_t i = 0; i < cnt; i++) {
		size_t at = (size_t)((double)i * (double)all / (double)cnt);

		to[i] = g->weighed_cnt ? (double)g->weighed[at].dur : (double)g->kept[at];
	}
	return cnt;
}

static struct group *find(struct select *other, const struct slots *by_key, const struct key *k)
{
	struct key its;
	uint32_t at, i;

	for (i = slots_first(by_key, hash_of(k), &at); i != SLOTS_NONE;
	     i = slots_next(by_key, hash_of(k), &at)) {
		key_of(other, &other->groups[i], &its);
		if (same(k, &its))
			return &other->groups[i];
	}
	return NULL;
}

static void test_names(struct select *s, struct select *other, const struct slots *by_key,
		       double *room)
{
	for (size_t i = 0; i < s->cnt && i < TESTED_MAX; i++) {
		struct group *g = &s->groups[i], *its;
		struct key k;

		key_of(s, g, &k);
		its = find(other, by_key, &k);
		if (its)
			g->p = compare_same(room, sample_of(g, room), room + SAMPLE_MAX,
					    sample_of(its, room + SAMPLE_MAX));
	}
}

void view_test_names(struct select *s, struct select *other)
{
	double *room = calloc(2 * SAMPLE_MAX, sizeof(*room));
	struct slots by_key = {0};
	bool is_one = s->v == other->v;

	if (!room) {
		s->failed = true;
		return;
	}
	/* In the order of their addresses, as any two locks. */
	pthread_rwlock_rdlock(s->v < other->v ? &s->v->lock : &other->v->lock);
	if (!is_one)
		pthread_rwlock_rdlock(s->v < other->v ? &other->v->lock : &s->v->lock);
	for (size_t i = 0; i < other->cnt && i < VIEW_ROWS_MAX; i++) {
		struct key k;

		key_of(other, &other->groups[i], &k);
		if (!slots_add(&by_key, hash_of(&k), (uint32_t)i))
			s->failed = true;
	}
	test_names(s, other, &by_key, room);
	pthread_rwlock_unlock(&s->v->lock);
	if (!is_one)
		pthread_rwlock_unlock(&other->v->lock);
	slots_free(&by_key);
	free(room);
}
