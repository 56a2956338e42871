/* cfi_entry.c - unwinding tables, finding an entry: the shim's own reader. */
#include "preload/cfi_entry.c" /* NOLINT(bugprone-suspicious-include): one reader, two builds */
