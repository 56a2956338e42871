/*
 * cusolver.c - a stand-in for cuSOLVER: factorisations of dense matrices, in the API of each type and in the one of 64 bits,
 * and one sparse solver. As in the real one, part of the work is asked of cuBLAS. Results are not computed; "info" reports
 * success.
 */
#include "tests/standin/library.h"

enum {
	GETRF,
	GETRS,
	POTRF,
	GESVD,
	SYEVD,
	QR
};
static const char *const library_kernels[] = {"_Z19standin_getrf_us45_Pd",
					      "_Z19standin_getrs_us14_Pd",
					      "_Z19standin_potrf_us33_Pd",
					      "_Z20standin_gesvd_us120_Pd",
					      "_Z19standin_syevd_us90_Pd",
					      "_Z19standin_lsvqr_us70_Pd",
					      NULL};

enum { /* cusolverStatus_t */
	SOLVER_OK = 0,
	SOLVER_NOT_INITIALIZED = 1,
	SOLVER_INVALID_VALUE = 3,
	SOLVER_EXECUTION_FAILED = 6,
	SOLVER_INTERNAL_ERROR = 7,
};
enum {
	DENSE = 1,
	SPARSE,
	PARAMETERS,
};

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, CUstream stream);
int cublasDsyrk_v2(void *handle, int fill, int t, int n, int k, const double *alpha,
		   const double *a, int lda, const double *beta, double *c, int ldc);
int cublasDtrsm_v2(void *handle, int side, int fill, int t, int diagonal, int m, int n,
		   const double *alpha, const double *a, int lda, double *b, int ldb);

/* ---- handles: one of the dense solver holds one of cuBLAS ---- */

static int make(void **handle, int kind)
{
	if (!handle)
		return SOLVER_INVALID_VALUE;
	*handle = library_make(kind);
	return SOLVER_OK;
}

int cusolverDnCreate(void **handle)
{
	void *blas;

	if (!handle)
		return SOLVER_INVALID_VALUE;
	if (cublasCreate_v2(&blas))
		return SOLVER_NOT_INITIALIZED;
	make(handle, DENSE);
	((struct library_handle *)*handle)->known = blas;
	return SOLVER_OK;
}

int cusolverDnDestroy(void *handle)
{
	struct library_handle *h = library_find(handle, DENSE);

	if (!h)
		return SOLVER_NOT_INITIALIZED;
	cublasDestroy_v2(h->known);
	library_drop(handle, DENSE);
	return SOLVER_OK;
}

int cusolverDnSetStream(void *handle, CUstream stream)
{
	struct library_handle *h = library_find(handle, DENSE);

	if (!h)
		return SOLVER_NOT_INITIALIZED;
	h->stream = stream;
	return cublasSetStream_v2(h->known, stream) ? SOLVER_INTERNAL_ERROR : SOLVER_OK;
}

int cusolverDnGetStream(void *handle, CUstream *stream)
{
	struct library_handle *h = library_find(handle, DENSE);

	if (!h)
		return SOLVER_NOT_INITIALIZED;
	if (!stream)
		return SOLVER_INVALID_VALUE;
	*stream = h->stream;
	return SOLVER_OK;
}

int cusolverDnCreateParams(void **parameters)
{
	return make(parameters, PARAMETERS);
}

int cusolverDnDestroyParams(void *parameters)
{
	return library_drop(parameters, PARAMETERS) ? SOLVER_OK : SOLVER_INVALID_VALUE;
}

int cusolverSpCreate(void **handle)
{
	return make(handle, SPARSE);
}

int cusolverSpDestroy(void *handle)
{
	return library_drop(handle, SPARSE) ? SOLVER_OK : SOLVER_NOT_INITIALIZED;
}

int cusolverSpSetStream(void *handle, CUstream stream)
{
	struct library_handle *h = library_find(handle, SPARSE);

	if (!h)
		return SOLVER_NOT_INITIALIZED;
	h->stream = stream;
	return SOLVER_OK;
}

int cusolverGetVersion(int *version)
{
	if (!version)
		return SOLVER_INVALID_VALUE;
	*version = 12000;
	return SOLVER_OK;
}

/* ---- what all have in common: a matrix that can be, room to work in, the kernel, what cuBLAS does of it ---- */

static int check(void *handle, int64_t m, int64_t n, const void *a, int64_t lda)
{
	if (!library_find(handle, DENSE))
		return SOLVER_NOT_INITIALIZED;
	return m < 0 || n < 0 || !a || lda < (m > 1 ? m : 1) ? SOLVER_INVALID_VALUE : SOLVER_OK;
}

static int64_t room(int64_t m, int64_t n)
{
	return 32 * (m + n);
}

/* For a matrix: words. */
static int ask_room(void *handle, int64_t m, int64_t n, const void *a, int64_t lda, int *words)
{
	int r = check(handle, m, n, a, lda);

	if (r || !words)
		return r ? r : SOLVER_INVALID_VALUE;
	*words = (int)room(m, n);
	return SOLVER_OK;
}

/* On the device and on the host: bytes. */
static int ask_bytes(void *handle, int64_t m, int64_t n, const void *a, int64_t lda, size_t *device,
		     size_t *host)
{
	int r = check(handle, m, n, a, lda);

	if (r || !device || !host)
		return r ? r : SOLVER_INVALID_VALUE;
	*device = 8 * (size_t)room(m, n);
	*host = 0;
	return SOLVER_OK;
}

static int run(void *handle, int kernel, int64_t m, int64_t n, const void *a, int64_t lda,
	       const void *work, int64_t words, int *info)
{
	struct library_handle *h = library_find(handle, DENSE);
	int r = check(handle, m, n, a, lda);

	if (r || !info || !work || words < room(m, n))
		return r ? r : SOLVER_INVALID_VALUE;
	*info = 0;
	return library_launch(kernel, (unsigned)n / 32 + 1, h->stream) ? SOLVER_EXECUTION_FAILED
								       : SOLVER_OK;
}

/* The rest of the matrix, and the right-hand sides. */
static int rest(void *handle, int n, const void *a, int lda)
{
	static const double one = 1;
	struct library_handle *h = handle;

	return cublasDsyrk_v2(h->known, 0, 0, n, n, &one, a, lda, &one, (void *)(uintptr_t)a, lda)
		       ? SOLVER_INTERNAL_ERROR
		       : SOLVER_OK;
}

static int solve(void *handle, int t, int64_t n, int64_t sides, const void *a, int64_t lda,
		 const void *pivots, void *b, int64_t ldb, int *info)
{
	static const double one = 1;
	struct library_handle *h = library_find(handle, DENSE);
	int r = check(handle, n, n, a, lda), i;

	if (r || t < 0 || t > 2 || sides < 0 || !pivots || !b || !info || ldb < (n > 1 ? n : 1))
		return r ? r : SOLVER_INVALID_VALUE;
	*info = 0;
	if (library_launch(GETRS, 1, h->stream))
		return SOLVER_EXECUTION_FAILED;
	for (i = 0; i < 2 && !r; i++)
		r = cublasDtrsm_v2(h->known, 0, i, t, 0, (int)n, (int)sides, &one, a, (int)lda, b,
				   (int)ldb);
	return r ? SOLVER_INTERNAL_ERROR : SOLVER_OK;
}

/* ---- by type ---- */

#define DENSE_OF(letter, type, real)                                                               \
	int cusolverDn##letter##getrf_bufferSize(void *handle, int m, int n, type *a, int lda,     \
						 int *words)                                       \
	{                                                                                          \
		return ask_room(handle, m, n, a, lda, words);                                      \
	}                                                                                          \
	int cusolverDn##letter##getrf(void *handle, int m, int n, type *a, int lda, type *work,    \
				      int *pivots, int *info)                                      \
	{                                                                                          \
		(void)pivots; /* none wanted: without exchanging rows */                           \
		return run(handle, GETRF, m, n, a, lda, work, room(m, n), info);                   \
	}                                                                                          \
	int cusolverDn##letter##getrs(void *handle, int t, int n, int sides, const type *a,        \
				      int lda, const int *pivots, type *b, int ldb, int *info)     \
	{                                                                                          \
		return solve(handle, t, n, sides, a, lda, pivots, b, ldb, info);                   \
	}                                                                                          \
	int cusolverDn##letter##potrf_bufferSize(void *handle, int fill, int n, type *a, int lda,  \
						 int *words)                                       \
	{                                                                                          \
		(void)fill;                                                                        \
		return ask_room(handle, n, n, a, lda, words);                                      \
	}                                                                                          \
	int cusolverDn##letter##potrf(void *handle, int fill, int n, type *a, int lda, type *work, \
				      int words, int *info)                                        \
	{                                                                                          \
		int r = run(handle, POTRF, n, n, a, lda, work, words, info);                       \
                                                                                                   \
		(void)fill;                                                                        \
		return r ? r : rest(handle, n, a, lda);                                            \
	}                                                                                          \
	int cusolverDn##letter##gesvd_bufferSize(void *handle, int m, int n, int *words)           \
	{                                                                                          \
		return m < n ? SOLVER_INVALID_VALUE                                                \
			     : ask_room(handle, m, n, words, m > 1 ? m : 1, words);                \
	}                                                                                          \
	int cusolverDn##letter##gesvd(void *handle, signed char u_job, signed char v_job, int m,   \
				      int n, type *a, int lda, real *s, type *u, int ldu, type *v, \
				      int ldv, type *work, int words, real *more, int *info)       \
	{                                                                                          \
		(void)ldu, (void)ldv, (void)more;                                                  \
		if (!strchr("ASON", u_job) || !strchr("ASON", v_job) || m < n || !s ||             \
		    (u_job != 'N' && u_job != 'O' && !u) || (v_job != 'N' && v_job != 'O' && !v))  \
			return library_find(handle, DENSE) ? SOLVER_INVALID_VALUE                  \
							   : SOLVER_NOT_INITIALIZED;               \
		return run(handle, GESVD, m, n, a, lda, work, words, info);                        \
	}
DENSE_OF(S, float, float)
DENSE_OF(D, double, double)
DENSE_OF(C, void, float)
DENSE_OF(Z, void, double)

/* ---- 64 bits: the type is an argument, as is the room ---- */

static bool is_parameters(const void *p)
{
	return !p || library_find(p, PARAMETERS);
}

int cusolverDnXgetrf_bufferSize(void *handle, void *parameters, int64_t m, int64_t n, int type,
				const void *a, int64_t lda, int compute, size_t *device,
				size_t *host)
{
	(void)type, (void)compute;
	return is_parameters(parameters) ? ask_bytes(handle, m, n, a, lda, device, host)
					 : SOLVER_INVALID_VALUE;
}

int cusolverDnXgetrf(void *handle, void *parameters, int64_t m, int64_t n, int type, void *a,
		     int64_t lda, int64_t *pivots, int compute, void *device, size_t device_bytes,
		     void *host, size_t host_bytes, int *info)
{
	(void)type, (void)pivots, (void)compute, (void)host, (void)host_bytes;
	return is_parameters(parameters)
		       ? run(handle, GETRF, m, n, a, lda, device, (int64_t)device_bytes / 8, info)
		       : SOLVER_INVALID_VALUE;
}

int cusolverDnXgetrs(void *handle, void *parameters, int t, int64_t n, int64_t sides, int type,
		     const void *a, int64_t lda, const int64_t *pivots, int b_type, void *b,
		     int64_t ldb, int *info)
{
	(void)type, (void)b_type;
	return is_parameters(parameters) ? solve(handle, t, n, sides, a, lda, pivots, b, ldb, info)
					 : SOLVER_INVALID_VALUE;
}

int cusolverDnXpotrf_bufferSize(void *handle, void *parameters, int fill, int64_t n, int type,
				const void *a, int64_t lda, int compute, size_t *device,
				size_t *host)
{
	(void)fill;
	return cusolverDnXgetrf_bufferSize(handle, parameters, n, n, type, a, lda, compute, device,
					   host);
}

int cusolverDnXpotrf(void *handle, void *parameters, int fill, int64_t n, int type, void *a,
		     int64_t lda, int compute, void *device, size_t device_bytes, void *host,
		     size_t host_bytes, int *info)
{
	int r;

	(void)fill, (void)type, (void)compute, (void)host, (void)host_bytes;
	if (!is_parameters(parameters))
		return SOLVER_INVALID_VALUE;
	r = run(handle, POTRF, n, n, a, lda, device, (int64_t)device_bytes / 8, info);
	return r ? r : rest(handle, (int)n, a, (int)lda);
}

int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int job, int fill, int64_t n,
				int type, const void *a, int64_t lda, int w_type, const void *w,
				int compute, size_t *device, size_t *host)
{
	(void)job, (void)fill, (void)w_type;
	return w ? cusolverDnXgetrf_bufferSize(handle, parameters, n, n, type, a, lda, compute,
					       device, host)
		 : SOLVER_INVALID_VALUE;
}

int cusolverDnXsyevd(void *handle, void *parameters, int job, int fill, int64_t n, int type,
		     void *a, int64_t lda, int w_type, void *w, int compute, void *device,
		     size_t device_bytes, void *host, size_t host_bytes, int *info)
{
	(void)job, (void)fill, (void)type, (void)w_type, (void)compute, (void)host;
	(void)host_bytes;
	return is_parameters(parameters) && w
		       ? run(handle, SYEVD, n, n, a, lda, device, (int64_t)device_bytes / 8, info)
		       : SOLVER_INVALID_VALUE;
}

/* ---- sparse ---- */

int cusolverSpDcsrlsvqr(void *handle, int m, int filled, const void *matrix, const double *values,
			const int *offsets, const int *indices, const double *b, double tolerance,
			int reorder, double *x, int *singularity)
{
	struct library_handle *h = library_find(handle, SPARSE);

	(void)reorder;
	if (!h)
		return SOLVER_NOT_INITIALIZED;
	if (m < 0 || filled < 0 || !matrix || !values || !offsets || !indices || !b ||
	    !(tolerance >= 0) || !x || !singularity)
		return SOLVER_INVALID_VALUE;
	*singularity = -1; /* none */
	return library_launch(QR, 1, h->stream) ? SOLVER_EXECUTION_FAILED : SOLVER_OK;
}
