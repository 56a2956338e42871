/* cublaslt.c - a stand-in for cuBLASLt: descriptors, and a matmul that launches one kernel. */
#include "tests/standin/cublaslt.h"

#include "tests/standin/library.h"

static const char *const library_kernels[] = {"_Z24standin_lt_matmul_us60_fPKvS0_Pv", NULL};

enum {
	LIGHT = 1,
	LAYOUT,
	MATMUL,
	PREFERENCE,
	BLAS_HANDLE
};

/* ---- handles ---- */

/* A handle of cuBLAS is one of cuBLASLt's, too: PyTorch makes use of that. */
static bool is_light(const void *handle)
{
	struct library_handle *h;

	if (library_find(handle, LIGHT))
		return true;
	pthread_mutex_lock(&library_lock);
	for (h = library_handles; h && (h->kind != BLAS_HANDLE || h->workspace != handle);
	     h = h->next)
		;
	pthread_mutex_unlock(&library_lock);
	return h != NULL;
}

void *cublasLtStandinKnow(void *handle)
{
	struct library_handle *h = library_make(BLAS_HANDLE);

	h->workspace = handle;
	return h;
}

void cublasLtStandinForget(void *known)
{
	library_drop(known, BLAS_HANDLE);
}

#define MAKE(handle, kind)                               \
	({                                               \
		if (!(handle))                           \
			return CUBLAS_INVALID_VALUE;     \
		*(void **)(handle) = library_make(kind); \
	})
#define CHECKED(handle, kind) (library_find(handle, kind) ? CUBLAS_OK : CUBLAS_INVALID_VALUE)

int cublasLtCreate(void **handle)
{
	MAKE(handle, LIGHT);
	return CUBLAS_OK;
}

int cublasLtDestroy(void *handle)
{
	return library_drop(handle, LIGHT) ? CUBLAS_OK : CUBLAS_NOT_INITIALIZED;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
			       int64_t stride)
{
	struct library_handle *h;

	(void)stride;
	MAKE(layout, LAYOUT);
	h = *layout;
	h->numbers[0] = type;
	h->numbers[1] = (int)rows;
	h->numbers[2] = (int)columns;
	return CUBLAS_OK;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
	return library_drop(layout, LAYOUT) ? CUBLAS_OK : CUBLAS_INVALID_VALUE;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
	(void)attribute;
	return value && bytes ? CHECKED(layout, LAYOUT) : CUBLAS_INVALID_VALUE;
}

int cublasLtMatmulDescCreate(void **matmul, int compute, int scale)
{
	struct library_handle *h;

	MAKE(matmul, MATMUL);
	h = *matmul;
	h->numbers[0] = compute;
	h->numbers[1] = scale;
	return CUBLAS_OK;
}

int cublasLtMatmulDescDestroy(void *matmul)
{
	return library_drop(matmul, MATMUL) ? CUBLAS_OK : CUBLAS_INVALID_VALUE;
}

int cublasLtMatmulDescSetAttribute(void *matmul, int attribute, const void *value, size_t bytes)
{
	(void)attribute;
	return value && bytes ? CHECKED(matmul, MATMUL) : CUBLAS_INVALID_VALUE;
}

int cublasLtMatmulPreferenceCreate(void **preference)
{
	MAKE(preference, PREFERENCE);
	return CUBLAS_OK;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
	return library_drop(preference, PREFERENCE) ? CUBLAS_OK : CUBLAS_INVALID_VALUE;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
					 size_t bytes)
{
	(void)attribute;
	return value && bytes ? CHECKED(preference, PREFERENCE) : CUBLAS_INVALID_VALUE;
}

/* cublasLtMatmulHeuristicResult_t */
struct heuristic {
	uint64_t algorithm[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

/* One algorithm, which fits everything. */
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *matmul, void *a, void *b, void *c, void *d,
				   void *preference, int wanted, struct heuristic *results,
				   int *cnt)
{
	if (!is_light(handle))
		return CUBLAS_NOT_INITIALIZED;
	if (!library_find(matmul, MATMUL) || !library_find(a, LAYOUT) || !library_find(b, LAYOUT) ||
	    !library_find(c, LAYOUT) || !library_find(d, LAYOUT) ||
	    !library_find(preference, PREFERENCE) || wanted < 1 || !results || !cnt)
		return CUBLAS_INVALID_VALUE;
	*results = (struct heuristic){.algorithm = {1}, .waves = 1};
	*cnt = 1;
	return CUBLAS_OK;
}

int cublasLtMatmul(void *handle, void *matmul, const void *alpha, const void *a, void *a_layout,
		   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		   void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
		   CUstream stream)
{
	struct library_handle *to = library_find(d_layout, LAYOUT);

	(void)algorithm;
	(void)workspace;
	(void)bytes;
	(void)c;
	if (!is_light(handle))
		return CUBLAS_NOT_INITIALIZED;
	if (!library_find(matmul, MATMUL) || !library_find(a_layout, LAYOUT) ||
	    !library_find(b_layout, LAYOUT) || !library_find(c_layout, LAYOUT) || !to || !alpha ||
	    !beta || !a || !b || !d)
		return CUBLAS_INVALID_VALUE;
	return library_launch(0, (unsigned)to->numbers[1] / 64 + 1, stream)
		       ? CUBLAS_EXECUTION_FAILED
		       : CUBLAS_OK;
}
