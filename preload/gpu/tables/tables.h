/* tables.h - every table of a GPU library, in the order of SL_GPU_LIBRARIES. No guard: included once per use. */
#ifndef OLDER
#define OLDER(name, until, abi, roles)
#define SL_NO_OLDER
#endif
#include "preload/gpu/tables/cudart.def"
#include "preload/gpu/tables/cuda.def"
#include "preload/gpu/tables/cublas.def"
#include "preload/gpu/tables/cublaslt.def"
#include "preload/gpu/tables/cudnn.def"
#include "preload/gpu/tables/nccl.def"
#include "preload/gpu/tables/cufft.def"
#include "preload/gpu/tables/cusparse.def"
#include "preload/gpu/tables/cusolver.def"
#include "preload/gpu/tables/cufile.def"
#include "preload/gpu/tables/mpi.def"
#ifdef SL_NO_OLDER
#undef OLDER
#undef SL_NO_OLDER
#endif
