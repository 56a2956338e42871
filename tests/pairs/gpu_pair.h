/* gpu_pair.h - what the pairs for a GPU share: CUDA without a toolkit, in macros, so that a call has the line that makes it. */
#pragma once

#include "pair.h"

struct dim3 {
	unsigned x, y, z;
};
typedef struct stream *stream_t;

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, stream_t);
int cudaMalloc(void **, size_t);
int cudaMallocHost(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, stream_t);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, stream_t);
int cudaStreamCreateWithFlags(stream_t *, unsigned);
int cudaStreamSynchronize(stream_t);
int cudaDeviceSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		   stream_t, void **, void **);

#define DO(call)                                                                                \
	do {                                                                                    \
		int status_ = (call);                                                           \
		if (status_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

enum {
	TO_DEVICE = 1,
	TO_HOST,
	KIB = 1 << 10,
	MIB = 1 << 20
};

/* The stand-in for a GPU takes the time that a kernel's name holds. */
enum kernel {
	US_1,
	US_20,
	US_100,
	US_500,
	US_2000,
	KERNEL_CNT
};
static char kernels[KERNEL_CNT];

#define LAUNCH(kernel, stream)                                                                   \
	DO(cudaLaunchKernel(&kernels[kernel], (struct dim3){64, 1, 1}, (struct dim3){128, 1, 1}, \
			    (void *[]){NULL}, 0, stream))

static inline void gpu_begin(void)
{
	static const char *const names[KERNEL_CNT] = {"_Z9tiny_us1_Pf", "_Z11short_us20_Pf",
						      "_Z12small_us100_Pf", "_Z13middle_us500_Pf",
						      "_Z13large_us2000_Pf"};
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary = __cudaRegisterFatBinary(&wrapper);

	for (int i = 0; i < KERNEL_CNT; i++)
		__cudaRegisterFunction(binary, &kernels[i], (char *)(uintptr_t)names[i], names[i],
				       -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
}

#define COPY(to, from, bytes, stream) DO(cudaMemcpyAsync(to, from, bytes, TO_DEVICE, stream))
/* The first 16 of each 32 bytes. */
#define COPY_ROWS(to, from, rows, stream) \
	DO(cudaMemcpy2DAsync(to, 16, from, 32, 16, rows, TO_DEVICE, stream))

static __attribute__((unused, noinline)) stream_t new_stream(void)
{
	stream_t s;

	DO(cudaStreamCreateWithFlags(&s, 1));
	return s;
}

static __attribute__((unused, noinline)) char *on_gpu(size_t bytes)
{
	void *p;

	DO(cudaMalloc(&p, bytes));
	return p;
}

static __attribute__((unused, noinline)) char *pinned(size_t bytes)
{
	void *p;

	DO(cudaMallocHost(&p, bytes));
	return memset(p, 1, bytes);
}
