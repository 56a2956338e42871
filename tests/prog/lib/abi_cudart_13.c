/* abi_cudart_13.c - to be loaded as libcudart.so.13. */
#define MAJOR 13
#include "tests/prog/lib/abi_versions.h"
