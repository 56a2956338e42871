/*
 * libs.c - a program that uses cuBLAS, cuBLASLt, cuDNN and NCCL beside the runtime. It prints what it did as train.c does,
 * and what these libraries do in turn on the stand-ins: "inner NAME COUNT" are calls that have rows of their own.
 * -n: how often.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

struct unique_id {
	char bytes[128];
};

#define FUNCTIONS(F)                                                                               \
	F(int, cudaMalloc, (void **, size_t))                                                      \
	F(int, cudaFree, (void *))                                                                 \
	F(int, cudaStreamCreateWithFlags, (CUstream *, unsigned))                                  \
	F(int, cudaStreamSynchronize, (CUstream))                                                  \
	F(int, cudaStreamDestroy, (CUstream))                                                      \
	F(int, cublasCreate_v2, (void **))                                                         \
	F(int, cublasDestroy_v2, (void *))                                                         \
	F(int, cublasSetStream_v2, (void *, CUstream))                                             \
	F(int, cublasGetVersion_v2, (void *, int *))                                               \
	F(int, cublasSgemm_v2,                                                                     \
	  (void *, int, int, int, int, int, const float *, const void *, int, const void *, int,   \
	   const float *, void *, int))                                                            \
	F(int, cublasSgemmStridedBatched,                                                          \
	  (void *, int, int, int, int, int, const float *, const void *, int, long long,           \
	   const void *, int, long long, const float *, void *, int, long long, int))              \
	F(int, cublasGemmEx,                                                                       \
	  (void *, int, int, int, int, int, const void *, const void *, int, int, const void *,    \
	   int, int, const void *, void *, int, int, int, int))                                    \
	F(int, cublasSdot_v2, (void *, int, const float *, int, const float *, int, float *))      \
	F(int, cublasChpr2_v2, (void *))                                                           \
	F(int, cublasLtCreate, (void **))                                                          \
	F(int, cublasLtDestroy, (void *))                                                          \
	F(int, cublasLtMatmulDescCreate, (void **, int, int))                                      \
	F(int, cublasLtMatmulDescDestroy, (void *))                                                \
	F(int, cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))            \
	F(int, cublasLtMatrixLayoutDestroy, (void *))                                              \
	F(int, cublasLtMatmul,                                                                     \
	  (void *, void *, const void *, const void *, void *, const void *, void *, const void *, \
	   const void *, void *, void *, void *, const void *, void *, size_t, CUstream))          \
	F(int, cudnnCreate, (void **))                                                             \
	F(int, cudnnDestroy, (void *))                                                             \
	F(int, cudnnSetStream, (void *, CUstream))                                                 \
	F(int, cudnnCreateTensorDescriptor, (void **))                                             \
	F(int, cudnnDestroyTensorDescriptor, (void *))                                             \
	F(int, cudnnSetTensor4dDescriptor, (void *, int, int, int, int, int, int))                 \
	F(int, cudnnCreateFilterDescriptor, (void **))                                             \
	F(int, cudnnDestroyFilterDescriptor, (void *))                                             \
	F(int, cudnnCreateConvolutionDescriptor, (void **))                                        \
	F(int, cudnnDestroyConvolutionDescriptor, (void *))                                        \
	F(int, cudnnConvolutionForward,                                                            \
	  (void *, const void *, void *, const void *, void *, const void *, void *, int, void *,  \
	   size_t, const void *, void *, void *))                                                  \
	F(int, ncclGetUniqueId, (struct unique_id *))                                              \
	F(int, ncclCommInitRank, (void **, int, struct unique_id, int))                            \
	F(int, ncclCommDestroy, (void *))                                                          \
	F(int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, CUstream))          \
	F(int, ncclAllGather, (const void *, void *, size_t, int, void *, CUstream))               \
	F(int, ncclGroupStart, (void))                                                             \
	F(int, ncclGroupEnd, (void))
#include "tests/gpu/tally.h"

static unsigned long inner_mallocs, inner_frees, inner_launches;
static const float one = 1;
static float *a, *b, *c;
static CUstream stream;
static int repeat = 5;

static void blas(void)
{
	void *handle;
	float dot = -1;
	int i, version;

	DO(cublasCreate_v2, &handle);
	DO(cublasSetStream_v2, handle, stream);
	DO(cublasGetVersion_v2, handle, &version);
	for (i = 0; i < repeat; i++) {
		DO(cublasSgemm_v2, handle, 0, 1, 128, 256, 64, &one, a, 128, b, 256, &one, c, 128);
		DO(cublasSgemmStridedBatched, handle, 0, 0, 16, 32, 48, &one, a, 16, 768, b, 48,
		   1536, &one, c, 16, 512, 4);
		DO(cublasGemmEx, handle, 0, 0, 512, 256, 128, &one, a, 2, 512, b, 2, 128, &one, c,
		   2, 512, 68, -1);
		DO(cublasSdot_v2, handle, 1000, a, 1, b, 1, &dot);
		inner_launches += 1 + 1 + 1 + 2;
	}
	printf("dot %g\nunsupported %d\nwrong handle %d\n", dot, CALL(cublasChpr2_v2, handle),
	       CALL(cublasSetStream_v2, a, NULL));
	DO(cublasDestroy_v2, handle);
	inner_mallocs++;
	inner_frees++;
}

static void light(void)
{
	void *handle, *matmul, *layout;
	int i;

	DO(cublasLtCreate, &handle);
	DO(cublasLtMatmulDescCreate, &matmul, 68, 0);
	DO(cublasLtMatrixLayoutCreate, &layout, 0, 128, 128, 128);
	for (i = 0; i < repeat; i++, inner_launches++)
		DO(cublasLtMatmul, handle, matmul, &one, a, layout, b, layout, &one, c, layout, c,
		   layout, NULL, NULL, 0, stream);
	DO(cublasLtMatrixLayoutDestroy, layout);
	DO(cublasLtMatmulDescDestroy, matmul);
	DO(cublasLtDestroy, handle);
}

static void dnn(void)
{
	void *handle, *x, *w, *convolution;
	int i;

	DO(cudnnCreate, &handle);
	inner_mallocs++;
	inner_frees++;
	DO(cudnnSetStream, handle, stream);
	DO(cudnnCreateTensorDescriptor, &x);
	DO(cudnnSetTensor4dDescriptor, x, 0, 0, 8, 3, 32, 32);
	DO(cudnnCreateFilterDescriptor, &w);
	DO(cudnnCreateConvolutionDescriptor, &convolution);
	for (i = 0; i < repeat; i++, inner_launches += 2)
		DO(cudnnConvolutionForward, handle, &one, x, a, w, b, convolution, 1, NULL, 0, &one,
		   x, c);
	printf("wrong descriptor %d\n", CALL(cudnnSetTensor4dDescriptor, w, 0, 0, 1, 1, 1, 1));
	DO(cudnnDestroyConvolutionDescriptor, convolution);
	DO(cudnnDestroyFilterDescriptor, w);
	DO(cudnnDestroyTensorDescriptor, x);
	DO(cudnnDestroy, handle);
}

static void collectives(void)
{
	struct unique_id id;
	void *comm;
	int i;

	DO(ncclGetUniqueId, &id);
	DO(ncclCommInitRank, &comm, 1, id, 0);
	inner_mallocs++;
	for (i = 0; i < repeat; i++) {
		DO(ncclAllReduce, a, b, 1000, 7, 0, comm, stream);
		DO(ncclGroupStart);
		DO(ncclAllReduce, a, b, 2000, 7, 0, comm, stream);
		DO(ncclAllGather, a, c, 3000, 7, comm, stream);
		DO(ncclGroupEnd);
		inner_launches += 3;
	}
	printf("all reduced %d\n", memcmp(a, b, 8000) == 0);
	DO(ncclCommDestroy, comm);
	inner_frees++;
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "n:")) != -1) {
		if (o != 'n')
			return 2;
		repeat = atoi(optarg);
	}
	DO(cudaMalloc, (void **)&a, 1 << 20);
	DO(cudaMalloc, (void **)&b, 1 << 20);
	DO(cudaMalloc, (void **)&c, 1 << 20);
	DO(cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	blas();
	light();
	dnn();
	collectives();
	DO(cudaStreamSynchronize, stream);
	DO(cudaStreamDestroy, stream);
	DO(cudaFree, c);
	DO(cudaFree, b);
	DO(cudaFree, a);
	tally_print();
	printf("inner cudaMalloc %lu\ninner cudaFree %lu\ninner cudaLaunchKernel %lu\n",
	       inner_mallocs, inner_frees, inner_launches);
	printf("kernels %lu\nthread 1\n", inner_launches);
	return 0;
}
