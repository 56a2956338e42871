/* pylayout.c - where things lie in a CPython, for the stacks of samples: the table of the shim. */
#include "preload/pylayout.c" /* NOLINT(bugprone-suspicious-include): one table, two builds */
