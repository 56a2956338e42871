/*
 * figure.h - numbers that programs report. They are counted, summed and subtracted as if they were true, and may be anything:
 * each is cut to FIGURE_MAX when it is taken from an arena, and sums end there.
 */
#pragma once

#include <stdint.h>

#define FIGURE_MAX ((INT64_C(1) << 62) - 1)

static inline int64_t figure(uint64_t n)
{
	return n < (uint64_t)FIGURE_MAX ? (int64_t)n : FIGURE_MAX;
}

static inline void figure_count(uint64_t *sum, uint64_t n)
{
	*sum = *sum > UINT64_MAX - n ? (uint64_t)FIGURE_MAX : (uint64_t)figure(*sum + n);
}

static inline void figure_add(int64_t *sum, int64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum) || *sum > FIGURE_MAX || *sum < -FIGURE_MAX)
		*sum = n < 0 ? -FIGURE_MAX : FIGURE_MAX;
}
