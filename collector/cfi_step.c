/* cfi_step.c - unwinding tables, what needs all registers: the shim's own reader. */
#include "preload/cfi_step.c" /* NOLINT(bugprone-suspicious-include): one reader, two builds */
