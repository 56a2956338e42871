/* tables.h - every table of a GPU library, in the order of SL_GPU_LIBRARIES. No guard: included once per use. */
#ifndef OLDER
#define OLDER(name, until, abi, roles)
#define SL_NO_OLDER
#endif
#include "preload/gpu/cudart.def"
#include "preload/gpu/cuda.def"
#include "preload/gpu/cublas.def"
#include "preload/gpu/cublaslt.def"
#include "preload/gpu/cudnn.def"
#include "preload/gpu/nccl.def"
#include "preload/gpu/cufft.def"
#include "preload/gpu/cusparse.def"
#include "preload/gpu/cusolver.def"
#include "preload/gpu/cufile.def"
#ifdef SL_NO_OLDER
#undef OLDER
#undef SL_NO_OLDER
#endif
