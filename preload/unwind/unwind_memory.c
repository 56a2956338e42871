/*
 * unwind_memory.c - determines which memory a walk may read.
 *
 * main()'s stack ends at the kernel's data above it, and nothing else is near: the kernel keeps at least 128 MiB below it
 * free of mappings. A thread's own stack ends at glibc's thread control block. Once per thread, and again when it has
 * grown, every page from the stack pointer to that end is probed: a gap means that this is another stack (of signals, of
 * coroutines). On those, each page is probed in each walk.
 */
#include "preload/unwind/unwind_internal.h"

#include <sys/auxv.h>

#include "preload/base/readable.h"
#include "preload/wire/sys.h"

enum {
	PAGE = 4096, /* no larger than the kernel's */
	/* Probed before a walk at most, 1 MiB: the next walk continues there. */
	VERIFY_MAX = 256 * PAGE,
	MAIN_MAX = 64 << 20,
	/* Stack space of a walk and its records, at most. No more than a page, so one probe suffices. */
	STACK_NEED = PAGE,
};

/*
 * Bounds of this thread's own stack, and of other memory that a walk started on and that is not connected to it; not yet,
 * if other_is_open.
 */
static __thread uint64_t own_low, own_high, other_low, other_high;
static __thread bool other_is_open;
static __thread uint64_t own_room; /* mapped below it, 0: unknown */
static uint64_t main_high;

void unwind_memory_start(void)
{
	main_high = getauxval(AT_EXECFN) & ~UINT64_C(7);
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
	return !sl_global.seccomp && sl_readable(address);
}

bool unwind_memory_probe(struct unwind_memory *m, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);

	/* On the thread's own stack no caller's frame is outside of the known range. */
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

/* Whether everything from @low to @end, which are mapped, is mapped as well. Known ranges are skipped. */
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
			if (sl_global.seccomp)
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

/* A signal stack may be next to other memory, so its own end is checked. */
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
	if (sl_global.seccomp)
		return true; /* no probes under a filter */
	if (is_at_end_for_signals(sp) || !unwind_readable(low & ~UINT64_C(7)))
		return false;
	if (is_own && (!own_room || low < own_room))
		own_room = low & ~(uint64_t)(PAGE - 1);
	return true;
}
