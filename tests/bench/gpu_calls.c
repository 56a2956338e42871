/*
 * gpu_calls N SLICES - calls cudaMemcpyAsync() of the library beside it (gpu_lib.c) N times: what a hooked call costs
 * where the call itself costs nothing.
 *
 * Figures: thread CPU ns per call (lower quartile over the slices), the same, 0.
 */
#include <dlfcn.h>
#include <string.h>

#include "figure.h"

enum {
	MAX_SLICES = 64
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	int slices = argc > 2 ? atoi(argv[2]) : 20;
	int (*copy)(void *, const void *, size_t, int, void *);
	double cpu[MAX_SLICES], per_call;
	char path[4096];
	void *library;

	if (slices < 1 || slices > MAX_SLICES || n % slices)
		return 2;
	snprintf(path, sizeof(path), "%s/libcudart.so.13", argc > 3 ? argv[3] : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*(void **)&copy = library ? dlsym(library, "cudaMemcpyAsync") : NULL;
	if (!copy) {
		fprintf(stderr, "gpu_calls: %s\n", dlerror());
		return 1;
	}
	for (int s = 0; s < slices; s++) {
		double begun = cpu_s();

		for (long i = 0; i < n / slices; i++)
			if (copy(path, library, 64, 1, NULL) != 0)
				return 3;
		cpu[s] = cpu_s() - begun;
	}
	qsort(cpu, (size_t)slices, sizeof(*cpu), by_value);
	per_call = cpu[slices / 4] / (double)(n / slices) * 1e9;
	figure(per_call, per_call, 0);
	return 0;
}
