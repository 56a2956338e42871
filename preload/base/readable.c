/*
 * readable.c - whether memory can be read.
 *
 * A probe is a system call with an invalid argument: rt_sigprocmask reads the word at its pointer before it checks the
 * rest. Emulators may check the rest first: there mincore is used, which does not recognize guard pages. Valgrind reports
 * both; it does not check the remote side of process_vm_readv.
 */
#include "preload/base/readable.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "preload/base/compiler.h"
#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

#define PAGE UINT64_C(4096) /* no larger than the kernel's */

enum {
	BY_UNKNOWN = 0,
	BY_SIGPROCMASK,
	BY_MINCORE,
	BY_READV,
};
static uint32_t how;

static bool by_sigprocmask(uint64_t address)
{
	return sl_sys4(SYS_rt_sigprocmask, -1, address, 0, 8) == -EINVAL;
}

static bool by_readv(uint64_t address)
{
	uint64_t word;
	struct iovec here = {&word, sizeof(word)}, there = {(void *)address, sizeof(word)};

	return sl_sys6(SYS_process_vm_readv, sl_getpid(), (long)&here, 1, (long)&there, 1, 0) ==
	       (long)sizeof(word);
}

static uint32_t choose(void)
{
	uint32_t by = BY_SIGPROCMASK;

	if (sl_valgrind_runs())
		by = BY_READV;
	else if (by_sigprocmask(-PAGE))
		by = BY_MINCORE;
	__atomic_store_n(&how, by, __ATOMIC_RELAXED);
	return by;
}

bool sl_readable(uint64_t address)
{
	uint32_t by = __atomic_load_n(&how, __ATOMIC_RELAXED);
	unsigned char resident;

	if (sl_unlikely(by == BY_UNKNOWN))
		by = choose();
	if (sl_likely(by == BY_SIGPROCMASK))
		return by_sigprocmask(address);
	if (by == BY_READV)
		return by_readv(address);
	return sl_sys3(SYS_mincore, address & ~(PAGE - 1), 1, &resident) == 0;
}

static bool page_of(struct sl_readable *r, uint64_t address)
{
	uint64_t page = address & ~(PAGE - 1);

	if (page && page == r->page)
		return true;
	if (!page || !sl_readable(page))
		return false;
	r->page = page;
	return true;
}

bool sl_readable_bytes(struct sl_readable *r, const void *at, size_t bytes)
{
	uint64_t from = (uint64_t)(uintptr_t)at, end = from + bytes;

	if (end < from)
		return false;
	for (; from < end; from = (from & ~(PAGE - 1)) + PAGE)
		if (!page_of(r, from))
			return false;
	return true;
}

size_t sl_readable_len(struct sl_readable *r, const char *s, size_t most)
{
	size_t n = 0;

	while (n <= most) {
		size_t left = PAGE - ((uintptr_t)(s + n) & (PAGE - 1)), part;

		if (!page_of(r, (uint64_t)(uintptr_t)(s + n)))
			break;
		part = strnlen(s + n, left);
		n += part;
		if (part < left)
			return n <= most ? n : SIZE_MAX;
	}
	return SIZE_MAX;
}
