/*
 * gpu_work FUNCTION N - calls one function of the CUDA runtime N times, on the stand-ins: launch_part.py counts the
 * instructions that tracing takes for it. A launch is of a kernel with three arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_types.h"

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaEventCreateWithFlags(CUevent *, unsigned);
int cudaEventRecord(CUevent, CUstream);
int cudaEventQuery(CUevent);
int cudaStreamQuery(CUstream);
int cudaStreamIsCapturing(CUstream, int *);
int cudaGetLastError(void);
int cudaGetDevice(int *);
int cudaDeviceSynchronize(void);

static char kernel; /* its address is what nvcc makes a handle of */
static CUstream stream;
static CUevent event;

static int launch(void)
{
	struct cuda_dim3 grid = {4, 1, 1}, block = {64, 1, 1};
	int a = 1, b = 2, c = 3;
	void *args[] = {&a, &b, &c};

	return cudaLaunchKernel(&kernel, grid, block, args, 0, stream);
}

static int event_query(void)
{
	cudaEventQuery(event);
	return 0;
}

static int stream_query(void)
{
	cudaStreamQuery(stream);
	return 0;
}

static int is_capturing(void)
{
	int status;

	return cudaStreamIsCapturing(stream, &status);
}

static int device(void)
{
	int number;

	return cudaGetDevice(&number);
}

static int event_record(void)
{
	return cudaEventRecord(event, stream);
}

static const struct {
	const char *name;
	int (*call)(void);
} functions[] = {
	{"cudaLaunchKernel", launch},           {"cudaEventQuery", event_query},
	{"cudaStreamQuery", stream_query},      {"cudaStreamIsCapturing", is_capturing},
	{"cudaGetLastError", cudaGetLastError}, {"cudaGetDevice", device},
	{"cudaEventRecord", event_record},
};

static void set_up(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **binary = __cudaRegisterFatBinary(&wrapper);

	__cudaRegisterFunction(binary, &kernel, (char *)(uintptr_t) "_Z6kernelPfS_i",
			       "_Z6kernelPfS_i", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
	if (cudaStreamCreateWithFlags(&stream, 1) || cudaEventCreateWithFlags(&event, 2) ||
	    cudaEventRecord(event, stream))
		exit(1);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	for (size_t i = 0; argc > 2 && i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(functions[i].name, argv[1]) != 0)
			continue;
		set_up();
		while (n--)
			if (functions[i].call())
				return 3;
		return cudaDeviceSynchronize() != 0;
	}
	fprintf(stderr, "usage: gpu_work FUNCTION N\n");
	return 2;
}
