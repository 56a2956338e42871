/*
 * numeric.c - a program that uses cuFFT, cuSPARSE, cuSOLVER and cuFile. It prints what it called and the answers, as
 * libs.c does. -n: how often.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

struct file_error {
	int error, cuda;
};
struct file_description {
	int type;
	union {
		int fd;
		void *handle;
	} file;
	const void *operations;
};
struct file_io {
	int mode;
	struct {
		void *device;
		off_t at, device_at;
		size_t bytes;
	} batch;
	void *file;
	int op;
	void *cookie;
};
struct file_event {
	void *cookie;
	int status;
	size_t bytes;
};

#define SPMV (void *, int, const void *, void *, void *, const void *, void *, int, int, void *)
#define SPMM \
	(void *, int, int, const void *, void *, void *, const void *, void *, int, int, void *)
#define GEMM_COPY \
	(void *, int, int, const void *, void *, void *, const void *, void *, int, int, void *)
#define GEMM_STEP                                                                                \
	(void *, int, int, const void *, void *, void *, const void *, void *, int, int, void *, \
	 size_t *, void *)
#define FUNCTIONS(F)                                                                               \
	F(int, cudaMalloc, (void **, size_t))                                                      \
	F(int, cudaFree, (void *))                                                                 \
	F(int, cudaMemcpy, (void *, const void *, size_t, int))                                    \
	F(int, cudaStreamCreateWithFlags, (CUstream *, unsigned))                                  \
	F(int, cudaStreamSynchronize, (CUstream))                                                  \
	F(int, cudaStreamDestroy, (CUstream))                                                      \
	F(int, cufftPlan1d, (int *, int, int, int))                                                \
	F(int, cufftPlan3d, (int *, int, int, int, int))                                           \
	F(int, cufftPlanMany, (int *, int, int *, int *, int, int, int *, int, int, int, int))     \
	F(int, cufftCreate, (int *))                                                               \
	F(int, cufftSetAutoAllocation, (int, int))                                                 \
	F(int, cufftSetWorkArea, (int, void *))                                                    \
	F(int, cufftMakePlan2d, (int, int, int, int, size_t *))                                    \
	F(int, cufftMakePlanMany64,                                                                \
	  (int, int, long long *, long long *, long long, long long, long long *, long long,       \
	   long long, int, long long, size_t *))                                                   \
	F(int, cufftGetSize, (int, size_t *))                                                      \
	F(int, cufftSetStream, (int, CUstream))                                                    \
	F(int, cufftExecC2C, (int, void *, void *, int))                                           \
	F(int, cufftExecZ2Z, (int, void *, void *, int))                                           \
	F(int, cufftExecR2C, (int, void *, void *))                                                \
	F(int, cufftExecZ2D, (int, void *, void *))                                                \
	F(int, cufftEstimate1d, (int, int, int, size_t *))                                         \
	F(int, cufftDestroy, (int))                                                                \
	F(int, cusparseCreate, (void **))                                                          \
	F(int, cusparseDestroy, (void *))                                                          \
	F(int, cusparseSetStream, (void *, CUstream))                                              \
	F(int, cusparseCreateCsr,                                                                  \
	  (void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int))        \
	F(int, cusparseCsrSetPointers, (void *, void *, void *, void *))                           \
	F(int, cusparseDestroySpMat, (void *))                                                     \
	F(int, cusparseSpMatGetSize, (void *, int64_t *, int64_t *, int64_t *))                    \
	F(int, cusparseCreateDnVec, (void **, int64_t, void *, int))                               \
	F(int, cusparseDestroyDnVec, (void *))                                                     \
	F(int, cusparseCreateDnMat, (void **, int64_t, int64_t, int64_t, void *, int, int))        \
	F(int, cusparseDestroyDnMat, (void *))                                                     \
	F(int, cusparseSpMV_bufferSize, SPMV)                                                      \
	F(int, cusparseSpMV, SPMV)                                                                 \
	F(int, cusparseSpMM_bufferSize, SPMM)                                                      \
	F(int, cusparseSpMM, SPMM)                                                                 \
	F(int, cusparseSpGEMM_createDescr, (void **))                                              \
	F(int, cusparseSpGEMM_destroyDescr, (void *))                                              \
	F(int, cusparseSpGEMM_workEstimation, GEMM_STEP)                                           \
	F(int, cusparseSpGEMM_compute, GEMM_STEP)                                                  \
	F(int, cusparseSpGEMM_copy, GEMM_COPY)                                                     \
	F(int, cusparseSgtsv2_bufferSizeExt,                                                       \
	  (void *, int, int, void *, void *, void *, void *, int, size_t *))                       \
	F(int, cusparseSgtsv2, (void *, int, int, void *, void *, void *, void *, int, void *))    \
	F(int, cusparseCreateMatDescr, (void **))                                                  \
	F(int, cusparseDestroyMatDescr, (void *))                                                  \
	F(int, cusolverDnCreate, (void **))                                                        \
	F(int, cusolverDnDestroy, (void *))                                                        \
	F(int, cusolverDnSetStream, (void *, CUstream))                                            \
	F(int, cusolverDnDgetrf_bufferSize, (void *, int, int, double *, int, int *))              \
	F(int, cusolverDnDgetrf, (void *, int, int, double *, int, double *, int *, int *))        \
	F(int, cusolverDnDgetrs,                                                                   \
	  (void *, int, int, int, const double *, int, const int *, double *, int, int *))         \
	F(int, cusolverDnSpotrf_bufferSize, (void *, int, int, float *, int, int *))               \
	F(int, cusolverDnSpotrf, (void *, int, int, float *, int, float *, int, int *))            \
	F(int, cusolverDnDgesvd_bufferSize, (void *, int, int, int *))                             \
	F(int, cusolverDnDgesvd,                                                                   \
	  (void *, signed char, signed char, int, int, double *, int, double *, double *, int,     \
	   double *, int, double *, int, double *, int *))                                         \
	F(int, cusolverDnCreateParams, (void **))                                                  \
	F(int, cusolverDnDestroyParams, (void *))                                                  \
	F(int, cusolverDnXgetrf_bufferSize,                                                        \
	  (void *, void *, int64_t, int64_t, int, void *, int64_t, int, size_t *, size_t *))       \
	F(int, cusolverDnXgetrf,                                                                   \
	  (void *, void *, int64_t, int64_t, int, void *, int64_t, int64_t *, int, void *, size_t, \
	   void *, size_t, int *))                                                                 \
	F(int, cusolverDnXsyevd,                                                                   \
	  (void *, void *, int, int, int64_t, int, void *, int64_t, int, void *, int, void *,      \
	   size_t, void *, size_t, int *))                                                         \
	F(int, cusolverDnXtrtri_bufferSize,                                                        \
	  (void *, int, int, int64_t, int, void *, int64_t, size_t *, size_t *))                   \
	F(int, cusolverSpCreate, (void **))                                                        \
	F(int, cusolverSpDestroy, (void *))                                                        \
	F(int, cusolverSpSetStream, (void *, CUstream))                                            \
	F(int, cusolverSpDcsrlsvqr,                                                                \
	  (void *, int, int, void *, const double *, const int *, const int *, const double *,     \
	   double, int, double *, int *))                                                          \
	F(struct file_error, cuFileDriverOpen, (void))                                             \
	F(struct file_error, cuFileDriverClose, (void))                                            \
	F(struct file_error, cuFileHandleRegister, (void **, struct file_description *))           \
	F(void, cuFileHandleDeregister, (void *))                                                  \
	F(struct file_error, cuFileBufRegister, (const void *, size_t, int))                       \
	F(struct file_error, cuFileBufDeregister, (const void *))                                  \
	F(ssize_t, cuFileRead, (void *, void *, size_t, off_t, off_t))                             \
	F(ssize_t, cuFileWrite, (void *, const void *, size_t, off_t, off_t))                      \
	F(struct file_error, cuFileReadAsync,                                                      \
	  (void *, void *, size_t *, off_t *, off_t *, ssize_t *, CUstream))                       \
	F(struct file_error, cuFileBatchIOSetUp, (void **, unsigned))                              \
	F(struct file_error, cuFileBatchIOSubmit, (void *, unsigned, struct file_io *, unsigned))  \
	F(struct file_error, cuFileBatchIOGetStatus,                                               \
	  (void *, unsigned, unsigned *, struct file_event *, void *))                             \
	F(void, cuFileBatchIODestroy, (void *))
#include "tests/gpu/tally.h"

/* As DO, for what returns a structure. */
#define DO_FILE(name, ...)                                                            \
	do {                                                                          \
		struct file_error file_error_ = CALL(name, __VA_ARGS__);              \
		if (file_error_.error) {                                              \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #name, \
				file_error_.error);                                   \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

enum {
	C2C = 0x29,
	R2C = 0x2a,
	Z2D = 0x6c,
	Z2Z = 0x69,
	REAL_64 = 1, /* CUDA_R_64F */
	REAL_32 = 0,
	MIB = 1 << 20
};
static unsigned long kernels, copies[2], copied[2]; /* to the device, and from it */
static char *a, *b, *c;
static CUstream stream;
static int repeat = 3;

static void transforms(void)
{
	int line, cube, many, own, by64, i, sizes[2] = {32, 64};
	long long sizes64[1] = {512};
	size_t bytes;

	DO(cufftPlan1d, &line, 1024, C2C, 8);
	DO(cufftPlan3d, &cube, 16, 32, 8, Z2Z);
	DO(cufftPlanMany, &many, 2, sizes, NULL, 1, 0, NULL, 1, 0, R2C, 4);
	DO(cufftCreate, &own);
	DO(cufftSetAutoAllocation, own, 0);
	DO(cufftMakePlan2d, own, 64, 64, Z2D, &bytes);
	DO(cufftCreate, &by64);
	DO(cufftMakePlanMany64, by64, 1, sizes64, NULL, 1, 0, NULL, 1, 0, C2C, 2, &bytes);
	DO(cufftGetSize, by64, &bytes);
	printf("transform of %zu bytes, without room %d\n", bytes, CALL(cufftExecZ2D, own, a, b));
	DO(cufftSetWorkArea, own, c);
	DO(cufftSetStream, line, stream);
	for (i = 0; i < repeat; i++) {
		DO(cufftExecC2C, line, a, b, -1);
		DO(cufftExecC2C, line, b, b, 1);
		DO(cufftExecZ2Z, cube, a, b, -1);
		DO(cufftExecR2C, many, a, b);
		DO(cufftExecZ2D, own, a, b);
		DO(cufftExecC2C, by64, a, b, -1);
		kernels += 1 + 1 + 2 + 1 + 1 + 1;
	}
	printf("wrong plan %d, wrong type %d, not there %d\n", CALL(cufftExecC2C, 99, a, b, 1),
	       CALL(cufftPlan1d, &i, 16, 77, 1), CALL(cufftEstimate1d, 1024, C2C, 8, &bytes));
	DO(cufftDestroy, by64);
	DO(cufftDestroy, own);
	DO(cufftDestroy, many);
	DO(cufftDestroy, cube);
	DO(cufftDestroy, line);
	printf("destroyed before %d\n", CALL(cufftDestroy, line));
}

static void product(void *handle, void *left)
{
	static const float one = 1, zero;
	void *to, *work, *p;
	int64_t rows, columns, filled;
	size_t bytes;

	DO(cusparseCreateCsr, &to, 100, 100, 0, c, NULL, NULL, 2, 2, 0, REAL_32);
	DO(cusparseSpGEMM_createDescr, &p);
#define STEP(name, ...)                                                                    \
	CALL(cusparseSpGEMM_##name, handle, 0, 0, &one, left, left, &zero, to, REAL_32, 0, \
	     p __VA_ARGS__)
	printf("work before the estimate %d\n", STEP(compute, , &bytes, NULL));
	if (STEP(workEstimation, , &bytes, NULL) || STEP(workEstimation, , &bytes, b) ||
	    STEP(compute, , &bytes, NULL) || STEP(compute, , &bytes, b))
		exit(1);
	DO(cusparseSpMatGetSize, to, &rows, &columns, &filled);
	DO(cudaMalloc, &work, 12 * (size_t)filled);
	DO(cusparseCsrSetPointers, to, c, work, (char *)work + 4 * filled);
	if (STEP(copy))
		exit(1);
	kernels += 3;
	DO(cudaFree, work);
	DO(cusparseSpGEMM_destroyDescr, p);
	DO(cusparseDestroySpMat, to);
}

static void sparse(void)
{
	static const float one = 1, zero;
	void *handle, *m, *x, *y, *columns, *to;
	size_t bytes;
	int i;

	DO(cusparseCreate, &handle);
	DO(cusparseSetStream, handle, stream);
	DO(cusparseCreateCsr, &m, 100, 100, 500, a, a + 4096, a + 8192, 2, 2, 0, REAL_32);
	DO(cusparseCreateDnVec, &x, 100, b, REAL_32);
	DO(cusparseCreateDnVec, &y, 100, b + 4096, REAL_32);
	DO(cusparseCreateDnMat, &columns, 100, 7, 100, b, REAL_32, 1);
	DO(cusparseCreateDnMat, &to, 100, 7, 7, c, REAL_32, 2);
	DO(cusparseSpMV_bufferSize, handle, 0, &one, m, x, &zero, y, REAL_32, 0, &bytes);
	DO(cusparseSpMM_bufferSize, handle, 0, 0, &one, m, columns, &zero, to, REAL_32, 0, &bytes);
	DO(cusparseSgtsv2_bufferSizeExt, handle, 100, 2, a, a, a, b, 100, &bytes);
	for (i = 0; i < repeat; i++) {
		DO(cusparseSpMV, handle, 0, &one, m, x, &zero, y, REAL_32, 0, c);
		DO(cusparseSpMM, handle, 1, 0, &one, m, columns, &zero, to, REAL_32, 0, c);
		DO(cusparseSgtsv2, handle, 100, 2, a, a, a, b, 100, c);
		kernels += 3;
		product(handle, m);
	}
	printf("wrong handle %d, wrong descriptor %d, wrong sizes %d\n",
	       CALL(cusparseSpMV, x, 0, &one, m, x, &zero, y, REAL_32, 0, c),
	       CALL(cusparseSpMV, handle, 0, &one, x, x, &zero, y, REAL_32, 0, c),
	       CALL(cusparseSpMM, handle, 0, 1, &one, m, columns, &zero, to, REAL_32, 0, c));
	DO(cusparseDestroyDnMat, to);
	DO(cusparseDestroyDnMat, columns);
	DO(cusparseDestroyDnVec, y);
	DO(cusparseDestroyDnVec, x);
	DO(cusparseDestroySpMat, m);
	DO(cusparseDestroy, handle);
}

/* Each getrs and potrf asks cuBLAS for two and for one thing more. */
static void dense(void)
{
	void *handle, *parameters;
	double *m = (double *)a, *u = (double *)b, *work = (double *)c;
	int *info = (int *)(c + MIB - 4096), *pivots = info + 16;
	size_t device, host;
	int i, words, least;

	DO(cusolverDnCreate, &handle);
	DO(cusolverDnSetStream, handle, stream);
	DO(cusolverDnCreateParams, &parameters);
	DO(cusolverDnDgetrf_bufferSize, handle, 60, 60, m, 64, &words);
	for (i = 0; i < repeat; i++) {
		DO(cusolverDnDgetrf, handle, 60, 60, m, 64, work, pivots, info);
		DO(cusolverDnDgetrs, handle, 1, 60, 3, m, 64, pivots, u, 60, info);
		DO(cusolverDnSpotrf_bufferSize, handle, 0, 48, (float *)a, 48, &words);
		DO(cusolverDnSpotrf, handle, 0, 48, (float *)a, 48, (float *)c, words, info);
		DO(cusolverDnDgesvd_bufferSize, handle, 50, 40, &least);
		DO(cusolverDnDgesvd, handle, 'A', 'N', 50, 40, m, 50, u, u, 50, NULL, 40, work,
		   least, NULL, info);
		DO(cusolverDnXgetrf_bufferSize, handle, parameters, 60, 70, REAL_64, m, 64, REAL_64,
		   &device, &host);
		DO(cusolverDnXgetrf, handle, parameters, 60, 70, REAL_64, m, 64, NULL, REAL_64,
		   work, device, NULL, host, info);
		DO(cusolverDnXsyevd, handle, NULL, 1, 0, 60, REAL_64, m, 64, REAL_64, u, REAL_64,
		   work, device, NULL, host, info);
		kernels += 1 + 3 + 2 + 1 + 1 + 1;
	}
	printf("too little room %d, wide %d, wrong handle %d, not there %d\n",
	       CALL(cusolverDnSpotrf, handle, 0, 48, (float *)a, 48, (float *)c, words - 1, info),
	       CALL(cusolverDnDgesvd_bufferSize, handle, 40, 50, &least),
	       CALL(cusolverDnSetStream, parameters, NULL),
	       CALL(cusolverDnXtrtri_bufferSize, handle, 0, 0, 10, REAL_64, m, 10, &device, &host));
	DO(cusolverDnDestroyParams, parameters);
	DO(cusolverDnDestroy, handle);
}

static void sparse_solver(void)
{
	void *handle, *m;
	int singularity = 0;

	DO(cusparseCreateMatDescr, &m);
	DO(cusolverSpCreate, &handle);
	DO(cusolverSpSetStream, handle, stream);
	DO(cusolverSpDcsrlsvqr, handle, 20, 60, m, (double *)a, (int *)b, (int *)b, (double *)c,
	   1e-12, 0, (double *)c, &singularity);
	kernels++;
	printf("singular %d, tolerance that is none %d\n", singularity,
	       CALL(cusolverSpDcsrlsvqr, handle, 20, 60, m, (double *)a, (int *)b, (int *)b,
		    (double *)c, -1.0, 0, (double *)c, &singularity));
	DO(cusolverSpDestroy, handle);
	DO(cusparseDestroyMatDescr, m);
}

/* What is more than a MiB goes in pieces of a MiB. */
static void count_copies(int from, size_t bytes)
{
	copies[from] += (bytes + MIB - 1) / MIB;
	copied[from] += bytes;
}

/* One that has no room left is refused, and nothing of it is read. */
static void batch(void *file, char *device)
{
	enum {
		MODE = 1
	};
	struct file_io io[3] = {
		{MODE, {device, 4096, 0, 8192}, file, 0, io},
		{MODE, {device, 65536, 100, 1000}, file, 0, io + 1},
		{MODE, {device, 4096, 200000, 50000}, file, 0, io + 2},
	};
	struct file_event events[3];
	unsigned done = 3;
	void *handle;
	int r = CALL(cuFileBatchIOSetUp, &handle, 3).error;

	if (r) {
		printf("no batch %d\n", r);
		return;
	}
	r = CALL(cuFileBatchIOSubmit, handle, 3, io, 0).error;
	if (r) { /* the file is one of memory */
		printf("no batch of this file %d\n", r);
		CALL(cuFileBatchIODestroy, handle);
		return;
	}
	printf("too much %d\n", CALL(cuFileBatchIOSubmit, handle, 3, io, 0).error);
	DO_FILE(cuFileBatchIOGetStatus, handle, 3, &done, events, NULL);
	CALL(cuFileBatchIODestroy, handle);
	for (unsigned i = 0; i < done; i++) {
		count_copies(0, events[i].bytes);
		printf("read by the batch %zu\n", events[i].bytes);
	}
}

static void files(void)
{
	static char pattern[3 * MIB], back[3 * MIB];
	struct file_description what = {.type = 1};
	size_t bytes = 100000, i;
	off_t at = 4096, device_at = 0;
	char *device;
	ssize_t done;
	void *file;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (char)(i * 7 + i / 1000);
	what.file.fd = memfd_create("numbers", 0);
	DO(cudaMalloc, (void **)&device, sizeof(pattern));
	DO(cudaMemcpy, device, pattern, sizeof(pattern), 1);
	DO_FILE(cuFileDriverOpen);
	DO_FILE(cuFileHandleRegister, &file, &what);
	DO_FILE(cuFileBufRegister, device, sizeof(pattern), 0);
	done = CALL(cuFileWrite, file, device, sizeof(pattern), 4096, 0);
	count_copies(1, sizeof(pattern));
	printf("written %zd\n", done);
	done = CALL(cuFileRead, file, device, 2 * MIB + 5, 4096, 0);
	count_copies(0, 2 * MIB + 5);
	printf("read %zd\n", done);
	done = CALL(cuFileRead, file, device, 8192, 3 * MIB, 100);
	count_copies(0, 4096);
	printf("read at the end %zd\n", done);
	DO_FILE(cuFileReadAsync, file, device, &bytes, &at, &device_at, &done, stream);
	count_copies(0, bytes);
	printf("read by the stream %zd\n", done);
	DO(cudaStreamSynchronize, stream);
	DO(cudaMemcpy, back, device, sizeof(back), 2);
	printf("as it was %d\n", !memcmp(pattern, back, bytes));
	printf("wrong file %zd, registered before %d, not registered %d\n",
	       CALL(cuFileRead, device, device, 10, 0, 0),
	       CALL(cuFileHandleRegister, &file, &what).error, CALL(cuFileBufDeregister, a).error);
	batch(file, device);
	DO_FILE(cuFileBufDeregister, device);
	CALL(cuFileHandleDeregister, file);
	DO_FILE(cuFileDriverClose);
	printf("closed before %d, read when closed %zd\n", CALL(cuFileDriverClose).error,
	       CALL(cuFileRead, file, device, 10, 0, 0));
	DO(cudaFree, device);
	close(what.file.fd);
	copies[0]++, copied[0] += sizeof(pattern);
	copies[1]++, copied[1] += sizeof(back);
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "n:")) != -1) {
		if (o != 'n')
			return 2;
		repeat = atoi(optarg);
	}
	DO(cudaMalloc, (void **)&a, MIB);
	DO(cudaMalloc, (void **)&b, MIB);
	DO(cudaMalloc, (void **)&c, MIB);
	DO(cudaStreamCreateWithFlags, &stream, CUDA_STREAM_NON_BLOCKING);
	transforms();
	sparse();
	dense();
	sparse_solver();
	files();
	DO(cudaStreamSynchronize, stream);
	DO(cudaStreamDestroy, stream);
	DO(cudaFree, c);
	DO(cudaFree, b);
	DO(cudaFree, a);
	tally_print();
	printf("kernels %lu\ncopy HtoD %lu %lu\ncopy DtoH %lu %lu\nthread 1\n", kernels, copies[0],
	       copied[0], copies[1], copied[1]);
	return 0;
}
