/*
 * no_memory.c - LD_PRELOAD: the allocation number $NO_MEMORY_AT gets none; prints at the end how many there were, on the
 * descriptor $NO_MEMORY_FD.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t cnt, size_t size);
void *__libc_realloc(void *old, size_t size);

static long at = -1, cnt;

static int fails(void)
{
	if (at < 0) {
		const char *text = getenv("NO_MEMORY_AT");

		at = text ? atol(text) : 0;
	}
	/* Relaxed: a number each is enough. */
	if (__atomic_add_fetch(&cnt, 1, __ATOMIC_RELAXED) != at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, n * size);
}

__attribute__((destructor)) static void tell(void)
{
	const char *fd = getenv("NO_MEMORY_FD");

	if (fd)
		dprintf(atoi(fd), "%ld\n", cnt);
}
