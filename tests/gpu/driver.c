/*
 * driver.c - a program of the CUDA driver API: a context of its own, a module, every kind of copy, streams, events, a
 * graph. It prints what it did as train.c does. With BY_PROC nothing is linked: cuGetProcAddress gives each function, by
 * its base name and a version; what is called in the end are the same symbols.
 */
#include <stdint.h>
#include <string.h>

#include "tests/standin/cuda_types.h"

/* type, symbol, (parameters), name without _v2 and the version that gives this symbol */
#define DRIVER_FUNCTIONS(F)                                                                      \
	F(int, cuInit, (unsigned), cuInit, 2000)                                                 \
	F(int, cuDriverGetVersion, (int *), cuDriverGetVersion, 2020)                            \
	F(int, cuDeviceGet, (int *, int), cuDeviceGet, 2000)                                     \
	F(int, cuDeviceGetCount, (int *), cuDeviceGetCount, 2000)                                \
	F(int, cuDeviceGetName, (char *, int, int), cuDeviceGetName, 2000)                       \
	F(int, cuCtxCreate_v2, (CUcontext *, unsigned, int), cuCtxCreate, 3020)                  \
	F(int, cuCtxSynchronize, (void), cuCtxSynchronize, 2000)                                 \
	F(int, cuCtxDestroy_v2, (CUcontext), cuCtxDestroy, 4000)                                 \
	F(int, cuModuleLoadData, (CUmodule *, const void *), cuModuleLoadData, 2000)             \
	F(int, cuModuleGetFunction, (CUfunction *, CUmodule, const char *), cuModuleGetFunction, \
	  2000)                                                                                  \
	F(int, cuModuleUnload, (CUmodule), cuModuleUnload, 2000)                                 \
	F(int, cuMemAlloc_v2, (CUdeviceptr *, size_t), cuMemAlloc, 3020)                         \
	F(int, cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned), cuMemAllocManaged, 6000)    \
	F(int, cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), cuMemAllocAsync, 11020)       \
	F(int, cuMemFreeAsync, (CUdeviceptr, CUstream), cuMemFreeAsync, 11020)                   \
	F(int, cuMemFree_v2, (CUdeviceptr), cuMemFree, 3020)                                     \
	F(int, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), cuMemcpyHtoD, 3020)         \
	F(int, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), cuMemcpyDtoH, 3020)               \
	F(int, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream),               \
	  cuMemcpyDtoDAsync, 3020)                                                               \
	F(int, cuMemcpy2D_v2, (const struct cuda_copy2d *), cuMemcpy2D, 3020)                    \
	F(int, cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t), cuMemsetD32, 3020)               \
	F(int, cuStreamCreate, (CUstream *, unsigned), cuStreamCreate, 2000)                     \
	F(int, cuStreamSynchronize, (CUstream), cuStreamSynchronize, 2000)                       \
	F(int, cuStreamDestroy_v2, (CUstream), cuStreamDestroy, 4000)                            \
	F(int, cuEventCreate, (CUevent *, unsigned), cuEventCreate, 2000)                        \
	F(int, cuEventRecord, (CUevent, CUstream), cuEventRecord, 2000)                          \
	F(int, cuEventSynchronize, (CUevent), cuEventSynchronize, 2000)                          \
	F(int, cuEventElapsedTime, (float *, CUevent, CUevent), cuEventElapsedTime, 2000)        \
	F(int, cuEventElapsedTime_v2, (float *, CUevent, CUevent), cuEventElapsedTime, 12080)    \
	F(int, cuEventDestroy_v2, (CUevent), cuEventDestroy, 4000)                               \
	F(int, cuLaunchKernel,                                                                   \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
	   CUstream, void **, void **),                                                          \
	  cuLaunchKernel, 4000)                                                                  \
	F(int, cuLaunchKernelEx,                                                                 \
	  (const struct cuda_launch_config *, CUfunction, void **, void **), cuLaunchKernelEx,   \
	  11060)                                                                                 \
	F(int, cuGetExportTable, (const void **, const void *), cuGetExportTable, 3000)

#define FUNCTIONS(F) DRIVER_FUNCTIONS(F)
#include "tests/gpu/tally.h"

#ifdef BY_PROC
#define BASE(type, name, parameters, base, version) {#base, version},
static const struct {
	const char *name;
	int version;
} bases[] = {DRIVER_FUNCTIONS(BASE)};

__attribute__((constructor)) static void find(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *address = NULL;
	int (*get)(const char *, void **, int, uint64_t, int *) = NULL;
	int (*again)(const char *, void **, int, uint64_t, int *) = NULL;
	int i, status = -1;

	if (library)
		*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	/* It gives itself too; one that was resolved that way must do the same. */
	if (!get || get("cuGetProcAddress", &address, 12000, 0, &status) || status || !address)
		exit(1);
	*(void **)&again = address;
	for (i = 0; i < TALLY_CNT; i++)
		if ((i & 1 ? again : get)(bases[i].name, tally_addresses[i], bases[i].version, 0,
					  &status) ||
		    status || !*tally_addresses[i]) {
			fprintf(stderr, "no %s of version %d\n", bases[i].name, bases[i].version);
			exit(1);
		}
	/* Before its version there is none. */
	if (get("cuMemAllocAsync", &address, 11010, 0, &status) || status != 2 || address)
		exit(1);
}
#endif

enum {
	BYTES = 1 << 20
};
static const char kernel_name[] = "_Z12filter_us25_Pfi";
static char from[BYTES], to[BYTES];
static unsigned long kernel_cnt;

static void work(CUfunction function, CUdeviceptr a, CUdeviceptr b, CUstream stream)
{
	struct cuda_launch_config config = {
		.grid = {3, 1, 1}, .block = {32, 2, 1}, .stream = stream};
	struct cuda_copy2d plane = {.src_type = CUDA_MEMORY_HOST,
				    .src_host = from,
				    .src_pitch = 1024,
				    .dst_type = CUDA_MEMORY_DEVICE,
				    .dst_device = a,
				    .dst_pitch = 2048,
				    .width = 512,
				    .height = 100};
	int i;

	DO(cuMemcpyHtoD_v2, a, from, BYTES);
	DO(cuMemsetD32_v2, b, 7, 1000);
	for (i = 0; i < 10; i++, kernel_cnt++)
		DO(cuLaunchKernel, function, 5, 1, 1, 64, 1, 1, 256, stream, NULL, NULL);
	DO(cuLaunchKernelEx, &config, function, NULL, NULL);
	kernel_cnt++;
	DO(cuMemcpyDtoDAsync_v2, b, a, BYTES, stream);
	DO(cuStreamSynchronize, stream);
	DO(cuMemcpyDtoH_v2, to, b, BYTES);
	DO(cuMemcpy2D_v2, &plane);
}

static void events(CUstream stream)
{
	float ms = -1, ms2 = -2;
	CUevent a, b;

	DO(cuEventCreate, &a, 0);
	DO(cuEventCreate, &b, 0);
	DO(cuEventRecord, a, stream);
	DO(cuEventRecord, b, stream);
	DO(cuEventSynchronize, b);
	DO(cuEventElapsedTime, &ms, a, b);
	DO(cuEventElapsedTime_v2, &ms2, a, b);
	printf("elapsed alike %d\n", ms == ms2);
	DO(cuEventDestroy_v2, a);
	DO(cuEventDestroy_v2, b);
}

int main(void)
{
	CUdeviceptr a, b, managed, pooled;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUstream stream;
	int device, cnt, version;
	const void *table = &table;
	char name[64];

	memset(from, 3, sizeof(from));
	if (CALL(cuDeviceGetCount, &cnt) != CUDA_NOT_INITIALIZED)
		printf("counts before it is initialised\n");
	DO(cuInit, 0);
	DO(cuDriverGetVersion, &version);
	DO(cuDeviceGet, &device, 0);
	DO(cuDeviceGetName, name, sizeof(name), device);
	DO(cuCtxCreate_v2, &context, 0, device);
	DO(cuModuleLoadData, &module, "image");
	DO(cuModuleGetFunction, &function, module, kernel_name);
	DO(cuStreamCreate, &stream, CUDA_STREAM_NON_BLOCKING);
	DO(cuMemAlloc_v2, &a, BYTES);
	DO(cuMemAlloc_v2, &b, BYTES);
	DO(cuMemAllocManaged, &managed, 4096, 1);
	DO(cuMemAllocAsync, &pooled, 1000, stream);
	work(function, a, b, stream);
	events(stream);
	DO(cuMemFreeAsync, pooled, stream);
	DO(cuMemFree_v2, managed);
	if (CALL(cuMemFree_v2, managed) != CUDA_INVALID_VALUE)
		printf("frees twice\n");
	DO(cuMemFree_v2, b);
	DO(cuMemFree_v2, a);
	DO(cuCtxSynchronize);
	DO(cuStreamDestroy_v2, stream);
	DO(cuModuleUnload, module);
	DO(cuCtxDestroy_v2, context);
	printf("export table: %d\n", CALL(cuGetExportTable, &table, "0123456789abcdef"));
	printf("%s, driver %d, same %d\n", name, version, memcmp(from, to, BYTES) == 0);
	tally_print();
	printf("kernel %s %lu %lu\n", kernel_name, kernel_cnt, kernel_cnt * 25000);
	printf("copy HtoD 2 %d\ncopy DtoH 1 %d\ncopy DtoD 1 %d\nmemset 1 4000\nthread 1\n",
	       BYTES + 51200, BYTES, BYTES);
	return 0;
}
