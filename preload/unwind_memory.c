/*
 * unwind_memory.c - which of the memory that a walk wants is there.
 *
 * A thread's own stack ends where glibc put the thread's control block, main()'s at what the kernel wrote above it. Once
 * per thread, and again where it has grown, every page from the stack pointer to that end is asked for: a gap means that
 * this is some other stack (of signals, of coroutines). On those, each page is asked for in each walk. Asking is a system
 * call with a wrong argument: rt_sigprocmask reads the word it is pointed to before it looks at the rest.
 */
#include "preload/unwind_internal.h"

#include <sys/auxv.h>

#include "preload/sys.h"

enum {
	PAGE = 4096, /* no larger than the kernel's */
	/* Asked for before a walk, 1 MiB. A stack that is used to more at once is asked for page by page. */
	VERIFY_MAX = 256 * PAGE,
};

/* What this thread's own stack was found to be, and another that it was found on. */
static __thread uint64_t own_low, own_high, other_low, other_high;
static uint64_t main_high;
static bool is_emulated;

void unwind_memory_start(void)
{
	main_high = getauxval(AT_EXECFN) & ~UINT64_C(7);
	is_emulated = unwind_readable(-(uint64_t)PAGE);
}

static uint64_t thread_pointer(void)
{
	uint64_t p;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(p));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(p));
#endif
	return p & ~UINT64_C(7);
}

bool unwind_readable(uint64_t address)
{
	if (sl_global.restricted)
		return false;
	if (sl_unlikely(is_emulated)) {
		unsigned char resident;

		return sl_sys3(SYS_mincore, address & ~(uint64_t)(PAGE - 1), 1, &resident) == 0;
	}
	return sl_sys4(SYS_rt_sigprocmask, -1, (uintptr_t)address, 0, 8) == -EINVAL;
}

bool unwind_memory_ask(struct unwind_memory *m, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);

	/* Beyond the end of the thread's own stack there is none; below it is no caller. */
	if (m->high || address & 7 || address < PAGE || address >> 56)
		return false;
	if (page == m->page)
		return true;
	if (!unwind_readable(address)) {
		m->refused = true;
		return false;
	}
	m->page = page;
	return true;
}

void unwind_memory_begin(struct unwind_memory *m, uint64_t sp)
{
	uint64_t end = thread_pointer(), page = sp & ~(uint64_t)(PAGE - 1), at = page;

	m->page = 0;
	m->low = own_low;
	m->high = own_high;
	if (sl_likely(sp >= own_low && sp < own_high))
		return;
	m->low = m->high = 0;
	if (sp >= other_low && sp < other_high)
		return;
	if (sp >= end || (sp < main_high && main_high < end))
		end = main_high;
	if (sp >= end)
		return;
	/* What is known joins on above. */
	while (at < end && !(end == own_high && at >= own_low)) {
		if (at - page >= VERIFY_MAX || !unwind_readable(at)) {
			if (sl_global.restricted)
				return;
			other_low = page - (at - page >= VERIFY_MAX ? VERIFY_MAX : 0);
			other_high = at;
			return;
		}
		at += PAGE;
	}
	own_low = m->low = page;
	own_high = m->high = end;
}
