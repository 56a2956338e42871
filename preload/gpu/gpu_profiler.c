/*
 * gpu_profiler.c - wrappers of cudaProfilerStart, cudaProfilerStop and those of the driver, which begin and end a capture
 * with --capture-range=cudaProfilerApi. The calls themselves are recorded like others, if CUDA is traced.
 */
#include "preload/core/capture_request.h"
#include "preload/gpu/gpu_engine.h"

static bool is_capture_range(void)
{
	return __atomic_load_n(&sl_global.session->capture_by, __ATOMIC_RELAXED) &
	       SL_CAPTURE_BY_CUDA;
}

static int call(unsigned number)
{
	bool recorded = sl_global.session->trace & SL_TRACE_CUDA;
	int (*next)(void) =
		(int (*)(void))(recorded ? sl_gpu_entry(number) : sl_gpu_state[number].real);

	return next();
}

static int start(unsigned number)
{
	/* Before the call, so that the capture contains it. */
	if (is_capture_range())
		sl_capture_request(SL_HELLO_OPEN, 0);
	return call(number);
}

static int stop(unsigned number)
{
	int rc = call(number);

	if (is_capture_range())
		sl_capture_request(SL_HELLO_CLOSE, 0);
	return rc;
}

#define PROFILER(name, what)              \
	static int special_##name(void)   \
	{                                 \
		return what(SL_G_##name); \
	}
PROFILER(cudaProfilerStart, start)
PROFILER(cudaProfilerStop, stop)
PROFILER(cuProfilerStart, start)
PROFILER(cuProfilerStop, stop)

void *sl_gpu_profiler(unsigned number)
{
	switch (number) {
	case SL_G_cudaProfilerStart:
		return (void *)special_cudaProfilerStart;
	case SL_G_cudaProfilerStop:
		return (void *)special_cudaProfilerStop;
	case SL_G_cuProfilerStart:
		return (void *)special_cuProfilerStart;
	case SL_G_cuProfilerStop:
		return (void *)special_cuProfilerStop;
	default:
		return NULL;
	}
}
