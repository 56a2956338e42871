/* cfi.c - unwinding tables, for the stacks of samples: the shim's own reader. */
#include "preload/cfi.c" /* NOLINT(bugprone-suspicious-include): one reader, two builds */
