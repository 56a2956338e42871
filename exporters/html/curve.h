/*
 * curve.h - something over time, in a fixed number of bins; and how often which size occurs.
 *
 * All curves of a page share one axis. Memory follows the time that a curve covers, not the axis: a build
 * has thousands of processes that live for a moment each.
 */
#pragma once

#include <stdint.h>

#define CURVE_BINS      1000
#define CURVE_PAGE      50
#define CURVE_PAGE_CNT  (CURVE_BINS / CURVE_PAGE)
#define HISTOGRAM_SLOTS 64

struct axis {
	int64_t from, to; /* ns, to > from */
	double width;     /* of a bin, ns */
};

struct curve {
	double *page[CURVE_PAGE_CNT]; /* NULL: zeros */
};

/* Adds @amount, spread evenly over [start, end], as far as it lies on the axis. 0 or -1: out of memory. */
int curve_spread(struct curve *c, const struct axis *a, int64_t start, int64_t end, double amount);
double curve_at(const struct curve *c, int bin);
void curve_free(struct curve *c);

/* A level that holds until it changes; of each bin the highest is kept, so that no peak gets lost. */
struct level {
	double high[CURVE_BINS];
	double now, peak;
	int bin;
};
void level_set(struct level *l, const struct axis *a, int64_t at, double value);
void level_end(struct level *l);

struct histogram {
	uint64_t cnt[HISTOGRAM_SLOTS];
	double sum[HISTOGRAM_SLOTS];
	uint64_t all;
	double total;
};

/* Slots of 1-2-5 steps from 1 on (slot 0: below 1), or of powers of four. */
void histogram_add_125(struct histogram *h, int64_t value);
void histogram_add_pow4(struct histogram *h, int64_t value);
/* The least value of a slot. */
double histogram_edge_125(int slot);
double histogram_edge_pow4(int slot);
