/*
 * unwind ours|glibc [N [SLICES]] - takes the native stack of a chain of different functions N times.
 *
 * Figures: ns per stack of 20 frames, ns per frame (what 20 more cost, by 20), ns per frame that has not been met
 * before (ours only); thread CPU time, the lower quartile over slices of the loop.
 */
#include <execinfo.h>
#include <string.h>

#include "figure.h"
#include "tests/unit/lib/stack_cases.h"

enum {
	MAX_SLICES = 64,
	FRAMES = 64
};

static uint64_t frames[FRAMES + 1];
static void *addresses[FRAMES];
static unsigned depth;
static long times;

static void take_ours(void)
{
	unsigned fresh = 0;

	for (long i = 0; i < times; i++)
		shim_unwind(frames, FRAMES + 1, depth, &fresh);
}

static void take_glibc(void)
{
	for (long i = 0; i < times; i++)
		backtrace(addresses, (int)depth);
}

static void take_fresh(void)
{
	unsigned fresh = 0;

	for (long i = 0; i < times; i++) {
		shim_forget();
		shim_unwind(frames, FRAMES + 1, depth, &fresh);
	}
}

static void (*take)(void);

/* 50 functions, each with a frame of another size. */
#define FUNCTION(n, next)                                    \
	CASE static void f##n(void)                          \
	{                                                    \
		char some[n * 8 % 120 + 8];                  \
		__asm__ volatile("" ::"r"(some) : "memory"); \
		next();                                      \
		__asm__ volatile("" ::"r"(some) : "memory"); \
	}
#define TEN(t, last)            \
	FUNCTION(t##9, last)    \
	FUNCTION(t##8, f##t##9) \
	FUNCTION(t##7, f##t##8) \
	FUNCTION(t##6, f##t##7) \
	FUNCTION(t##5, f##t##6) \
	FUNCTION(t##4, f##t##5) \
	FUNCTION(t##3, f##t##4) \
	FUNCTION(t##2, f##t##3) \
	FUNCTION(t##1, f##t##2) \
	FUNCTION(t##0, f##t##1)

TEN(5, take)
TEN(4, f50)
TEN(3, f40)
TEN(2, f30)
TEN(1, f20)

static int by_value(const void *p, const void *q)
{
	double x = *(const double *)p, y = *(const double *)q;

	return (x > y) - (x < y);
}

static double per_stack(void (*how)(void), unsigned frame_cnt, long n, int slices)
{
	double cpu[MAX_SLICES];

	take = how;
	depth = frame_cnt;
	times = 2;
	f10();
	times = n / slices;
	for (int s = 0; s < slices; s++) {
		double c = cpu_s();

		f10();
		cpu[s] = (cpu_s() - c) / (double)times * 1e9;
	}
	qsort(cpu, (size_t)slices, sizeof(cpu[0]), by_value);
	return cpu[slices / 4];
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 200000;
	int slices = argc > 3 ? atoi(argv[3]) : 40;
	double low, high, fresh = 0;
	void (*how)(void);

	if (argc < 2 || slices < 1 || slices > MAX_SLICES || n < slices)
		return 2;
	how = strcmp(argv[1], "ours") ? take_glibc : take_ours;
	low = per_stack(how, 20, n, slices);
	high = per_stack(how, 40, n, slices);
	if (how == take_ours)
		fresh = (per_stack(take_fresh, 40, n / 10, slices) -
			 per_stack(take_fresh, 20, n / 10, slices)) /
			20;
	figure(low, (high - low) / 20, fresh);
	return 0;
}
