/*
 * weak.c - a program that would use CUDA if it were there: weak references, and questions to the dynamic linker. It
 * must find exactly as much of it traced as untraced.
 */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((weak)) int cudaMalloc(void **p, size_t bytes);
__attribute__((weak)) int cudaLaunchKernel(void);
__attribute__((weak)) int cuInit(unsigned flags);
__attribute__((weak)) int cublasCreate_v2(void **handle);
__attribute__((weak)) int cudnnCreate(void **handle);
__attribute__((weak)) int ncclGroupStart(void);
__attribute__((weak)) int nvtxInitialize(const void *reserved);

/* Through volatile pointers: the compiler must not know better. */
static void *volatile addresses[] = {(void *)cudaMalloc,    (void *)cudaLaunchKernel,
				     (void *)cuInit,        (void *)cublasCreate_v2,
				     (void *)cudnnCreate,   (void *)ncclGroupStart,
				     (void *)nvtxInitialize};

int main(void)
{
	static const char *const names[] = {
		"cudaMalloc",          "cudaLaunchKernel", "cuInit",
		"cuGetProcAddress_v2", "cublasCreate_v2",  "cudnnCreate",
		"ncclGroupStart",      "nvtxInitialize",   "InitializeInjectionNvtx2"};
	static const char *const libraries[] = {"libcuda.so.1", "libcudart.so.13",
						"libcupti.so.13"};
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(*addresses); i++)
		printf("%d", addresses[i] != NULL);
	/* The shim is there for NVTX to find: the last name alone may differ (see NVTX's documentation). */
	for (i = 0; i + 1 < sizeof(names) / sizeof(*names); i++)
		printf("%d", dlsym(RTLD_DEFAULT, names[i]) != NULL);
	for (i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		printf("%d", dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD) != NULL);
	printf("\n");
	return 0;
}
