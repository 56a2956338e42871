/*
 * early.c HOW - a program that begins with CUDA in a way of its own:
 *
 *   count    counts GPUs, then fills memory
 *   only     counts GPUs
 *   blas     calls cuBLAS alone: a product
 *   asks     asks for the driver's version and for the address of cuInit; a forked child fills memory
 *   library  opens the driver; a forked child fills memory
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int cudaGetDeviceCount(int *cnt);
extern int cudaMalloc(void **p, size_t bytes);
extern int cudaMemset(void *p, int value, size_t bytes);
extern int cublasCreate_v2(void **handle);
extern int cublasSgemm_v2(void *handle, int, int, int, int, int, const float *, const float *, int,
			  const float *, int, const float *, float *, int);

#define DO(call)                                                        \
	do {                                                            \
		int do_result_ = (call);                                \
		if (do_result_) {                                       \
			fprintf(stderr, "%s: %d\n", #call, do_result_); \
			exit(1);                                        \
		}                                                       \
	} while (0)

static void fill(void)
{
	void *p;

	DO(cudaMalloc(&p, 4096));
	DO(cudaMemset(p, 1, 4096));
}

static void multiply(void)
{
	static float a[128 * 128], b[128 * 128], c[128 * 128];
	float one = 1;
	void *handle;

	DO(cublasCreate_v2(&handle));
	DO(cublasSgemm_v2(handle, 0, 0, 128, 128, 128, &one, a, 128, b, 128, &one, c, 128));
}

static void ask(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *init = NULL;
	int (*get)(const char *, void **, int, uint64_t, int *), (*get_version)(int *);
	int version, status;

	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	*(void **)&get_version = dlsym(driver, "cuDriverGetVersion");
	DO(get_version(&version));
	DO(get("cuInit", &init, 12000, 0, &status));
	if (!init)
		exit(1);
}

static void fill_in_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		fill();
		exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int n;

	if (strcmp(how, "count") == 0 || strcmp(how, "only") == 0)
		DO(cudaGetDeviceCount(&n));
	if (strcmp(how, "count") == 0)
		fill();
	if (strcmp(how, "blas") == 0)
		multiply();
	if (strcmp(how, "asks") == 0)
		ask();
	if (strcmp(how, "library") == 0 && !dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return 1;
	if (strcmp(how, "asks") == 0 || strcmp(how, "library") == 0)
		fill_in_child();
	return 0;
}
