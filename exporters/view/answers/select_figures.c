/* select_figures.c - median and deviation of a name's durations. */
#include <math.h>
#include <string.h>

#include "exporters/view/answers/select_internal.h"

static void swap(int64_t *a, int64_t *b)
{
	int64_t was = *a;

	*a = *b;
	*b = was;
}

/* Returns the value at @want of the sorted list; afterwards no value before @want is larger, and none after it smaller. */
static int64_t select_nth(int64_t *list, size_t cnt, size_t want)
{
	size_t low = 0, high = cnt - 1;

	while (low < high) {
		int64_t a = list[low], b = list[low + (high - low) / 2], c = list[high];
		int64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t below = low, i = low, above = high + 1;

		while (i < above) {
			if (list[i] < pivot)
				swap(&list[i++], &list[below++]);
			else if (list[i] > pivot)
				swap(&list[i], &list[--above]);
			else
				i++;
		}
		/* [below, above) are the pivot. */
		if (want >= below && want < above)
			break;
		if (want < below)
			high = below - 1;
		else
			low = above;
	}
	return list[want];
}

static uint32_t bits_of(float dur)
{
	uint32_t bits;

	memcpy(&bits, &dur, sizeof(bits));
	return bits;
}

/* The duration with half of the weight on either side, by eight bits at a time, as the bits of durations ascend as they do. */
static double weighed_median(const struct weighed *w, size_t cnt)
{
	uint32_t found = 0, mask = 0;
	double half = 0;
	float median;

	for (size_t i = 0; i < cnt; i++)
		half += (double)w[i].weight / 2;
	for (int shift = 24; shift >= 0; shift -= 8) {
		double sums[256] = {0};
		uint32_t digit = 0;

		for (size_t i = 0; i < cnt; i++)
			if ((bits_of(w[i].dur) & mask) == found)
				sums[bits_of(w[i].dur) >> shift & 255] += (double)w[i].weight;
		for (; digit < 255 && sums[digit] <= half; digit++)
			half -= sums[digit];
		found |= digit << shift;
		mask |= 255u << shift;
	}
	memcpy(&median, &found, sizeof(median));
	return (double)median;
}

double view_median_of(struct group *g)
{
	size_t n = g->kept_cnt;
	int64_t upper, lower = INT64_MIN;

	if (g->weighed_cnt > 0)
		return weighed_median(g->weighed, g->weighed_cnt);
	if (n == 0)
		return 0;
	upper = select_nth(g->kept, n, n / 2);
	if (n % 2)
		return (double)upper;
	/* The largest value of the lower half. */
	for (size_t i = 0; i < n / 2; i++)
		lower = g->kept[i] > lower ? g->kept[i] : lower;
	return (double)lower / 2 + (double)upper / 2;
}

/* The deviation of the sample: n - 1. Whole numbers lose nothing where durations are long and alike. */
double view_deviation_of(const struct group *g)
{
	unsigned __int128 total = (uint64_t)g->total, mean = g->cnt ? total / g->cnt : 0;
	/* sum((x - mean)^2) = sum(x^2) - mean * (2 total - n mean), for any mean. */
	unsigned __int128 off = g->squares - mean * (2 * total - g->cnt * mean);
	double rest = g->cnt ? (double)(total - mean * g->cnt) / (double)g->cnt : 0;

	if (g->cnt < 2)
		return 0;
	return sqrt(((double)off - (double)g->cnt * rest * rest) / (double)(g->cnt - 1));
}
