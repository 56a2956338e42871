/* budget.c - counts the memory of kept texts, paths, files and stacks, and asks the kernel for the process's size. */
#include "collector/base/budget.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/now.h"

#define TRIM_NS   1000000000 /* between two calls of malloc_trim() */
#define TRIM_FROM (BUDGET_MEMORY / 4 * 3)

/* Of the main thread; the thread that reads symbols looks at them. */
static uint64_t kept, noted;

static uint64_t kept_now(void)
{
	return __atomic_load_n(&kept, __ATOMIC_RELAXED);
}

bool budget_take(size_t bytes)
{
	uint64_t now = kept_now();

	if (bytes > BUDGET_KEPT || now > BUDGET_KEPT - bytes)
		return false;
	__atomic_store_n(&kept, now + bytes, __ATOMIC_RELAXED);
	return true;
}

void budget_give(size_t bytes)
{
	uint64_t now = kept_now();

	__atomic_store_n(&kept, now - (bytes < now ? bytes : now), __ATOMIC_RELAXED);
}

void budget_note(int64_t bytes)
{
	__atomic_store_n(&noted, noted + (uint64_t)bytes, __ATOMIC_RELAXED);
}

static uint64_t not_symbols(void)
{
	return kept_now() + __atomic_load_n(&noted, __ATOMIC_RELAXED);
}

/*
 * Written by the thread that reads symbols, read by the main thread: figures of their own, relaxed. @begun: memory when the
 * work began that goes on, 0: none does; @begun_others: not_symbols() then.
 */
static uint64_t symbols, begun, begun_others;

void budget_symbols_begin(void)
{
	__atomic_store_n(&begun_others, not_symbols(), __ATOMIC_RELAXED);
	__atomic_store_n(&begun, budget_memory(), __ATOMIC_RELAXED);
}

/* The process's memory without the work in progress: its size before the work, plus the bytes kept since. */
static uint64_t without_work(uint64_t before)
{
	uint64_t now = not_symbols(), then = __atomic_load_n(&begun_others, __ATOMIC_RELAXED);

	return before + (now > then ? now - then : 0);
}

void budget_symbols_end(void)
{
	uint64_t now = budget_memory(),
		 before = without_work(__atomic_load_n(&begun, __ATOMIC_RELAXED));

	if (now > before)
		__atomic_add_fetch(&symbols, now - before, __ATOMIC_RELAXED);
	__atomic_store_n(&begun, 0, __ATOMIC_RELAXED);
}

uint64_t budget_without_symbols(uint64_t memory)
{
	uint64_t part = __atomic_load_n(&symbols, __ATOMIC_RELAXED),
		 before = __atomic_load_n(&begun, __ATOMIC_RELAXED);

	if (before && memory > without_work(before))
		memory = without_work(before);
	return memory > part ? memory - part : 0;
}

/* Bytes of memory, and of them those of files and of memory that processes share. False: not known. */
static bool resident_bytes(uint64_t *resident, uint64_t *shared)
{
	static int fd = -2;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all, files;
	char text[128], *at = text;
	ssize_t n;

	if (fd == -2)
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0)
		return false;
	text[n] = 0;
	strtoull(at, &at, 10);
	all = strtoull(at, &at, 10);
	files = strtoull(at, &at, 10);
	if (!all || files > all)
		return false;
	*resident = all * page;
	*shared = files * page;
	return true;
}

static uint64_t own_memory(void)
{
	uint64_t resident, shared;

	return resident_bytes(&resident, &shared) ? resident - shared : 0;
}

uint64_t budget_files(void)
{
	uint64_t resident, shared;

	return resident_bytes(&resident, &shared) ? shared : 0;
}

/* A burst of processes leaves memory that is free and still malloc()'s: while it counts, further ones find no place. */
uint64_t budget_memory(void)
{
	uint64_t memory = own_memory();
#ifdef __GLIBC__
	static int64_t trimmed_at;
	int64_t now;

	if (memory <= TRIM_FROM)
		return memory;
	now = mono_ns();
	if (now - __atomic_load_n(&trimmed_at, __ATOMIC_RELAXED) < TRIM_NS)
		return memory;
	__atomic_store_n(&trimmed_at, now, __ATOMIC_RELAXED);
	malloc_trim(0);
	memory = own_memory();
#endif
	return memory;
}
