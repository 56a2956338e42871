/* saturate.h - arithmetic on figures out of reports and rings, which may be forged: it stops at the limits of int64_t. */
#pragma once

#include <stdint.h>

static inline int64_t sat_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t sat_sub(int64_t a, int64_t b)
{
	int64_t rest;

	if (!__builtin_sub_overflow(a, b, &rest))
		return rest;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

/* Rounds towards 0; NaN becomes 0. */
static inline int64_t sat_int(double d)
{
	return d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : d != d ? 0 : (int64_t)d;
}
