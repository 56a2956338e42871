/* trace_kind.h - words of --trace. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* SL_TRACE_* of the word; 0: it has none. */
uint32_t trace_kind_find(const char *name, size_t len);
