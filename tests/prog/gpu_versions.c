/*
 * gpu_versions.c LIBRARY - calls functions of the CUDA runtime that take other arguments from one version to another as
 * that version would be called (LIBRARY: tests/prog/lib/abi_cudart_*.c under the name of the real one), and checks that
 * they arrive as given. Every argument is a number that identifies it.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAM = 0x1100,
	GRAPH = 0x2200,
	COUNT = 7,
	FLAGS = 3,
	DEVICE = 5,
};

static void *library;
static const uint64_t *noted;
static const size_t *cnt;
static uint64_t graph = GRAPH, other; /* *graph=1 reads the first */
static const uint64_t sizes[COUNT] = {1, 2, 4, 8, 16, 32, 64};
static int failures;

typedef int call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		 uint64_t);

/* What lies behind the last argument must not matter. */
static void try(const char *name, const uint64_t *a, size_t n)
{
	call *f = (call *)dlsym(library, name);
	bool ok = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]) == 0 && *cnt == n &&
		  memcmp(noted, a, n * sizeof(*a)) == 0;

	failures += !ok;
	printf("%s %s\n", name, ok ? "ok" : "WRONG");
}
#define TRY(name, ...)                              \
	try(name, (const uint64_t[9]){__VA_ARGS__}, \
	    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

int main(int argc, char **argv)
{
	const char *so = argc > 1 ? strstr(argv[1], ".so.") : NULL;
	int major = so ? atoi(so + 4) : 0;
	const uint64_t place = 1 | (uint64_t)DEVICE << 32, at_graph = (uintptr_t)&graph,
		       at_other = (uintptr_t)&other;

	library = major ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library)
		return 2;
	noted = dlsym(library, "abi_noted");
	cnt = dlsym(library, "abi_cnt");
	if (major <= 11) {
		TRY("cudaGraphInstantiate", at_graph, GRAPH, at_other, at_other, 64);
		TRY("cudaGraphExecUpdate", GRAPH, GRAPH, at_other, at_other);
	} else {
		TRY("cudaGraphInstantiate", at_graph, GRAPH, FLAGS);
		TRY("cudaGraphExecUpdate", GRAPH, GRAPH, at_other);
	}
	if (major <= 12) {
		TRY("cudaMemPrefetchAsync", 0x7000, 4096, DEVICE, STREAM);
		TRY("cudaMemAdvise", 0x7000, 4096, 1, DEVICE);
		TRY("cudaGraphAddDependencies", GRAPH, at_other, at_other, COUNT);
		TRY("cudaStreamGetCaptureInfo", STREAM, at_other, at_other);
		TRY("cudaStreamUpdateCaptureDependencies", STREAM, at_other, COUNT, FLAGS);
		TRY("cudaMemcpyBatchAsync", at_other, at_other, (uintptr_t)sizes, COUNT, at_other,
		    at_other, 1, at_other, STREAM);
	} else {
		TRY("cudaMemPrefetchAsync", 0x7000, 4096, place, FLAGS, STREAM);
		TRY("cudaMemAdvise", 0x7000, 4096, 1, place);
		TRY("cudaGraphAddDependencies", GRAPH, at_other, at_other, at_other, COUNT);
		TRY("cudaStreamGetCaptureInfo", STREAM, at_other, at_other, at_other, at_other,
		    at_other, at_other);
		TRY("cudaStreamUpdateCaptureDependencies", STREAM, at_other, at_other, COUNT,
		    FLAGS);
		TRY("cudaMemcpyBatchAsync", at_other, at_other, (uintptr_t)sizes, COUNT, at_other,
		    at_other, 1, STREAM);
	}
	return failures != 0;
}
