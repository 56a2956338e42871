/*
 * memory.c - allocations whose peak, leaks and pool are known:
 *
 *   memory          STEPS steps: each takes and gives back memory of the device; LEAK bytes of each are never given back
 *   memory clean    they are given back, too
 *   memory tight    the peak is close to the device's memory, and an allocation fails
 *
 * Peak of the device: weights, STEPS - 1 leaks, one step, by grow() in step(), in the last step.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/standin/cuda_types.h"

#define FUNCTIONS(F)                                                               \
	F(int, cudaMalloc, (void **, size_t))                                      \
	F(int, cudaMallocHost, (void **, size_t))                                  \
	F(int, cudaMallocManaged, (void **, size_t, unsigned))                     \
	F(int, cudaFree, (void *))                                                 \
	F(int, cudaMemset, (void *, int, size_t))                                  \
	F(int, cudaMemGetInfo, (size_t *, size_t *))                               \
	F(int, cudaStreamCreateWithFlags, (CUstream *, unsigned))                  \
	F(int, cudaStreamSynchronize, (CUstream))                                  \
	F(int, cudaMemPoolCreate, (CUmemoryPool *, const void *))                  \
	F(int, cudaMemPoolDestroy, (CUmemoryPool))                                 \
	F(int, cudaMemPoolTrimTo, (CUmemoryPool, size_t))                          \
	F(int, cudaMallocFromPoolAsync, (void **, size_t, CUmemoryPool, CUstream)) \
	F(int, cudaFreeAsync, (void *, CUstream))
#include "tests/gpu/tally.h"
#include "tests/prog/nvtx_loader.h"

enum {
	WEIGHTS = 8 << 20,
	STEP = 3 << 20,
	LEAK = 1 << 20,
	STEPS = 12,
	POOLED = 5 << 20,
};

static bool is_clean, has_nvtx;

static void *made(void *p, int err)
{
	if (err || !p) {
		fprintf(stderr, "memory: error %d\n", err);
		exit(1);
	}
	return p;
}

__attribute__((noinline)) static void *grow(size_t bytes)
{
	void *p = NULL;
	int err = CALL(cudaMalloc, &p, bytes);

	return made(p, err);
}

__attribute__((noinline)) static void *forget(size_t bytes)
{
	void *p = NULL;
	int err = CALL(cudaMalloc, &p, bytes);

	made(p, err);
	__asm__ volatile(""); /* no tail call, and not the same code as grow() */
	return p;
}

__attribute__((noinline)) static void step(void)
{
	void *p = grow(STEP);

	CALL(cudaMemset, p, 0, STEP);
	CALL(cudaFree, p);
	p = forget(LEAK);
	if (is_clean)
		CALL(cudaFree, p);
}

/* A pool that gets 5 MiB twice, one after the other, so it holds 6 and 5 are in use at most; then it is trimmed to nothing. */
static void use_pool(void)
{
	int properties[32] = {1, 0, 1, 0};
	CUmemoryPool pool = NULL;
	CUstream stream = NULL;
	void *p = NULL;

	CALL(cudaStreamCreateWithFlags, &stream, 1);
	made(&pool, CALL(cudaMemPoolCreate, &pool, properties));
	for (int i = 0; i < 2; i++) {
		made(&p, CALL(cudaMallocFromPoolAsync, &p, POOLED, pool, stream));
		CALL(cudaFreeAsync, p, stream);
	}
	CALL(cudaStreamSynchronize, stream);
	CALL(cudaMemPoolTrimTo, pool, 0);
	CALL(cudaMemPoolDestroy, pool);
}

int main(int argc, char **argv)
{
	size_t weights = WEIGHTS, left = 0, all = 0;
	void *host = NULL, *managed = NULL, *p;

	bool is_tight = argc > 1 && strcmp(argv[1], "tight") == 0;

	is_clean = argc > 1 && strcmp(argv[1], "clean") == 0;
	has_nvtx = nvtx_load();
	if (is_tight) {
		CALL(cudaMemGetInfo, &left, &all);
		weights = left - all / 100 - STEP - (size_t)STEPS * LEAK;
	}
	use_pool();
	p = grow(weights);
	made(&host, CALL(cudaMallocHost, &host, 12345));
	made(&managed, CALL(cudaMallocManaged, &managed, 54321, 1));
	for (int i = 0; i < STEPS; i++) {
		if (has_nvtx)
			push("step");
		step();
		if (has_nvtx)
			pop();
	}
	if (is_tight && CALL(cudaMalloc, &host, STEP + (size_t)STEPS * LEAK + all / 50) != 2)
		return 1;
	CALL(cudaFree, managed);
	CALL(cudaFree, p);
	printf("peak %zu\nleak %d\nhost %d\n",
	       weights + 54321 + STEP + (is_clean ? 0 : (STEPS - 1) * (size_t)LEAK),
	       is_clean ? 0 : STEPS * LEAK, 12345);
	tally_print();
	return 0;
}
