/*
 * library_stub.c - every name of a library (LIBRARY_TABLE) that its stand-in does not define: LIBRARY_NOT_SUPPORTED, the
 * library's own status. Weak, as in cuda_stub.c.
 */
#include "preload/wire/gpu.h"

/* The status, and 0 where a floating point number is expected. */
struct answer {
	long status;
	double number;
};
#define GPU(name, abi, roles)                                                                      \
	__attribute__((weak)) struct answer name(void);                                            \
	__attribute__((weak)) struct answer name(void)                                             \
	{                                                                                          \
		return (struct answer){*(abi) == 'i' || *(abi) == '1' ? LIBRARY_NOT_SUPPORTED : 0, \
				       0};                                                         \
	}
#define OLDER(name, until, abi, roles)
#include LIBRARY_TABLE
