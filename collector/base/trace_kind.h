/* trace_kind.h - words of --trace. */
#ifndef SL_TRACE_KIND_H
#define SL_TRACE_KIND_H

#include <stddef.h>
#include <stdint.h>

/* SL_TRACE_* of the word; 0: it has none. */
uint32_t trace_kind_find(const char *name, size_t len);

#endif
