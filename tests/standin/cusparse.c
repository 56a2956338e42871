/*
 * cusparse.c - a stand-in for cuSPARSE: the generic API (descriptors, SpMV, SpMM, SpGEMM with its order of calls) and one
 * solver of the older one. Results are not computed.
 */
#include "tests/standin/library.h"

enum {
	SPMV,
	SPMM,
	ESTIMATE,
	PRODUCTS,
	COPY,
	TRIDIAGONAL,
	TO_DENSE
};
static const char *const library_kernels[] = {
	"_Z22standin_csrmv_us18_abcPKf",      "_Z22standin_csrmm_us35_abcPKf",
	"_Z27standin_gemm_estimate_us12_PKf", "_Z26standin_gemm_compute_us60_PKf",
	"_Z22standin_gemm_copy_us6_Pf",       "_Z18standin_gtsv_us15_Pf",
	"_Z22standin_to_dense_us11_Pf",       NULL};

enum { /* cusparseStatus_t */
	SPARSE_OK = 0,
	SPARSE_NOT_INITIALIZED = 1,
	SPARSE_INVALID_VALUE = 3,
	SPARSE_EXECUTION_FAILED = 6,
};
enum {
	HANDLE = 1,
	MATRIX, /* sparse */
	VECTOR, /* dense, as the next */
	COLUMNS,
	PRODUCT,    /* what SpGEMM keeps between its calls */
	OLD_MATRIX, /* cusparseMatDescr_t */
	/* numbers of descriptors */
	ROWS = 0,
	COLS,
	FILLED,   /* entries that are not 0 */
	STEP = 0, /* of a product: how far it is */
	BUFFER_BYTES = 4096
};

/* ---- handles and descriptors ---- */

static int make(void **to, int kind, int64_t rows, int64_t columns, int64_t filled)
{
	struct library_handle *h;

	if (!to || rows < 0 || columns < 0 || filled < 0)
		return SPARSE_INVALID_VALUE;
	h = library_make(kind);
	h->numbers[ROWS] = (int)rows;
	h->numbers[COLS] = (int)columns;
	h->numbers[FILLED] = (int)filled;
	*to = h;
	return SPARSE_OK;
}

static int drop(void *handle, int kind)
{
	return library_drop(handle, kind) ? SPARSE_OK
	       : kind == HANDLE           ? SPARSE_NOT_INITIALIZED
					  : SPARSE_INVALID_VALUE;
}

int cusparseCreate(void **handle)
{
	return make(handle, HANDLE, 0, 0, 0);
}

int cusparseDestroy(void *handle)
{
	return drop(handle, HANDLE);
}

int cusparseSetStream(void *handle, CUstream stream)
{
	struct library_handle *h = library_find(handle, HANDLE);

	if (!h)
		return SPARSE_NOT_INITIALIZED;
	h->stream = stream;
	return SPARSE_OK;
}

int cusparseGetVersion(void *handle, int *version)
{
	if (!library_find(handle, HANDLE))
		return SPARSE_NOT_INITIALIZED;
	if (!version)
		return SPARSE_INVALID_VALUE;
	*version = 12600;
	return SPARSE_OK;
}

int cusparseCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t filled, void *offsets,
		      void *indices, void *values, int offset_type, int index_type, int base,
		      int type)
{
	(void)indices, (void)values, (void)offset_type, (void)index_type, (void)type;
	/* Indices come later where SpGEMM is to find out how many there are. */
	if (!offsets || (base != 0 && base != 1))
		return SPARSE_INVALID_VALUE;
	return make(matrix, MATRIX, rows, columns, filled);
}

int cusparseCsrSetPointers(void *matrix, void *offsets, void *indices, void *values)
{
	return library_find(matrix, MATRIX) && offsets && indices && values ? SPARSE_OK
									    : SPARSE_INVALID_VALUE;
}

int cusparseSpMatGetSize(void *matrix, int64_t *rows, int64_t *columns, int64_t *filled)
{
	struct library_handle *h = library_find(matrix, MATRIX);

	if (!h || !rows || !columns || !filled)
		return SPARSE_INVALID_VALUE;
	*rows = h->numbers[ROWS];
	*columns = h->numbers[COLS];
	*filled = h->numbers[FILLED];
	return SPARSE_OK;
}

int cusparseDestroySpMat(void *matrix)
{
	return drop(matrix, MATRIX);
}

int cusparseCreateDnVec(void **vector, int64_t n, void *values, int type)
{
	(void)type;
	return values ? make(vector, VECTOR, n, 1, n) : SPARSE_INVALID_VALUE;
}

int cusparseDestroyDnVec(void *vector)
{
	return drop(vector, VECTOR);
}

int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t columns, int64_t ld, void *values,
			int type, int order)
{
	(void)type;
	if (!values || (order != 1 && order != 2) || ld < (order == 1 ? rows : columns))
		return SPARSE_INVALID_VALUE;
	return make(matrix, COLUMNS, rows, columns, rows * columns);
}

int cusparseDestroyDnMat(void *matrix)
{
	return drop(matrix, COLUMNS);
}

int cusparseCreateMatDescr(void **descriptor)
{
	return make(descriptor, OLD_MATRIX, 0, 0, 0);
}

int cusparseDestroyMatDescr(void *descriptor)
{
	return drop(descriptor, OLD_MATRIX);
}

/* ---- sparse by dense ---- */

static int launch(const struct library_handle *h, int kernel, int blocks)
{
	return library_launch(kernel, (unsigned)blocks / 128 + 1, h->stream)
		       ? SPARSE_EXECUTION_FAILED
		       : SPARSE_OK;
}

/* op: 0 as it is, 1 transposed, 2 and conjugated */
static bool fits(const struct library_handle *a, int op, const struct library_handle *b, int op_b,
		 const struct library_handle *c)
{
	if (!a || !b || !c || op < 0 || op > 2 || op_b < 0 || op_b > 2)
		return false;
	return a->numbers[op ? COLS : ROWS] == c->numbers[ROWS] &&
	       a->numbers[op ? ROWS : COLS] == b->numbers[op_b ? COLS : ROWS] &&
	       b->numbers[op_b ? ROWS : COLS] == c->numbers[COLS];
}

/* kernel < 0: how much memory it will take */
static int multiply(void *handle, int op, int op_b, const void *alpha, const void *a, const void *b,
		    const void *beta, const void *c, int dense, int kernel, size_t *bytes)
{
	struct library_handle *h = library_find(handle, HANDLE), *m = library_find(a, MATRIX);

	if (!h)
		return SPARSE_NOT_INITIALIZED;
	if (!alpha || !beta || !fits(m, op, library_find(b, dense), op_b, library_find(c, dense)))
		return SPARSE_INVALID_VALUE;
	if (kernel >= 0)
		return launch(h, kernel, m->numbers[ROWS]);
	if (!bytes)
		return SPARSE_INVALID_VALUE;
	*bytes = BUFFER_BYTES;
	return SPARSE_OK;
}

int cusparseSpMV_bufferSize(void *handle, int op, const void *alpha, const void *a, const void *x,
			    const void *beta, void *y, int type, int algorithm, size_t *bytes)
{
	(void)type, (void)algorithm;
	return multiply(handle, op, 0, alpha, a, x, beta, y, VECTOR, -1, bytes);
}

int cusparseSpMV(void *handle, int op, const void *alpha, const void *a, const void *x,
		 const void *beta, void *y, int type, int algorithm, void *buffer)
{
	(void)type, (void)algorithm, (void)buffer;
	return multiply(handle, op, 0, alpha, a, x, beta, y, VECTOR, SPMV, NULL);
}

int cusparseSpMM_bufferSize(void *handle, int op, int op_b, const void *alpha, const void *a,
			    const void *b, const void *beta, void *c, int type, int algorithm,
			    size_t *bytes)
{
	(void)type, (void)algorithm;
	return multiply(handle, op, op_b, alpha, a, b, beta, c, COLUMNS, -1, bytes);
}

int cusparseSpMM(void *handle, int op, int op_b, const void *alpha, const void *a, const void *b,
		 const void *beta, void *c, int type, int algorithm, void *buffer)
{
	(void)type, (void)algorithm, (void)buffer;
	return multiply(handle, op, op_b, alpha, a, b, beta, c, COLUMNS, SPMM, NULL);
}

/* ---- sparse by sparse: twice the estimate, twice the work (first without memory: how much), then the copy ---- */

int cusparseSpGEMM_createDescr(void **product)
{
	return make(product, PRODUCT, 0, 0, 0);
}

int cusparseSpGEMM_destroyDescr(void *product)
{
	return drop(product, PRODUCT);
}

static int product(void *handle, int op, int op_b, const void *alpha, const void *a, const void *b,
		   const void *beta, void *c, void *descriptor, int step, int kernel, size_t *bytes,
		   const void *buffer)
{
	struct library_handle *h = library_find(handle, HANDLE), *m = library_find(a, MATRIX);
	struct library_handle *p = library_find(descriptor, PRODUCT), *to = library_find(c, MATRIX);

	if (!h)
		return SPARSE_NOT_INITIALIZED;
	if (!p || !alpha || !beta || p->numbers[STEP] != step ||
	    !fits(m, op, library_find(b, MATRIX), op_b, to))
		return SPARSE_INVALID_VALUE;
	if (kernel != COPY) {
		if (!bytes)
			return SPARSE_INVALID_VALUE;
		if (!buffer) {
			*bytes = BUFFER_BYTES;
			return SPARSE_OK;
		}
		if (*bytes < BUFFER_BYTES)
			return SPARSE_INVALID_VALUE;
	}
	p->numbers[STEP]++;
	to->numbers[FILLED] = 2 * m->numbers[FILLED];
	return launch(h, kernel, m->numbers[ROWS]);
}

int cusparseSpGEMM_workEstimation(void *handle, int op, int op_b, const void *alpha, const void *a,
				  const void *b, const void *beta, void *c, int type, int algorithm,
				  void *descriptor, size_t *bytes, void *buffer)
{
	(void)type, (void)algorithm;
	return product(handle, op, op_b, alpha, a, b, beta, c, descriptor, 0, ESTIMATE, bytes,
		       buffer);
}

int cusparseSpGEMM_compute(void *handle, int op, int op_b, const void *alpha, const void *a,
			   const void *b, const void *beta, void *c, int type, int algorithm,
			   void *descriptor, size_t *bytes, void *buffer)
{
	(void)type, (void)algorithm;
	return product(handle, op, op_b, alpha, a, b, beta, c, descriptor, 1, PRODUCTS, bytes,
		       buffer);
}

int cusparseSpGEMM_copy(void *handle, int op, int op_b, const void *alpha, const void *a,
			const void *b, const void *beta, void *c, int type, int algorithm,
			void *descriptor)
{
	(void)type, (void)algorithm;
	return product(handle, op, op_b, alpha, a, b, beta, c, descriptor, 2, COPY, NULL, NULL);
}

/* ---- formats ---- */

int cusparseSparseToDense_bufferSize(void *handle, const void *a, void *b, int algorithm,
				     size_t *bytes)
{
	(void)algorithm;
	if (!library_find(handle, HANDLE))
		return SPARSE_NOT_INITIALIZED;
	if (!library_find(a, MATRIX) || !library_find(b, COLUMNS) || !bytes)
		return SPARSE_INVALID_VALUE;
	*bytes = 0;
	return SPARSE_OK;
}

int cusparseSparseToDense(void *handle, const void *a, void *b, int algorithm, void *buffer)
{
	struct library_handle *h = library_find(handle, HANDLE), *m = library_find(a, MATRIX);

	(void)algorithm, (void)buffer;
	if (!h)
		return SPARSE_NOT_INITIALIZED;
	return m && library_find(b, COLUMNS) ? launch(h, TO_DENSE, m->numbers[ROWS])
					     : SPARSE_INVALID_VALUE;
}

/* ---- the older API: three diagonals ---- */

#define GTSV(letter)                                                                             \
	int cusparse##letter##gtsv2_bufferSizeExt(void *handle, int m, int n, const void *lower, \
						  const void *middle, const void *upper,         \
						  const void *b, int ldb, size_t *bytes)         \
	{                                                                                        \
		if (!library_find(handle, HANDLE))                                               \
			return SPARSE_NOT_INITIALIZED;                                           \
		if (m < 3 || n < 0 || ldb < m || !lower || !middle || !upper || !b || !bytes)    \
			return SPARSE_INVALID_VALUE;                                             \
		*bytes = BUFFER_BYTES;                                                           \
		return SPARSE_OK;                                                                \
	}                                                                                        \
	int cusparse##letter##gtsv2(void *handle, int m, int n, const void *lower,               \
				    const void *middle, const void *upper, void *b, int ldb,     \
				    void *buffer)                                                \
	{                                                                                        \
		struct library_handle *h = library_find(handle, HANDLE);                         \
                                                                                                 \
		if (!h)                                                                          \
			return SPARSE_NOT_INITIALIZED;                                           \
		if (m < 3 || n < 0 || ldb < m || !lower || !middle || !upper || !b || !buffer)   \
			return SPARSE_INVALID_VALUE;                                             \
		return launch(h, TRIDIAGONAL, m);                                                \
	}
GTSV(S)
GTSV(D)
