/* cublaslt.h - between the stand-ins for cuBLAS and cuBLASLt. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tests/standin/cuda_types.h"

enum {
	CUBLAS_OK = 0,
	CUBLAS_NOT_INITIALIZED = 1,
	CUBLAS_INVALID_VALUE = 7,
	CUBLAS_EXECUTION_FAILED = 13,
	CUBLAS_NOT_SUPPORTED = 15,
};

/* Not of the real ones: cuBLASLt learns of a handle of cuBLAS, and that it is no more. */
void *cublasLtStandinKnow(void *handle);
void cublasLtStandinForget(void *known);

int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
			       int64_t stride);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulDescCreate(void **matmul, int compute, int scale);
int cublasLtMatmulDescDestroy(void *matmul);
int cublasLtMatmul(void *handle, void *matmul, const void *alpha, const void *a, void *a_layout,
		   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		   void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
		   CUstream stream);
