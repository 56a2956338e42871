/*
 * off FUNCTION [N [SLICES]] - calls one function N times: pread, write, lseek (the cheapest system call with a hook),
 * lock (a free mutex).
 *
 * Figures: thread CPU ns per call, wall ns per call, 0; the lower quartile over slices of the loop, as calls.c takes it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "figure.h"

enum {
	MAX_SLICES = 64
};

static int zero, null;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char b[64];

static void call_pread(long n)
{
	while (n--)
		(void)!pread(zero, b, sizeof(b), 0);
}

static void call_write(long n)
{
	while (n--)
		(void)!write(null, b, sizeof(b));
}

static void call_lseek(long n)
{
	while (n--)
		lseek(zero, 0, SEEK_CUR);
}

static void call_lock(long n)
{
	while (n--) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static const struct {
	const char *name;
	void (*call)(long n);
} functions[] = {
	{"pread", call_pread}, {"write", call_write}, {"lseek", call_lseek}, {"lock", call_lock}};

static int by_value(const void *p, const void *q)
{
	double x = *(const double *)p, y = *(const double *)q;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1000000;
	int slices = argc > 3 ? atoi(argv[3]) : 40;
	double cpu[MAX_SLICES], wall[MAX_SLICES];
	void (*call)(long) = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(argv[1], functions[i].name))
			call = functions[i].call;
	if (!call || slices < 1 || slices > MAX_SLICES || n < slices)
		return 2;
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	n /= slices;
	for (int s = 0; s < slices; s++) {
		double c = cpu_s(), w = wall_s();

		call(n);
		wall[s] = (wall_s() - w) / (double)n * 1e9;
		cpu[s] = (cpu_s() - c) / (double)n * 1e9;
	}
	qsort(cpu, (size_t)slices, sizeof(*cpu), by_value);
	qsort(wall, (size_t)slices, sizeof(*wall), by_value);
	figure(cpu[slices / 4], wall[slices / 4], 0);
	return 0;
}
