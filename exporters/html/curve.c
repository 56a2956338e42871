/* curve.c - bins over time, and over size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/html/curve.h"

static int bin_of(const struct axis *a, int64_t at)
{
	double bin = (double)(at - a->from) / a->width;

	return bin < 0 ? 0 : bin >= CURVE_BINS ? CURVE_BINS - 1 : (int)bin;
}

static int add(struct curve *c, int bin, double amount)
{
	double **page = &c->page[bin / CURVE_PAGE];

	if (!*page && !(*page = calloc(CURVE_PAGE, sizeof(**page))))
		return -1;
	(*page)[bin % CURVE_PAGE] += amount;
	return 0;
}

int curve_spread(struct curve *c, const struct axis *a, int64_t start, int64_t end, double amount)
{
	int64_t from = start > a->from ? start : a->from;
	int64_t to = end < a->to ? end : a->to;
	double per_ns = end > start ? amount / (double)(end - start) : 0;
	int first, last;

	if (to < from || amount == 0)
		return 0;
	first = bin_of(a, from);
	last = bin_of(a, to);
	if (first == last)
		return add(c, first, end > start ? per_ns * (double)(to - from) : amount);
	for (int bin = first; bin <= last; bin++) {
		double left = (double)a->from + bin * a->width, right = left + a->width;

		left = left > (double)from ? left : (double)from;
		right = right < (double)to ? right : (double)to;
		if (right > left && add(c, bin, per_ns * (right - left)) < 0)
			return -1;
	}
	return 0;
}

double curve_at(const struct curve *c, int bin)
{
	const double *page = c->page[bin / CURVE_PAGE];

	return page ? page[bin % CURVE_PAGE] : 0;
}

void curve_free(struct curve *c)
{
	for (int i = 0; i < CURVE_PAGE_CNT; i++)
		free(c->page[i]);
	memset(c, 0, sizeof(*c));
}

/* ---- levels ---- */

static void carry(struct level *l, int bin)
{
	while (l->bin < bin)
		l->high[++l->bin] = l->now;
}

void level_set(struct level *l, const struct axis *a, int64_t at, double value)
{
	carry(l, bin_of(a, at));
	l->now = value;
	if (value > l->high[l->bin])
		l->high[l->bin] = value;
	if (value > l->peak)
		l->peak = value;
}

void level_end(struct level *l)
{
	carry(l, CURVE_BINS - 1);
}

/* ---- histograms ---- */

static void count(struct histogram *h, int slot, int64_t value)
{
	slot = slot < HISTOGRAM_SLOTS ? slot : HISTOGRAM_SLOTS - 1;
	h->cnt[slot]++;
	h->sum[slot] += (double)value;
	h->all++;
	h->total += (double)value;
}

void histogram_add_125(struct histogram *h, int64_t value)
{
	int64_t decade = 1;
	int slot = 1;

	if (value < 1) {
		count(h, 0, 0);
		return;
	}
	for (; value / 10 >= decade; decade *= 10)
		slot += 3;
	count(h, slot + (value >= 2 * decade) + (value >= 5 * decade), value);
}

double histogram_edge_125(int slot)
{
	static const double step[] = {1, 2, 5};
	int decade = (slot - 1) / 3;

	return slot == 0 ? 0 : step[(slot - 1) % 3] * pow(10, decade);
}

void histogram_add_pow4(struct histogram *h, int64_t value)
{
	int slot = 0;

	for (int64_t v = value; v > 0; v >>= 2)
		slot++;
	count(h, slot, value > 0 ? value : 0);
}

double histogram_edge_pow4(int slot)
{
	return slot == 0 ? 0 : pow(4, slot - 1);
}
