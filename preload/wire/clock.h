/*
 * clock.h - the one clock of the hot path: "ticks".
 *
 * SL_CLOCK_TSC: the CPU's counter (TSC, cntvct_el0). SL_CLOCK_MONO: CLOCK_MONOTONIC in ns, where
 * the counter cannot be trusted. The collector decides (session.h: clock_mode), takes snapshots of
 * both clocks, and converts; the shim itself works in ticks only.
 */
#pragma once

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum sl_clock_mode {
	SL_CLOCK_MONO = 0,
	SL_CLOCK_TSC = 1
};

static inline uint64_t sl_counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
#error "no counter known for this processor"
#endif
}

static inline uint64_t sl_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
