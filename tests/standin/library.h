/*
 * library.h - what the stand-ins for the libraries above the runtime have in common: handles that are checked, kernels
 * registered as a compiled library does it, launches through the stand-in runtime. Included once per library.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, void *block, void *grid,
			    int *warp);
int cudaLaunchKernel(const void *function, struct cuda_dim3 grid, struct cuda_dim3 block,
		     void **arguments, size_t shared, CUstream stream);
int cudaMalloc(void **p, size_t bytes);
int cudaFree(void *p);

/* ---- handles: valid while they are in the list ---- */

struct library_handle {
	struct library_handle *next;
	int kind;
	CUstream stream;
	void *workspace, *known;
	int numbers[16]; /* what a descriptor was set to */
};
static struct library_handle *library_handles;
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((unused)) static struct library_handle *library_make(int kind)
{
	struct library_handle *h = calloc(1, sizeof(*h));

	if (!h)
		abort();
	h->kind = kind;
	pthread_mutex_lock(&library_lock);
	h->next = library_handles;
	library_handles = h;
	pthread_mutex_unlock(&library_lock);
	return h;
}

__attribute__((unused)) static struct library_handle *library_find(const void *handle, int kind)
{
	struct library_handle *h;

	pthread_mutex_lock(&library_lock);
	for (h = library_handles; h && (h != handle || h->kind != kind); h = h->next)
		;
	pthread_mutex_unlock(&library_lock);
	return h;
}

__attribute__((unused)) static bool library_drop(void *handle, int kind)
{
	struct library_handle **at;
	bool found;

	pthread_mutex_lock(&library_lock);
	for (at = &library_handles; *at && (*at != handle || (*at)->kind != kind);
	     at = &(*at)->next)
		;
	found = *at != NULL;
	if (found)
		*at = (*at)->next;
	pthread_mutex_unlock(&library_lock);
	if (found)
		free(handle);
	return found;
}

/* ---- kernels ---- */

static const char *const library_kernels[]; /* defined by the library, up to NULL */
static char library_hosts[16];
static void **library_binary;

__attribute__((constructor)) static void library_begin(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	int i;

	library_binary = __cudaRegisterFatBinary(&wrapper);
	for (i = 0; library_kernels[i]; i++)
		__cudaRegisterFunction(library_binary, &library_hosts[i],
				       (char *)(uintptr_t)library_kernels[i], library_kernels[i],
				       -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(library_binary);
}

__attribute__((destructor)) static void library_end(void)
{
	__cudaUnregisterFatBinary(library_binary);
}

__attribute__((unused)) static int library_launch(int kernel, unsigned blocks, CUstream stream)
{
	struct cuda_dim3 grid = {blocks ? blocks : 1, 1, 1}, block = {256, 1, 1};
	void *arguments[1] = {NULL};

	return cudaLaunchKernel(&library_hosts[kernel], grid, block, arguments, 0, stream);
}
