/*
 * streams.c - gives names to streams by NVTX, and has the GPU fill memory on each: "BYTES NAME" on stdout, the number of
 * bytes being the stream's own, for those whose name a report must know. With the name of a file: waits for that before the
 * GPU has to be done.
 */
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

int cudaMalloc(void **, size_t);
int cudaMemsetAsync(void *, int, size_t, CUstream);
int cudaStreamCreate(CUstream *);
int cudaStreamDestroy(CUstream);
int cudaStreamQuery(CUstream);
int cudaStreamSynchronize(CUstream);
int cudaDeviceSynchronize(void);

static void *memory;
static size_t bytes = 1000;

static void name_stream(CUstream stream, const char *name)
{
	NVTX(4, 3, void (*)(void *, const char *))(stream, name);
}

static void fill(CUstream stream, int times, const char *name)
{
	for (int i = 0; i < times; i++)
		if (cudaMemsetAsync(memory, 0, bytes, stream))
			exit(1);
	if (name)
		printf("%zu %s\n", bytes, name);
	bytes++;
}

static CUstream create(void)
{
	CUstream stream;

	if (cudaStreamCreate(&stream))
		exit(1);
	return stream;
}

int main(int argc, char **argv)
{
	CUstream stream, again;

	if (!nvtx_load() || cudaMalloc(&memory, 1 << 16))
		return 1;
	name_stream(NULL, "default");
	fill(NULL, 1, "default");
	/* Handles come again. */
	stream = create();
	name_stream(stream, "first");
	fill(stream, 3, "first");
	cudaStreamSynchronize(stream);
	cudaStreamDestroy(stream);
	again = create();
	name_stream(again, "second");
	fill(again, 3, "second");
	cudaStreamDestroy(again);
	/* After the first of its work; and one that had another name, which nothing was done under. */
	stream = create();
	cudaMemsetAsync(memory, 0, bytes, stream);
	name_stream(stream, "late");
	fill(stream, 1, "late");
	stream = create();
	name_stream(stream, "old");
	name_stream(stream, "new");
	fill(stream, 1, "new");
	/* By the driver's handle, which is the same; and only after calls that the GPU does nothing for. */
	stream = create();
	NVTX(2, 5, void (*)(void *, const char *))(stream, "driver");
	for (int i = 0; i < 1000; i++)
		cudaStreamQuery(stream);
	fill(stream, 1000, "driver");
	/* No names; names of nothing. */
	fill(create(), 1, NULL);
	name_stream(create(), "unused");
	name_stream((CUstream)(uintptr_t)0xabc, "no stream");
	name_stream(create(), NULL);
	fflush(stdout);
	while (argc > 1 && access(argv[1], F_OK))
		usleep(10000);
	return cudaDeviceSynchronize();
}
