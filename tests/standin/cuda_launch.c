/*
 * cuda_launch.c - the stand-in driver: launches as they were before cuLaunchKernel (block and arguments are set first),
 * and what else has a newer form: callbacks of streams, the block that fills a multiprocessor best.
 */
#include <stdlib.h>

#include "tests/standin/cuda_driver.h"

static int set_block(CUfunction function, struct cuda_dim3 block)
{
	if (!object_find(function, OBJECT_FUNCTION))
		return CUDA_INVALID_HANDLE;
	if (!block.x || !block.y || !block.z)
		return CUDA_INVALID_VALUE;
	function->block = block;
	return CUDA_OK;
}

int cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
	return CALL(set_block(function, (struct cuda_dim3){(unsigned)x, (unsigned)y, (unsigned)z}));
}

static int set_shared(CUfunction function, unsigned bytes)
{
	if (!object_find(function, OBJECT_FUNCTION))
		return CUDA_INVALID_HANDLE;
	function->shared = bytes;
	return CUDA_OK;
}

int cuFuncSetSharedSize(CUfunction function, unsigned bytes)
{
	return CALL(set_shared(function, bytes));
}

/* Kernels have no code, so what their arguments are does not matter. */
static int argument(CUfunction function)
{
	return object_find(function, OBJECT_FUNCTION) ? CUDA_OK : CUDA_INVALID_HANDLE;
}

int cuParamSetSize(CUfunction function, unsigned bytes)
{
	(void)bytes;
	return CALL(argument(function));
}

int cuParamSeti(CUfunction function, int offset, unsigned value)
{
	(void)offset;
	(void)value;
	return CALL(argument(function));
}

int cuParamSetf(CUfunction function, int offset, float value)
{
	(void)offset;
	(void)value;
	return CALL(argument(function));
}

int cuParamSetv(CUfunction function, int offset, const void *value, unsigned bytes)
{
	(void)offset;
	(void)bytes;
	return CALL(value ? argument(function) : CUDA_INVALID_VALUE);
}

int cuParamSetTexRef(CUfunction function, int unit, const void *texture)
{
	(void)unit;
	return CALL(object_find(texture, OBJECT_TEXTURE) ? argument(function)
							 : CUDA_INVALID_HANDLE);
}

static int launch(CUfunction function, int width, int height, struct CUstream_st *stream)
{
	struct cuda_dim3 grid = {(unsigned)width, (unsigned)height, 1};

	if (!object_find(function, OBJECT_FUNCTION))
		return CUDA_INVALID_HANDLE;
	if (width <= 0 || height <= 0)
		return CUDA_INVALID_VALUE;
	return function_launch(stream, function, grid, function->block, function->shared);
}

int cuLaunch(CUfunction function)
{
	return CALL(launch(function, 1, 1, stream_find(NULL, false)));
}

int cuLaunchGrid(CUfunction function, int width, int height)
{
	return CALL(launch(function, width, height, stream_find(NULL, false)));
}

int cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
	return CALL(launch(function, width, height, stream_find(stream, false)));
}

/* ---- callbacks ---- */

typedef void stream_callback(CUstream stream, int status, void *data);

struct callback {
	stream_callback *function;
	CUstream stream;
	void *data;
};

static void call_back(void *data)
{
	struct callback c = *(struct callback *)data;

	free(data);
	c.function(c.stream, CUDA_OK, c.data);
}

static int add_callback(struct CUstream_st *s, CUstream handle, stream_callback *function,
			void *data)
{
	struct work w = {.kind = NODE_HOST, .host = {call_back, NULL}};
	struct callback *c;

	if (!s)
		return CUDA_INVALID_HANDLE;
	if (!function)
		return CUDA_INVALID_VALUE;
	if (s->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	c = malloc(sizeof(*c));
	if (!c)
		return CUDA_OUT_OF_MEMORY;
	*c = (struct callback){function, handle, data};
	w.host.data = c;
	return work_submit(s, &w, false);
}

PAIR(cuStreamAddCallback, _ptsz,
     (CUstream stream, stream_callback *function, void *data, unsigned flags),
     flags ? CUDA_INVALID_VALUE : add_callback(STREAM(stream), stream, function, data))

/* ---- occupancy ---- */

static int best_block(int *grid, int *block, CUfunction function, int limit)
{
	int threads = 1024, sms = 0;

	if (!grid || !block)
		return CUDA_INVALID_VALUE;
	if (!function_name(function))
		return CUDA_INVALID_HANDLE;
	device_attribute(&sms, 16, 0);
	if (limit > 0 && limit < threads)
		threads = limit;
	*block = threads;
	*grid = sms * (2048 / threads);
	return CUDA_OK;
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
				     size_t (*shared_of)(int), size_t shared, int limit)
{
	(void)shared_of;
	(void)shared;
	return CALL(best_block(grid, block, function, limit));
}

int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
					      size_t (*shared_of)(int), size_t shared, int limit,
					      unsigned flags)
{
	(void)shared_of;
	(void)shared;
	(void)flags;
	return CALL(best_block(grid, block, function, limit));
}
