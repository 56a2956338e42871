/* cudart_stub.c - every name of the runtime that no other file here defines: not supported (see cuda_stub.c). */
#include "preload/wire/gpu.h"
#include "tests/standin/cudart_driver.h"

/* Those that return a pointer return none. */
#define GPU(name, abi, roles)                               \
	__attribute__((weak)) long name(void);              \
	__attribute__((weak)) long name(void)               \
	{                                                   \
		int result = RT_RUN(0, CUDA_NOT_SUPPORTED); \
		return *(abi) == 'i' ? result : 0;          \
	}
#define OLDER(name, until, abi, roles)
#include "preload/gpu/tables/cudart.def"
