/*
 * abi_versions.h - functions of the CUDA runtime whose arguments have changed from one major version to another, as
 * version MAJOR takes them, 11 to 13. They note what they were called with. Each abi_cudart_MAJOR.c is one version.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default")))

API uint64_t abi_noted[16];
API size_t abi_cnt;

#define P(n) void *a##n
#define Z(n) size_t a##n
#define I(n) int a##n
/* CUmemLocation */
struct place {
	int type, id;
};
#define L(n) struct place a##n

static void note(const void *bytes, size_t len)
{
	abi_noted[abi_cnt] = 0;
	memcpy(&abi_noted[abi_cnt++], bytes, len);
}
#define N(n) note(&a##n, sizeof(a##n))
#define TAKES(name, parameters, notes) \
	API int name parameters        \
	{                              \
		abi_cnt = 0;           \
		notes;                 \
		return 0;              \
	}

#if MAJOR <= 11
TAKES(cudaGraphInstantiate, (P(1), P(2), P(3), P(4), Z(5)), (N(1), N(2), N(3), N(4), N(5)))
TAKES(cudaGraphExecUpdate, (P(1), P(2), P(3), P(4)), (N(1), N(2), N(3), N(4)))
#else
TAKES(cudaGraphInstantiate, (P(1), P(2), Z(3)), (N(1), N(2), N(3)))
TAKES(cudaGraphExecUpdate, (P(1), P(2), P(3)), (N(1), N(2), N(3)))
#endif
#if MAJOR <= 12
TAKES(cudaMemPrefetchAsync, (P(1), Z(2), I(3), P(4)), (N(1), N(2), N(3), N(4)))
TAKES(cudaMemAdvise, (P(1), Z(2), I(3), I(4)), (N(1), N(2), N(3), N(4)))
TAKES(cudaGraphAddDependencies, (P(1), P(2), P(3), Z(4)), (N(1), N(2), N(3), N(4)))
TAKES(cudaStreamGetCaptureInfo, (P(1), P(2), P(3)), (N(1), N(2), N(3)))
TAKES(cudaStreamUpdateCaptureDependencies, (P(1), P(2), Z(3), I(4)), (N(1), N(2), N(3), N(4)))
TAKES(cudaMemcpyBatchAsync, (P(1), P(2), P(3), Z(4), P(5), P(6), Z(7), P(8), P(9)),
      (N(1), N(2), N(3), N(4), N(5), N(6), N(7), N(8), N(9)))
#else
TAKES(cudaMemPrefetchAsync, (P(1), Z(2), L(3), I(4), P(5)), (N(1), N(2), N(3), N(4), N(5)))
TAKES(cudaMemAdvise, (P(1), Z(2), I(3), L(4)), (N(1), N(2), N(3), N(4)))
TAKES(cudaGraphAddDependencies, (P(1), P(2), P(3), P(4), Z(5)), (N(1), N(2), N(3), N(4), N(5)))
TAKES(cudaStreamGetCaptureInfo, (P(1), P(2), P(3), P(4), P(5), P(6), P(7)),
      (N(1), N(2), N(3), N(4), N(5), N(6), N(7)))
TAKES(cudaStreamUpdateCaptureDependencies, (P(1), P(2), P(3), Z(4), I(5)),
      (N(1), N(2), N(3), N(4), N(5)))
TAKES(cudaMemcpyBatchAsync, (P(1), P(2), P(3), Z(4), P(5), P(6), Z(7), P(8)),
      (N(1), N(2), N(3), N(4), N(5), N(6), N(7), N(8)))
#endif
