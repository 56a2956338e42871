/*
 * cublas.c - a stand-in for cuBLAS: the gemm family launches a kernel, GemmEx goes through cuBLASLt, as in the real
 * one; a dot product launches two. Results are not computed (kernels have no code) but always written.
 */
#include "tests/standin/cublaslt.h"
#include "tests/standin/library.h"

enum {
	GEMM_S,
	GEMM_D,
	GEMM_H,
	GEMM_C,
	GEMM_Z,
	GEMV,
	AXPY,
	DOT,
	REDUCE
};
static const char *const library_kernels[] = {
	"_Z19standin_sgemm_us40_PKfS0_Pf",  "_Z19standin_dgemm_us80_PKdS0_Pd",
	"_Z19standin_hgemm_us20_PKvS0_Pv",  "_Z20standin_cgemm_us100_PKvS0_Pv",
	"_Z20standin_zgemm_us160_PKvS0_Pv", "_Z18standin_gemv_us10_PKfS0_Pf",
	"_Z17standin_axpy_us5_PKfPf",       "_Z16standin_dot_us6_PKfS0_Pf",
	"_Z19standin_reduce_us4_Pf",        NULL};

enum {
	HANDLE = 1,
	WORKSPACE_BYTES = 4 << 20,
	POINTER_MODE = 0, /* in numbers; 1: results go to device memory */
};

/* ---- handles ---- */

int cublasCreate_v2(void **handle)
{
	struct library_handle *h;
	void *workspace;

	if (!handle)
		return CUBLAS_INVALID_VALUE;
	if (cudaMalloc(&workspace, WORKSPACE_BYTES))
		return CUBLAS_NOT_INITIALIZED;
	h = library_make(HANDLE);
	h->workspace = workspace;
	h->known = cublasLtStandinKnow(h);
	*handle = h;
	return CUBLAS_OK;
}

int cublasDestroy_v2(void *handle)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	cudaFree(h->workspace);
	cublasLtStandinForget(h->known);
	library_drop(handle, HANDLE);
	return CUBLAS_OK;
}

int cublasSetStream_v2(void *handle, CUstream stream)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	h->stream = stream;
	return CUBLAS_OK;
}

int cublasGetStream_v2(void *handle, CUstream *stream)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	if (!stream)
		return CUBLAS_INVALID_VALUE;
	*stream = h->stream;
	return CUBLAS_OK;
}

int cublasGetVersion_v2(void *handle, int *version)
{
	(void)handle;
	if (!version)
		return CUBLAS_INVALID_VALUE;
	*version = 130000;
	return CUBLAS_OK;
}

int cublasSetMathMode(void *handle, int mode)
{
	(void)mode;
	return library_find(handle, HANDLE) ? CUBLAS_OK : CUBLAS_NOT_INITIALIZED;
}

int cublasGetMathMode(void *handle, int *mode)
{
	if (!library_find(handle, HANDLE))
		return CUBLAS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_INVALID_VALUE;
	*mode = 0;
	return CUBLAS_OK;
}

int cublasSetPointerMode_v2(void *handle, int mode)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	h->numbers[POINTER_MODE] = mode;
	return CUBLAS_OK;
}

int cublasGetPointerMode_v2(void *handle, int *mode)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_INVALID_VALUE;
	*mode = h->numbers[POINTER_MODE];
	return CUBLAS_OK;
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
	(void)workspace;
	(void)bytes;
	return library_find(handle, HANDLE) ? CUBLAS_OK : CUBLAS_NOT_INITIALIZED;
}

const char *cublasGetStatusString(int status)
{
	switch (status) {
	case CUBLAS_OK:
		return "the operation was successful";
	case CUBLAS_NOT_SUPPORTED:
		return "not supported by this stand-in";
	default:
		return "failed";
	}
}

/* ---- work ---- */

static int launch(void *handle, int kernel, int64_t m, int64_t n, int64_t k, const void *a,
		  const void *b, const void *c)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || k < 0)
		return CUBLAS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_OK;
	if (!a || !b || !c)
		return CUBLAS_INVALID_VALUE;
	return library_launch(kernel, (unsigned)((m / 64 + 1) * (n / 64 + 1)), h->stream)
		       ? CUBLAS_EXECUTION_FAILED
		       : CUBLAS_OK;
}

/* The plain form and the one for batches, each with 32-bit and 64-bit sizes. */
#define GEMM(name, batched, kernel, integer, suffix)                                         \
	int name##suffix(void *handle, int ta, int tb, integer m, integer n, integer k,      \
			 const void *alpha, const void *a, integer lda, const void *b,       \
			 integer ldb, const void *beta, void *c, integer ldc)                \
	{                                                                                    \
		(void)ta, (void)tb, (void)lda, (void)ldb, (void)ldc;                         \
		return alpha && beta ? launch(handle, kernel, m, n, k, a, b, c)              \
				     : CUBLAS_INVALID_VALUE;                                 \
	}                                                                                    \
	int batched##suffix(void *handle, int ta, int tb, integer m, integer n, integer k,   \
			    const void *alpha, const void *a, integer lda, long long step_a, \
			    const void *b, integer ldb, long long step_b, const void *beta,  \
			    void *c, integer ldc, long long step_c, integer cnt)             \
	{                                                                                    \
		(void)ta, (void)tb, (void)lda, (void)ldb, (void)ldc;                         \
		(void)step_a, (void)step_b, (void)step_c;                                    \
		return alpha && beta && cnt >= 0 ? launch(handle, kernel, m, n, k, a, b, c)  \
						 : CUBLAS_INVALID_VALUE;                     \
	}
GEMM(cublasSgemm_v2, cublasSgemmStridedBatched, GEMM_S, int, )
GEMM(cublasSgemm_v2, cublasSgemmStridedBatched, GEMM_S, int64_t, _64)
GEMM(cublasDgemm_v2, cublasDgemmStridedBatched, GEMM_D, int, )
GEMM(cublasDgemm_v2, cublasDgemmStridedBatched, GEMM_D, int64_t, _64)
GEMM(cublasHgemm, cublasHgemmStridedBatched, GEMM_H, int, )
GEMM(cublasHgemm, cublasHgemmStridedBatched, GEMM_H, int64_t, _64)
GEMM(cublasCgemm_v2, cublasCgemmStridedBatched, GEMM_C, int, )
GEMM(cublasCgemm_v2, cublasCgemmStridedBatched, GEMM_C, int64_t, _64)
GEMM(cublasZgemm_v2, cublasZgemmStridedBatched, GEMM_Z, int, )
GEMM(cublasZgemm_v2, cublasZgemmStridedBatched, GEMM_Z, int64_t, _64)

/* One call of a library inside another's: both are public functions. */
static int light(void *handle, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
		 const void *b, const void *beta, void *c)
{
	struct library_handle *h = library_find(handle, HANDLE);
	void *lt, *matmul, *la, *lb, *lc;
	int r;

	if (!h)
		return CUBLAS_NOT_INITIALIZED;
	cublasLtCreate(&lt);
	cublasLtMatmulDescCreate(&matmul, 68, 0);
	cublasLtMatrixLayoutCreate(&la, 0, (uint64_t)m, (uint64_t)k, m);
	cublasLtMatrixLayoutCreate(&lb, 0, (uint64_t)k, (uint64_t)n, k);
	cublasLtMatrixLayoutCreate(&lc, 0, (uint64_t)m, (uint64_t)n, m);
	r = cublasLtMatmul(lt, matmul, alpha, a, la, b, lb, beta, c, lc, c, lc, NULL, h->workspace,
			   WORKSPACE_BYTES, h->stream);
	cublasLtMatrixLayoutDestroy(lc);
	cublasLtMatrixLayoutDestroy(lb);
	cublasLtMatrixLayoutDestroy(la);
	cublasLtMatmulDescDestroy(matmul);
	cublasLtDestroy(lt);
	return r;
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
		 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
	(void)ta, (void)tb, (void)a_type, (void)lda, (void)b_type, (void)ldb;
	(void)c_type, (void)ldc, (void)compute, (void)algorithm;
	return light(handle, m, n, k, alpha, a, b, beta, c);
}

int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
			       const void *a, int a_type, int lda, long long step_a, const void *b,
			       int b_type, int ldb, long long step_b, const void *beta, void *c,
			       int c_type, int ldc, long long step_c, int cnt, int compute,
			       int algorithm)
{
	(void)ta, (void)tb, (void)a_type, (void)lda, (void)b_type, (void)ldb;
	(void)c_type, (void)ldc, (void)compute, (void)algorithm;
	(void)step_a, (void)step_b, (void)step_c, (void)cnt;
	return light(handle, m, n, k, alpha, a, b, beta, c);
}

#define GEMV_OF(name, type)                                                                    \
	int name(void *handle, int t, int m, int n, const type *alpha, const type *a, int lda, \
		 const type *x, int step_x, const type *beta, type *y, int step_y)             \
	{                                                                                      \
		(void)t, (void)lda, (void)step_x, (void)step_y;                                \
		return alpha && beta ? launch(handle, GEMV, m, n, 1, a, x, y)                  \
				     : CUBLAS_INVALID_VALUE;                                   \
	}
GEMV_OF(cublasSgemv_v2, float)
GEMV_OF(cublasDgemv_v2, double)

int cublasSaxpy_v2(void *handle, int n, const float *alpha, const float *x, int step_x, float *y,
		   int step_y)
{
	(void)step_x, (void)step_y;
	return alpha ? launch(handle, AXPY, n, 1, 1, x, x, y) : CUBLAS_INVALID_VALUE;
}

/* A dot product is written by the calling side, where the pointer is one of the host's. */
#define DOT_PRODUCT(name, type)                                                             \
	int name(void *handle, int n, const type *x, int step_x, const type *y, int step_y, \
		 type *result)                                                              \
	{                                                                                   \
		int r;                                                                      \
                                                                                            \
		(void)step_x, (void)step_y;                                                 \
		if (!result)                                                                \
			return CUBLAS_INVALID_VALUE;                                        \
		r = launch(handle, DOT, n, 1, 1, x, y, result);                             \
		if (!r)                                                                     \
			r = launch(handle, REDUCE, n, 1, 1, x, y, result);                  \
		if (!r && !((struct library_handle *)handle)->numbers[POINTER_MODE])        \
			*result = 0;                                                        \
		return r;                                                                   \
	}
DOT_PRODUCT(cublasSdot_v2, float)
DOT_PRODUCT(cublasDdot_v2, double)

/* ---- what else programs of Debian call: triangles, ranks, vectors ---- */

#define REAL(letter, type, gemm)                                                                   \
	int cublas##letter##trsm_v2(void *handle, int side, int fill, int t, int diagonal, int m,  \
				    int n, const type *alpha, const type *a, int lda, type *b,     \
				    int ldb)                                                       \
	{                                                                                          \
		(void)side, (void)fill, (void)t, (void)diagonal, (void)lda, (void)ldb;             \
		return alpha ? launch(handle, gemm, m, n, 1, a, b, b) : CUBLAS_INVALID_VALUE;      \
	}                                                                                          \
	int cublas##letter##trsmBatched(void *handle, int side, int fill, int t, int diagonal,     \
					int m, int n, const type *alpha, const type *const a[],    \
					int lda, type *const b[], int ldb, int cnt)                \
	{                                                                                          \
		(void)side, (void)fill, (void)t, (void)diagonal, (void)lda, (void)ldb;             \
		return alpha && cnt >= 0 ? launch(handle, gemm, m, n, 1, a, b, b)                  \
					 : CUBLAS_INVALID_VALUE;                                   \
	}                                                                                          \
	int cublas##letter##gemmBatched(void *handle, int ta, int tb, int m, int n, int k,         \
					const type *alpha, const type *const a[], int lda,         \
					const type *const b[], int ldb, const type *beta,          \
					type *const c[], int ldc, int cnt)                         \
	{                                                                                          \
		(void)ta, (void)tb, (void)lda, (void)ldb, (void)ldc;                               \
		return alpha && beta && cnt >= 0 ? launch(handle, gemm, m, n, k, a, b, c)          \
						 : CUBLAS_INVALID_VALUE;                           \
	}                                                                                          \
	int cublas##letter##syrk_v2(void *handle, int fill, int t, int n, int k,                   \
				    const type *alpha, const type *a, int lda, const type *beta,   \
				    type *c, int ldc)                                              \
	{                                                                                          \
		(void)fill, (void)t, (void)lda, (void)ldc;                                         \
		return alpha && beta ? launch(handle, gemm, n, n, k, a, a, c)                      \
				     : CUBLAS_INVALID_VALUE;                                       \
	}                                                                                          \
	int cublas##letter##ger_v2(void *handle, int m, int n, const type *alpha, const type *x,   \
				   int step_x, const type *y, int step_y, type *a, int lda)        \
	{                                                                                          \
		(void)step_x, (void)step_y, (void)lda;                                             \
		return alpha ? launch(handle, GEMV, m, n, 1, x, y, a) : CUBLAS_INVALID_VALUE;      \
	}                                                                                          \
	int cublas##letter##scal_v2(void *handle, int n, const type *alpha, type *x, int step)     \
	{                                                                                          \
		(void)step;                                                                        \
		return alpha ? launch(handle, AXPY, n, 1, 1, x, x, x) : CUBLAS_INVALID_VALUE;      \
	}                                                                                          \
	int cublas##letter##swap_v2(void *handle, int n, type *x, int step_x, type *y, int step_y) \
	{                                                                                          \
		(void)step_x, (void)step_y;                                                        \
		return launch(handle, AXPY, n, 1, 1, x, y, y);                                     \
	}                                                                                          \
	int cublas##letter##asum_v2(void *handle, int n, const type *x, int step, type *result)    \
	{                                                                                          \
		int r = result ? launch(handle, REDUCE, n, 1, 1, x, x, result)                     \
			       : CUBLAS_INVALID_VALUE;                                             \
                                                                                                   \
		(void)step;                                                                        \
		if (!r && !((struct library_handle *)handle)->numbers[POINTER_MODE])               \
			*result = 0;                                                               \
		return r;                                                                          \
	}                                                                                          \
	int cublasI##letter##amax_v2(void *handle, int n, const type *x, int step, int *result)    \
	{                                                                                          \
		int r = result ? launch(handle, REDUCE, n, 1, 1, x, x, result)                     \
			       : CUBLAS_INVALID_VALUE;                                             \
                                                                                                   \
		(void)step;                                                                        \
		if (!r && !((struct library_handle *)handle)->numbers[POINTER_MODE])               \
			*result = 1; /* they count from 1 */                                       \
		return r;                                                                          \
	}
REAL(S, float, GEMM_S)
REAL(D, double, GEMM_D)

int cublasGemmBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
			const void *const a[], int a_type, int lda, const void *const b[],
			int b_type, int ldb, const void *beta, void *const c[], int c_type, int ldc,
			int cnt, int compute, int algorithm)
{
	(void)ta, (void)tb, (void)a_type, (void)lda, (void)b_type, (void)ldb;
	(void)c_type, (void)ldc, (void)compute, (void)algorithm;
	return alpha && beta && cnt >= 0 ? launch(handle, GEMM_S, m, n, k, a, b, c)
					 : CUBLAS_INVALID_VALUE;
}

/* ---- the first version of the API had one handle, without an owner ---- */

static void *first_handle;

int cublasInit(void)
{
	return first_handle ? CUBLAS_OK : cublasCreate_v2(&first_handle);
}

int cublasShutdown(void)
{
	int r = cublasDestroy_v2(first_handle);

	first_handle = NULL;
	return r;
}

int cublasSetKernelStream(CUstream stream)
{
	return cublasSetStream_v2(first_handle, stream);
}

/* ---- matrices and vectors over the bus: columns of a matrix and elements of a vector are the rows of a copy ---- */

int cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		      size_t height, int kind, CUstream stream);
int cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		 size_t height, int kind);

static int carry(size_t width, int height, const void *src, size_t src_pitch, void *dst,
		 size_t dst_pitch, int kind, bool wait, CUstream stream)
{
	int r;

	if (height < 0 || width > src_pitch || width > dst_pitch)
		return CUBLAS_INVALID_VALUE;
	if (!width || !height)
		return CUBLAS_OK;
	r = wait ? cudaMemcpy2D(dst, dst_pitch, src, src_pitch, width, (size_t)height, kind)
		 : cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, (size_t)height, kind,
				     stream);
	return r ? CUBLAS_EXECUTION_FAILED : CUBLAS_OK;
}

#define CARRY(name, kind)                                                                          \
	int cublas##name##Matrix(int rows, int columns, int bytes, const void *a, int lda,         \
				 void *b, int ldb)                                                 \
	{                                                                                          \
		return carry((size_t)rows * (size_t)bytes, columns, a,                             \
			     (size_t)lda * (size_t)bytes, b, (size_t)ldb * (size_t)bytes, kind,    \
			     true, NULL);                                                          \
	}                                                                                          \
	int cublas##name##MatrixAsync(int rows, int columns, int bytes, const void *a, int lda,    \
				      void *b, int ldb, CUstream stream)                           \
	{                                                                                          \
		return carry((size_t)rows * (size_t)bytes, columns, a,                             \
			     (size_t)lda * (size_t)bytes, b, (size_t)ldb * (size_t)bytes, kind,    \
			     false, stream);                                                       \
	}                                                                                          \
	int cublas##name##Vector(int n, int bytes, const void *x, int step_x, void *y, int step_y) \
	{                                                                                          \
		return carry((size_t)bytes, n, x, (size_t)step_x * (size_t)bytes, y,               \
			     (size_t)step_y * (size_t)bytes, kind, true, NULL);                    \
	}
CARRY(Set, CUDA_HOST_TO_DEVICE)
CARRY(Get, CUDA_DEVICE_TO_HOST)
