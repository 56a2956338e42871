/* abi_cudart_11.c - to be loaded as libcudart.so.11.0. */
#define MAJOR 11
#include "tests/prog/lib/abi_versions.h"
