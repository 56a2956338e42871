/* gpu_tables.c - functions of GPU libraries, from the same tables as the shim's. */
#include "preload/gpu_tables.c" /* NOLINT(bugprone-suspicious-include): one table, two builds */
