/* now.h - the clocks of the machine, in ns and ms. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Time since some moment before the machine started, which no one sets. */
static inline int64_t mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t mono_ms(void)
{
	return mono_ns() / 1000000;
}

/* As of the last tick of the kernel, for a tenth of the cost. */
static inline int64_t mono_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}
