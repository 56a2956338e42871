/*
 * cuda_stub.c - every name that the driver exports and no other file here defines: not supported. Weak, so that the
 * functions in the other files take their places; outputs are not written, hence never success.
 */
#include "preload/wire/gpu.h"
#include "tests/standin/cuda_driver.h"

#define GPU(name, abi, roles)                          \
	__attribute__((weak)) int name(void);          \
	__attribute__((weak)) int name(void)           \
	{                                              \
		return CALL_EARLY(CUDA_NOT_SUPPORTED); \
	}
#define OLDER(name, until, abi, roles)
#include "preload/gpu/tables/cuda.def"
