/* hook_info.c - names and classes of the hooks, from the same tables as the shim's. */
#include "preload/hook_info.c" /* NOLINT(bugprone-suspicious-include): one table, two builds */
