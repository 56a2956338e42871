/*
 * busy.c - two threads that spend 70, 20 and 10 % of their time in three functions: argv[1] rounds of about 0.1 ms.
 * Figures: CPU seconds of both threads; then the share of the first two functions in per cent, by what they do.
 */
#include <pthread.h>
#include <stdlib.h>

#include "figure.h"

#define LEAF __attribute__((noinline, noclone))

static volatile unsigned sink;
static long rounds;

LEAF void seven(unsigned n);
LEAF void two(unsigned n);
LEAF void one(unsigned n);

/*
 * One multiplication waits for the other: what a round takes depends neither on where the loop lies nor on the other
 * thread. (Two threads that add to one variable are faster where an interrupt takes one of them out of step.) Which
 * function it is stands in the code, or they would be one.
 */
#define ROUNDS(n, name)                                                \
	do {                                                           \
		unsigned x_ = (n) | 1;                                 \
		for (unsigned i_ = 0; i_ < (n); i_++) {                \
			x_ *= 1103515245;                              \
			__asm__ volatile("/* " name " */" : "+r"(x_)); \
		}                                                      \
		sink = x_;                                             \
	} while (0)

LEAF void seven(unsigned n)
{
	ROUNDS(n, "seven");
}

LEAF void two(unsigned n)
{
	ROUNDS(n, "two");
}

LEAF void one(unsigned n)
{
	ROUNDS(n, "one");
}

static void *work(void *cpu)
{
	double begun = cpu_s();
	unsigned r = 1, n;

	for (long i = 0; i < rounds; i++) {
		/* Never twice the same length: no lockstep with the clock that samples. */
		r = r * 1103515245 + 12345;
		n = 500 + (r >> 16) % 1000;
		seven(70 * n);
		two(20 * n);
		one(10 * n);
	}
	*(double *)cpu = cpu_s() - begun;
	return NULL;
}

int main(int argc, char **argv)
{
	double a, b;
	pthread_t t;

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	if (pthread_create(&t, NULL, work, &b))
		return 1;
	work(&a);
	pthread_join(t, NULL);
	figure(a + b, 70, 20);
	return 0;
}
