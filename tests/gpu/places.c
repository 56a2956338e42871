/*
 * places.c - calls into CUDA and libraries above it from places that the program prints: a report must have their stacks.
 *
 *   call CLASS NAME FUNCTION LINE   a call, or one that a library makes in it; class: as --cudabacktrace has it
 *   gpu FUNCTION NS                 what was launched there, and how long it takes on the stand-in
 *
 * -n: how often.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/standin/cuda_time.h"
#include "tests/standin/cuda_types.h"

#define PLACE __attribute__((noinline)) static void
#define MIB   ((size_t)1 << 20)

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamDestroy(CUstream);
int cudaStreamSynchronize(CUstream);
int cudaDeviceSynchronize(void);
int cublasCreate_v2(void **);
int cublasDestroy_v2(void *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const void *, int, const void *,
		   int, const float *, void *, int);
int cudnnCreate(void **);
int cudnnDestroy(void *);
int ncclGetUniqueId(void *);

static void told(const char *class, const char *name, const char *function, int line)
{
	printf("call %s %s %s %d\n", class, name, function, line);
}

/* A call, all on one line of the source. */
#define DO(class, name, ...)                                                              \
	do {                                                                              \
		int do_result = name(__VA_ARGS__);                                        \
		told(#class, #name, __func__, __LINE__);                                  \
		if (do_result) {                                                          \
			fprintf(stderr, "line %d: %s: %d\n", __LINE__, #name, do_result); \
			exit(1);                                                          \
		}                                                                         \
	} while (0)
/* What a library calls in turn comes from where the library was called. */
#define INNER(class, name) told(#class, #name, __func__, __LINE__)
#define GPU(ns)            printf("gpu %s %u\n", __func__, (unsigned)(ns))

static const struct cuda_dim3 one_block = {1, 1, 1};
static char fast, slow; /* kernels, by their addresses on the host */
static char host[MIB];
static void *memory, *blas, *dnn;
static CUstream stream;

static void register_kernels(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary = __cudaRegisterFatBinary(&wrapper);
	char fast_name[] = "_Z10fast_us30_Pf", slow_name[] = "_Z10slow_us70_Pf";

	__cudaRegisterFunction(binary, &fast, fast_name, fast_name, -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(binary, &slow, slow_name, slow_name, -1, 0, 0, 0, 0, 0);
	__cudaRegisterFatBinaryEnd(binary);
}

/* clang-format off */
PLACE place_begin(void)
{
	DO(memory, cudaMalloc, &memory, MIB);
	DO(other, cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(other, cublasCreate_v2, &blas); INNER(memory, cudaMalloc);
	DO(other, cudnnCreate, &dnn); INNER(memory, cudaMalloc); INNER(memory, cudaFree);
}

PLACE place_forward(void)
{
	void *arguments[] = {NULL};

	DO(kernel, cudaLaunchKernel, &fast, one_block, one_block, arguments, 0, stream); GPU(30000);
	DO(kernel, cudaLaunchKernel, &slow, one_block, one_block, arguments, 0, stream); GPU(70000);
}

PLACE place_gemm(void)
{
	const float one = 1;

	DO(other, cublasSgemm_v2, blas, 0, 1, 128, 256, 64, &one, memory, 128, memory, 256, &one, memory, 128); INNER(kernel, cudaLaunchKernel); GPU(40000);
}

PLACE place_copy(size_t bytes)
{
	DO(memory, cudaMemcpy, memory, host, bytes, CUDA_HOST_TO_DEVICE); GPU(bytes / STANDIN_PAGEABLE_BYTES_PER_NS);
	DO(memory, cudaMemset, memory, 0, MIB); GPU(MIB / STANDIN_DEVICE_BYTES_PER_NS);
}

PLACE place_wait(void)
{
	DO(sync, cudaStreamSynchronize, stream);
	DO(sync, cudaDeviceSynchronize);
}

PLACE place_recursion(int depth)
{
	if (depth > 0)
		place_recursion(depth - 1);
	else
		place_forward();
	__asm__ volatile("");
}

PLACE place_end(void)
{
	char id[128];

	DO(other, ncclGetUniqueId, id);
	DO(other, cudnnDestroy, dnn);
	DO(other, cublasDestroy_v2, blas); INNER(memory, cudaFree);
	DO(other, cudaStreamDestroy, stream);
	DO(memory, cudaFree, memory);
}
/* clang-format on */

int main(int argc, char **argv)
{
	int repeat = 3;

	if (argc == 3 && getopt(argc, argv, "n:") == 'n')
		repeat = atoi(optarg);
	register_kernels();
	place_begin();
	for (int i = 0; i < repeat; i++) {
		place_copy(MIB >> i % 3);
		place_forward();
		place_gemm();
		place_recursion(5);
		place_wait();
	}
	place_end();
	return 0;
}
