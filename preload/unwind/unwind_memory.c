/*
 * unwind_memory.c - which of the memory that a walk wants is there.
 *
 * main()'s stack ends at what the kernel wrote above it, and nothing else is near: the kernel keeps at least 128 MiB
 * below it free of mappings. A thread's own stack ends where glibc put the thread's control block. Once per thread, and
 * again where it has grown, every page from the stack pointer to that end is asked for: a gap means that this is some
 * other stack (of signals, of coroutines). On those, each page is asked for in each walk.
 *
 * Asking is a system call with a wrong argument: rt_sigprocmask reads the word it is pointed to before it looks at the
 * rest. Emulators may look at the rest first: there mincore has to do, which does not see that a page is a guard.
 */
#include "preload/unwind/unwind_internal.h"

#include <errno.h>
#include <sys/auxv.h>

#include "preload/wire/sys.h"

enum {
	PAGE = 4096, /* no larger than the kernel's */
	/* Asked for before a walk at most, 1 MiB: the next walk goes on from there. */
	VERIFY_MAX = 256 * PAGE,
	MAIN_MAX = 64 << 20,
	/* What a walk and the telling of it take of the stack, at most. No more than a page, so one look is enough. */
	STACK_NEED = PAGE,
};

/*
 * What this thread's own stack was found to be, and memory that it was found on and that does not reach up to it; or
 * not yet, while that is open.
 */
static __thread uint64_t own_low, own_high, other_low, other_high;
static __thread bool other_is_open;
static __thread uint64_t own_room; /* what is there below it, 0: not known */
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

/* Is everything there from @low, which is, to @end, which is too? What is known already is skipped. */
static bool reaches(uint64_t low, uint64_t end)
{
	uint64_t at = low + PAGE, limit = at + VERIFY_MAX;

	while (at < end - end % PAGE) {
		if (end == own_high && at >= own_low)
			return true;
		if (other_is_open && at >= other_low && at < other_high) {
			limit += other_high - at;
			at = other_high;
			continue;
		}
		if (at >= limit || !unwind_readable(at)) {
			if (sl_global.restricted)
				return false;
			other_low = low;
			other_high = at;
			other_is_open = at >= limit;
			return false;
		}
		at += PAGE;
	}
	return true;
}

void unwind_memory_begin(struct unwind_memory *m, uint64_t sp)
{
	uint64_t end = thread_pointer(), low = sp - sp % PAGE;

	m->page = low;
	m->low = own_low;
	m->high = own_high;
	if (sl_likely(sp >= own_low && sp < own_high))
		return;
	m->low = m->high = 0;
	if (sp < main_high && main_high - sp < MAIN_MAX) {
		end = main_high;
	} else {
		if (sp >= other_low && sp < other_high) {
			if (!other_is_open)
				return;
			low = other_low;
		}
		if (sp >= end || !reaches(low, end))
			return;
	}
	own_low = m->low = low;
	own_high = m->high = end;
}

/* On a stack for signals, which may lie amid other memory, its own end counts. */
static bool is_at_end_for_signals(uint64_t sp)
{
	struct {
		uint64_t low;
		int32_t flags, unused;
		uint64_t size;
	} s = {0};

	return sl_sys2(SYS_sigaltstack, 0, (long)(uintptr_t)&s) == 0 && sp > s.low &&
	       sp - s.low < s.size && sp - s.low < STACK_NEED;
}

bool sl_unwind_has_room(void)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0), low = sp - STACK_NEED;
	bool is_own = sp >= own_low && sp < own_high;

	if (sl_likely(is_own && own_room && low >= own_room))
		return true;
	if (sl_global.restricted)
		return true; /* nothing can be asked for */
	if (is_at_end_for_signals(sp) || !unwind_readable(low & ~UINT64_C(7)))
		return false;
	if (is_own && (!own_room || low < own_room))
		own_room = low & ~(uint64_t)(PAGE - 1);
	return true;
}
