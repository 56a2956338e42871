/*
 * figure.h - how a benchmarked program hands over what it measured: one line of numbers, appended
 * to the file $BENCH_OUT (else stdout), so that a tracer's own output never mixes with it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_s(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* CPU time of the calling thread: what other programs take on a shared machine is not in it. */
static inline double cpu_s(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static inline double wall_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

static inline void figure(double a, double b, double c)
{
	const char *path = getenv("BENCH_OUT");
	FILE *f = path ? fopen(path, "a") : stdout;

	if (!f) {
		perror(path);
		exit(1);
	}
	fprintf(f, "%.9g %.9g %.9g\n", a, b, c);
	if (path)
		fclose(f);
}
