/* flight_totals.c - see flight_totals.h. Few functions are called often: a row for each that was. */
#include "collector/capture/flight/flight_totals.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

struct sums {
	uint64_t count, total, bytes, err_count, lost_count, lost_total;
};

struct row {
	uint32_t hook;
	struct sums at[FLIGHT_TOTALS];
};

struct agg_past {
	int64_t mono[FLIGHT_TOTALS]; /* 0: not noted so far */
	uint32_t next, cnt, cap;
	struct row row[];
};

static struct row *find(struct agg_past *p, unsigned hook)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		if (p->row[i].hook == hook)
			return &p->row[i];
	return NULL;
}

/* The row of @hook, made when new. *@past may move. NULL: no memory. */
static struct row *get(struct agg_past **past, unsigned hook)
{
	struct agg_past *p = *past;
	struct row *r = find(p, hook);

	if (r)
		return r;
	if (p->cnt == p->cap) {
		uint32_t cap = p->cap * 2 + 8;

		p = realloc(p, sizeof(*p) + cap * sizeof(*p->row));
		if (!p)
			return NULL;
		p->cap = cap;
		*past = p;
	}
	r = &p->row[p->cnt++];
	memset(r, 0, sizeof(*r));
	r->hook = hook;
	return r;
}

static void note(struct thread *t, const struct sl_agg *agg, int64_t mono)
{
	unsigned char there[SL_CHUNK_BYTES / PAGE];
	uint32_t k;

	if (!t->past)
		t->past = calloc(1, sizeof(*t->past));
	if (!t->past || mincore((void *)(uintptr_t)agg, SL_CHUNK_BYTES, there) < 0)
		return;
	k = t->past->next++ % FLIGHT_TOTALS;
	t->past->mono[k] = mono;
	for (unsigned hook = 0; hook < SL_HOOK_CNT; hook++) {
		const struct sl_agg *g = &agg[hook];
		struct row *r;

		/* Reading a hole of the memfd would allocate it. */
		if (!(there[hook * sizeof(*agg) / PAGE] & 1) || (!g->count && !g->lost_count))
			continue;
		r = get(&t->past, hook);
		if (r)
			r->at[k] = (struct sums){g->count,     g->total,      g->bytes,
						 g->err_count, g->lost_count, g->lost_total};
	}
}

void flight_totals_note(struct arenas *as, int64_t mono)
{
	for (struct arena *a = as->first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads && !a->is_bad; i++) {
			sl_ref ref = a->map->slot[i].agg_chunk;

			if (a->thread[i] && !a->thread[i]->is_over && ref - 1 < a->map->chunk_cnt)
				note(a->thread[i], (const struct sl_agg *)sl_chunk_at(a->map, ref),
				     mono);
		}
}

void flight_totals_since(const struct thread *t, int64_t mono, unsigned hook, struct sl_agg *g)
{
	struct agg_past *p = t->past;
	const struct row *r = p ? find(p, hook) : NULL;
	const struct sums *s = NULL;
	int64_t best = 0;

	for (uint32_t k = 0; r && k < FLIGHT_TOTALS; k++)
		if (p->mono[k] && p->mono[k] <= mono && p->mono[k] > best) {
			best = p->mono[k];
			s = &r->at[k];
		}
	/* A thread that has begun them anew has fewer than it had. */
	if (!s || s->count > g->count || s->lost_count > g->lost_count)
		return;
	g->count -= s->count;
	g->total -= s->total;
	g->bytes -= s->bytes;
	g->err_count -= s->err_count;
	g->lost_count -= s->lost_count;
	g->lost_total -= s->lost_total;
}
