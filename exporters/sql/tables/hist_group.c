/*
 * hist_group.c - the values of a key, each with how often it came.
 *
 * They are kept as they come. When the room is taken, the new ones are sorted and merged with those before: then
 * each stands once, and a few values that come a million times take little.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "collector/base/saturate.h"
#include "exporters/sql/tables/hist_values.h"

#define MERGE_FROM 256 /* below that, room is cheaper */
#define SLOTS_MAX  (1 << 16)

/* ---- in order ---- */

static void swap(struct pair *a, struct pair *b)
{
	struct pair t = *a;

	*a = *b;
	*b = t;
}

static void sift(struct pair *p, size_t at, size_t cnt)
{
	for (size_t child; (child = 2 * at + 1) < cnt; at = child) {
		child += child + 1 < cnt && p[child + 1].value > p[child].value;
		if (p[at].value >= p[child].value)
			return;
		swap(&p[at], &p[child]);
	}
}

/* In place, as there may be as many as there is memory for: quicksort, and heapsort where that goes wrong. */
static void sort_within(struct pair *p, size_t cnt, int depth)
{
	while (cnt > 24 && depth-- > 0) {
		int64_t a = p[0].value, b = p[cnt / 2].value, c = p[cnt - 1].value;
		int64_t mid = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t low = 0, high = cnt - 1;

		for (;;) {
			while (p[low].value < mid)
				low++;
			while (p[high].value > mid)
				high--;
			if (low >= high)
				break;
			swap(&p[low++], &p[high--]);
		}
		sort_within(p + high + 1, cnt - high - 1, depth);
		cnt = high + 1;
	}
	if (cnt > 24) {
		for (size_t i = cnt / 2; i-- > 0;)
			sift(p, i, cnt);
		for (size_t i = cnt; --i > 0;) {
			swap(&p[0], &p[i]);
			sift(p, 0, i);
		}
		return;
	}
	for (size_t i = 1; i < cnt; i++)
		for (size_t k = i; k > 0 && p[k - 1].value > p[k].value; k--)
			swap(&p[k - 1], &p[k]);
}

static void sort(struct pair *p, size_t cnt)
{
	sort_within(p, cnt, 100);
}

/* Sorts the new ones; all are in order then, in a list of their own with so much room. False without memory. */
static bool merge_new(struct group *g, size_t room)
{
	struct pair *to = malloc(room * sizeof(*to));
	size_t a = 0, b = g->sorted, cnt = 0;

	if (!to)
		return false;
	sort(g->pair + g->sorted, g->cnt - g->sorted);
	while (a < g->sorted || b < g->cnt) {
		const struct pair *next =
			b == g->cnt || (a < g->sorted && g->pair[a].value <= g->pair[b].value)
				? &g->pair[a++]
				: &g->pair[b++];

		if (cnt > 0 && to[cnt - 1].value == next->value)
			to[cnt - 1].n += next->n;
		else
			to[cnt++] = *next;
	}
	free(g->pair);
	g->pair = to;
	g->cnt = g->sorted = cnt;
	g->room = room;
	return true;
}

/* The bits of doubles are in order as integers, once those of negative ones are turned round. */
static void turn(struct group *g)
{
	for (size_t i = 0; g->real && i < g->cnt; i++)
		if (g->pair[i].value < 0)
			g->pair[i].value ^= INT64_MAX;
}

void hist_group_sort(struct group *g)
{
	free(g->slot);
	g->slot = NULL;
	if (g->real)
		g->sorted = 0;
	turn(g);
	if (g->sorted < g->cnt && !(g->sorted > 0 && merge_new(g, g->cnt)))
		sort(g->pair, g->cnt);
	turn(g);
	g->sorted = g->real ? 0 : g->cnt;
}

/* ---- one more ---- */

static uint32_t slot_of(const struct group *g, int64_t value)
{
	return (uint32_t)(hash_u64((uint64_t)value) >> 20) & (g->slots - 1);
}

/* Where values repeat, most are found again at once. */
static int make_slots(struct group *g)
{
	uint32_t slots = MERGE_FROM;

	while (slots < g->room && slots < SLOTS_MAX)
		slots *= 2;
	free(g->slot);
	g->slots = slots;
	g->slot = calloc(slots, sizeof(*g->slot));
	for (size_t i = 0; g->slot && i < g->cnt; i++)
		g->slot[slot_of(g, g->pair[i].value)] = (uint32_t)i + 1;
	return g->slot ? SQLITE_OK : SQLITE_NOMEM;
}

static int make_room(struct group *g)
{
	size_t room = g->room ? g->room * 2 : 2;
	struct pair *more;

	if (g->room >= MERGE_FROM) {
		size_t before = g->cnt;

		if (g->cnt >= UINT32_MAX / 2 || !merge_new(g, room))
			return SQLITE_NOMEM;
		if (g->cnt <= room / 4) {
			more = reallocarray(g->pair, room / 2, sizeof(*more));
			g->pair = more ? more : g->pair;
			g->room = more ? room / 2 : room;
		}
		return g->slot || g->cnt < before - before / 4 ? make_slots(g) : SQLITE_OK;
	}
	more = reallocarray(g->pair, room, sizeof(*more));
	if (!more)
		return SQLITE_NOMEM;
	g->pair = more;
	g->room = room;
	return SQLITE_OK;
}

static int add_pair(struct group *g, int64_t value, int64_t n)
{
	if (g->slot) {
		uint32_t at = g->slot[slot_of(g, value)];

		if (at > 0 && g->pair[at - 1].value == value) {
			g->pair[at - 1].n += n;
			return SQLITE_OK;
		}
	}
	if (g->cnt == g->room) {
		int rc = make_room(g);

		if (rc != SQLITE_OK)
			return rc;
	}
	g->pair[g->cnt++] = (struct pair){value, n};
	if (g->slot)
		g->slot[slot_of(g, value)] = (uint32_t)g->cnt;
	return SQLITE_OK;
}

double hist_real(int64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static int64_t hist_bits(double d)
{
	int64_t bits;

	memcpy(&bits, &d, sizeof(d));
	return bits;
}

/* From the first real value on, all are. */
static void become_real(struct group *g)
{
	for (size_t i = 0; i < g->cnt; i++)
		g->pair[i].value = hist_bits((double)g->pair[i].value);
	free(g->slot);
	g->slot = NULL;
	g->sorted = 0;
	g->real_sum = (double)g->sum;
	g->real = true;
}

int hist_group_whole(struct group *g, int64_t value)
{
	g->sum = sat_add(g->sum, value);
	return add_pair(g, value, 1);
}

int hist_group_add(struct group *g, sqlite3_value *value)
{
	int type = sqlite3_value_numeric_type(value);
	double real = sqlite3_value_double(value);

	g->n++;
	if (type == SQLITE_NULL) {
		g->nulls++;
		return SQLITE_OK;
	}
	if (type != SQLITE_INTEGER && !g->real)
		become_real(g);
	if (g->real) {
		g->real_sum += real;
		return add_pair(g, hist_bits(real), 1);
	}
	return hist_group_whole(g, sqlite3_value_int64(value));
}

int hist_group_take(struct group *to, struct group *from)
{
	int rc = SQLITE_OK;

	if (from->taken)
		return SQLITE_MISUSE;
	if (to->n == 0) {
		*to = *from;
	} else {
		if (from->real && !to->real)
			become_real(to);
		if (to->real && !from->real)
			become_real(from);
		to->n += from->n;
		to->nulls += from->nulls;
		to->real_sum += from->real_sum;
		to->sum = sat_add(to->sum, from->sum);
		for (size_t i = 0; i < from->cnt && rc == SQLITE_OK; i++)
			rc = add_pair(to, from->pair[i].value, from->pair[i].n);
		free(from->pair);
		free(from->slot);
	}
	from->pair = NULL;
	from->slot = NULL;
	from->cnt = from->room = from->sorted = 0;
	from->taken = true;
	return rc;
}
