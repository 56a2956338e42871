/* abi_cudart_12.c - to be loaded as libcudart.so.12. */
#define MAJOR 12
#include "tests/prog/lib/abi_versions.h"
