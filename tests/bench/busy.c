/*
 * busy.c - two threads that spend 70, 20 and 10 % of their time in three functions: argv[1] rounds of about 0.3 ms.
 * Figures: CPU seconds of both threads; then the share of the first two functions in per cent, as the threads have
 * measured it in every 16th round.
 */
#include <pthread.h>
#include <stdlib.h>

#include "figure.h"

#define LEAF __attribute__((noinline, noclone))

struct share {
	double cpu, part[3];
};

static volatile unsigned sink;
static long rounds;

LEAF void seven(unsigned n);
LEAF void two(unsigned n);
LEAF void one(unsigned n);

LEAF void seven(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

LEAF void two(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i + 1;
}

LEAF void one(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i + 2;
}

static void *work(void *to)
{
	struct share *s = to;
	double begun = cpu_s(), t[4];
	unsigned r = 1, n;

	for (long i = 0; i < rounds; i++) {
		/* Never twice the same length: no lockstep with the clock that samples. */
		r = r * 1103515245 + 12345;
		n = 500 + (r >> 16) % 1000;
		if (i % 16) {
			seven(70 * n);
			two(20 * n);
			one(10 * n);
			continue;
		}
		t[0] = cpu_s();
		seven(70 * n);
		t[1] = cpu_s();
		two(20 * n);
		t[2] = cpu_s();
		one(10 * n);
		t[3] = cpu_s();
		for (int k = 0; k < 3; k++)
			s->part[k] += t[k + 1] - t[k];
	}
	s->cpu = cpu_s() - begun;
	return NULL;
}

int main(int argc, char **argv)
{
	struct share a = {0}, b = {0};
	double part[3], all = 0;
	pthread_t t;

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	if (pthread_create(&t, NULL, work, &b))
		return 1;
	work(&a);
	pthread_join(t, NULL);
	for (int k = 0; k < 3; k++)
		all += part[k] = a.part[k] + b.part[k];
	figure(a.cpu + b.cpu, 100 * part[0] / all, 100 * part[1] / all);
	return 0;
}
