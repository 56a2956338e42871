/*
 * abi_cudart.c - to be loaded as libcudart.so.13: functions of the CUDA runtime that note what they were called with,
 * for tests of the forwarder. Own declarations: only how arguments travel matters.
 */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dim3 {
	unsigned x, y, z;
};
struct extent {
	size_t width, height, depth;
};

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default")))

/* The last call: every argument, byte for byte, in order. */
API unsigned char abi_noted[512];
API size_t abi_len;
API void (*abi_during)(void); /* called from inside of each function */

static void note(const void *bytes, size_t len)
{
	memcpy(abi_noted + abi_len, bytes, len);
	abi_len += len;
}
#define BEGIN   abi_len = 0
#define NOTE(x) note(&(x), sizeof(x))
#define END(rc)               \
	if (abi_during)       \
		abi_during(); \
	return rc

API int cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream)
{
	BEGIN;
	NOTE(dst);
	NOTE(src);
	NOTE(n);
	NOTE(kind);
	NOTE(stream);
	END(0);
}

/* Two structures of 12 bytes: the second does not fit into registers, what follows it may again. */
API int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args,
			 size_t shared, void *stream)
{
	BEGIN;
	NOTE(f);
	NOTE(grid);
	NOTE(block);
	NOTE(args);
	NOTE(shared);
	NOTE(stream);
	END(0);
}

/* A structure in memory. */
API int cudaMalloc3D(void *pitched, struct extent extent)
{
	BEGIN;
	NOTE(pitched);
	NOTE(extent);
	END(0);
}

/* Nine arguments. */
API int cudaMemcpy2DArrayToArray(void *dst, size_t x, size_t y, const void *src, size_t sx,
				 size_t sy, size_t w, size_t h, int kind)
{
	BEGIN;
	NOTE(dst);
	NOTE(x);
	NOTE(y);
	NOTE(src);
	NOTE(sx);
	NOTE(sy);
	NOTE(w);
	NOTE(h);
	NOTE(kind);
	END(0);
}

API int cudaMalloc(void **p, size_t n)
{
	BEGIN;
	NOTE(p);
	NOTE(n);
	*p = (void *)0x7000;
	END(0);
}

API int cudaFree(void *p)
{
	BEGIN;
	NOTE(p);
	END(17);
}

API int cudaDeviceSynchronize(void)
{
	BEGIN;
	END(0);
}
