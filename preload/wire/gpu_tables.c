/* gpu_tables.c - the GPU tables as text, and the number of each library's first function; linked into both sides. */
#include "preload/wire/gpu.h"

#pragma GCC visibility push(hidden)

const char sl_gpu_text[] = {
#define GPU(name, abi, roles)          #name "\0" abi "\0" roles "\0"
#define OLDER(name, until, abi, roles) #name "\0<" #until ":" abi "\0" roles "\0"
#include "preload/gpu/tables/tables.h"
#undef GPU
#undef OLDER
};

/* Lines of each library. */
#define GPU(name, abi, roles)          +1
#define OLDER(name, until, abi, roles) +1
enum {
	CNT_cudart = 0
#include "preload/gpu/tables/cudart.def"
		,
	CNT_cuda = 0
#include "preload/gpu/tables/cuda.def"
		,
	CNT_cublas = 0
#include "preload/gpu/tables/cublas.def"
		,
	CNT_cublaslt = 0
#include "preload/gpu/tables/cublaslt.def"
		,
	CNT_cudnn = 0
#include "preload/gpu/tables/cudnn.def"
		,
	CNT_nccl = 0
#include "preload/gpu/tables/nccl.def"
		,
	CNT_cufft = 0
#include "preload/gpu/tables/cufft.def"
		,
	CNT_cusparse = 0
#include "preload/gpu/tables/cusparse.def"
		,
	CNT_cusolver = 0
#include "preload/gpu/tables/cusolver.def"
		,
	CNT_cufile = 0
#include "preload/gpu/tables/cufile.def"
		,
	CNT_mpi = 0
#include "preload/gpu/tables/mpi.def"
};
#undef GPU
#undef OLDER

/* BEFORE_x: number of the first function of library x; LAST_x of its last. */
enum {
	BEFORE_ALL = -1,
#define LIBRARY(id, soname, flag) BEFORE_##id, LAST_##id = BEFORE_##id + CNT_##id - 1,
	SL_GPU_LIBRARIES(LIBRARY)
#undef LIBRARY
	ALL
};
_Static_assert((int)ALL == (int)SL_GPU_FUNCTION_CNT,
	       "gpu/tables.h and gpu.h name the same libraries");

const uint16_t sl_gpu_first[SL_GPU_LIBRARY_CNT + 1] = {
#define LIBRARY(id, soname, flag) BEFORE_##id,
	SL_GPU_LIBRARIES(LIBRARY)
#undef LIBRARY
		ALL,
};

#pragma GCC visibility pop
