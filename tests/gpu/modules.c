/*
 * modules.c - kernels whose names do not identify them: the same name in several binaries, modules and libraries;
 * modules that are unloaded and others loaded where they lay; a binary that is registered again, as when a plugin is opened
 * a second time. It prints what it did as train.c does. -n: how often. Runs on the stand-ins: kernels are names alone.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/standin/cuda_types.h"

#define FUNCTIONS(F)                                                                         \
	F(int, cudaFree, (void *))                                                           \
	F(int, cudaDeviceSynchronize, (void))                                                \
	F(int, cudaLaunchKernel,                                                             \
	  (const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream))     \
	F(int, cudaLibraryLoadData,                                                          \
	  (CUlibrary *, const void *, void *, void **, unsigned, void *, void **, unsigned)) \
	F(int, cudaLibraryGetKernel, (CUkernel *, CUlibrary, const char *))                  \
	F(int, cudaLibraryUnload, (CUlibrary))                                               \
	F(int, cuModuleGetLoadingMode, (int *))                                              \
	F(int, cuModuleLoadData, (CUmodule *, const void *))                                 \
	F(int, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                  \
	F(int, cuModuleUnload, (CUmodule))                                                   \
	F(int, cuLaunchKernel,                                                               \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	   CUstream, void **, void **))
#include "tests/gpu/tally.h"

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, void *block, void *grid,
			    int *warp);

enum kernel {
	SAME,
	FIRST,
	OTHER,
	PLUGIN_A,
	PLUGIN_B,
	KERNEL_CNT
};
static const struct {
	const char *name;
	unsigned long ns;
} kernels[KERNEL_CNT] = {
	{"_Z9same_us3_Pf", 3000},     {"_Z10first_us4_Pf", 4000},   {"_Z10other_us5_Pf", 5000},
	{"_Z12plugina_us6_Pf", 6000}, {"_Z12pluginb_us7_Pf", 7000},
};
static unsigned long launched[KERNEL_CNT];

static void **binary(const char *host, enum kernel kernel)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **handle = __cudaRegisterFatBinary(&wrapper);

	__cudaRegisterFunction(handle, host, (char *)(uintptr_t)kernels[kernel].name,
			       kernels[kernel].name, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
	return handle;
}

static void launch(const void *function, enum kernel kernel)
{
	struct cuda_dim3 one = {1, 1, 1};
	void *arguments[] = {NULL};

	DO(cudaLaunchKernel, function, one, one, arguments, 0, NULL);
	launched[kernel]++;
}

static void launch_module(const char *image, enum kernel kernel, bool twice)
{
	CUmodule module[2];
	CUfunction f;
	int i;

	for (i = 0; i <= twice; i++)
		DO(cuModuleLoadData, &module[i], image);
	for (i = 0; i <= twice; i++) {
		DO(cuModuleGetFunction, &f, module[i], kernels[kernel].name);
		DO(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		launched[kernel]++;
	}
	DO(cudaDeviceSynchronize);
	for (i = 0; i <= twice; i++)
		DO(cuModuleUnload, module[i]);
}

/* Of the library the kernel is a handle, and a function to cudaLaunchKernel. */
static void launch_library(enum kernel kernel)
{
	CUlibrary library;
	CUkernel k;

	DO(cudaLibraryLoadData, &library, "image", NULL, NULL, 0, NULL, NULL, 0);
	DO(cudaLibraryGetKernel, &k, library, kernels[kernel].name);
	launch(k, kernel);
	DO(cudaDeviceSynchronize);
	DO(cudaLibraryUnload, library);
}

int main(int argc, char **argv)
{
	static char host[3];
	int repeat = 20, mode, o, i;
	void **first, **second;

	while ((o = getopt(argc, argv, "n:")) != -1) {
		if (o != 'n')
			return 2;
		repeat = atoi(optarg);
	}
	first = binary(&host[0], SAME);
	second = binary(&host[1], SAME);
	DO(cudaFree, NULL);
	DO(cuModuleGetLoadingMode, &mode);
	printf("%s\n", mode == 2 ? "lazy" : "eager");
	for (i = 0; i < repeat; i++) {
		enum kernel plugin = i % 2 ? PLUGIN_A : PLUGIN_B;
		void **opened = binary(&host[2], plugin);

		launch(&host[0], SAME);
		launch(&host[1], SAME);
		launch_module("image", SAME, true);
		launch_module("image", i % 3 ? FIRST : OTHER, false);
		launch_library(i % 3 ? OTHER : FIRST);
		launch(&host[2], plugin);
		DO(cudaDeviceSynchronize);
		__cudaUnregisterFatBinary(opened);
	}
	__cudaUnregisterFatBinary(first);
	__cudaUnregisterFatBinary(second);
	printf("unloaded %d\n", CALL(cudaLaunchKernel, &host[0], (struct cuda_dim3){1, 1, 1},
				     (struct cuda_dim3){1, 1, 1}, NULL, 0, NULL));
	tally_print();
	for (i = 0; i < KERNEL_CNT; i++)
		printf("kernel %s %lu %lu\n", kernels[i].name, launched[i],
		       launched[i] * kernels[i].ns);
	printf("thread 1\n");
	return 0;
}
