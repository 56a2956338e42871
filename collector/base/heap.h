/* heap.h - how the collector's memory is had from the kernel. */
#ifndef SL_HEAP_H
#define SL_HEAP_H

#include <stddef.h>

/* One heap for all threads. Call it before there are any. */
void heap_prepare(void);

/* Best effort: so many bytes that are allocated next, here or in another thread, will cause no page faults: they do now. */
void heap_warm(size_t bytes);

/* Best effort: memory for the pages from @at on, the first whole, is had by one call. */
void heap_populate(void *at, size_t bytes);

/* Best effort: so many bytes that are allocated next will be on large pages, from their first use on. */
void heap_large(size_t bytes);

#endif
