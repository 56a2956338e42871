/* trace_kind.c - the words of --trace and their SL_TRACE_* bits. */
#include "collector/base/trace_kind.h"

#include <string.h>

#include "preload/wire/session.h"

/* cuda-hw is how nsys asks for hardware time stamps, -verbose for the calls inside calls: there is one way here. */
uint32_t trace_kind_find(const char *name, size_t len)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[] = {
		{"osrt", SL_TRACE_OSRT},
		{"cuda", SL_TRACE_CUDA},
		{"cuda-hw", SL_TRACE_CUDA},
		{"cuda-sw", SL_TRACE_CUDA},
		{"nvtx", SL_TRACE_NVTX},
		{"cublas", SL_TRACE_CUBLAS},
		{"cublas-verbose", SL_TRACE_CUBLAS},
		{"cudnn", SL_TRACE_CUDNN},
		{"nccl", SL_TRACE_NCCL},
		{"cufft", SL_TRACE_CUFFT},
		{"cusparse", SL_TRACE_CUSPARSE},
		{"cusparse-verbose", SL_TRACE_CUSPARSE},
		{"cusolver", SL_TRACE_CUSOLVER},
		{"cusolver-verbose", SL_TRACE_CUSOLVER},
		{"gds", SL_TRACE_GDS},
		{"mpi", SL_TRACE_MPI},
		{"python-gil", SL_TRACE_PYTHON_GIL},
		{"python-gc", SL_TRACE_PYTHON_GC},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0)
			return kinds[i].kind;
	return 0;
}
