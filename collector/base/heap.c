/*
 * heap.c - see heap.h.
 *
 * A page fault costs from 0.3 us to, in a virtual machine with shadow page tables, 12 us; symbol tables and rows of a short
 * program take a thousand, beside the program that is measured. Had together, pages cost a quarter of that. Large pages
 * cost next to nothing, but for the first of them, which a host may take milliseconds to find: where nobody waits.
 */
#include "collector/base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before, it is refused */
#endif

#define GROW (1 << 20) /* the heap, at a time */
/* Freed memory that is not given back; blocks from this on are maps of their own. */
#define KEEP (16 << 20)

void heap_prepare(void)
{
	/* Heaps of threads grow by a page at a time, with a system call each. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, GROW);
	mallopt(M_MMAP_THRESHOLD, KEEP);
	mallopt(M_TRIM_THRESHOLD, KEEP);
}

static void advise_next(size_t bytes, int advice)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first, last;
	void *room = malloc(bytes);

	if (!room)
		return;
	first = ((uintptr_t)room + page - 1) & -page;
	last = ((uintptr_t)room + bytes) & -page;
	madvise((void *)first, last - first, advice);
	free(room);
}

void heap_populate(void *at, size_t bytes)
{
	madvise(at, bytes, MADV_POPULATE_WRITE);
}

void heap_warm(size_t bytes)
{
	advise_next(bytes, MADV_POPULATE_WRITE);
}

void heap_large(size_t bytes)
{
	advise_next(bytes, MADV_HUGEPAGE);
}
