/*
 * restricted.c - a program that has given up system calls: its filter may kill for one that it does not know, and ours are
 * such. From then on there are none of our own; what they would have told is known otherwise, or not at all.
 */
#include "preload/hook.h"

#include <pthread.h>
#include <time.h>

#include "preload/object.h"
#include "preload/sys.h"

static int (*thread_clock)(pthread_t thread, clockid_t *clock);

void sl_restrict(void)
{
	/* Looked for here: not in every version of glibc is it in libc.so, and few programs need it. */
	if (!thread_clock)
		thread_clock = (int (*)(pthread_t, clockid_t *))(uintptr_t)sl_object_next(
			"pthread_getcpuclockid");
	__atomic_store_n(&sl_global.restricted, 1, __ATOMIC_RELEASE);
}

/* The C library knows its threads' numbers, and tells them in those of their clocks, whose other bits are the kernel's. */
uint32_t sl_own_tid(void)
{
	clockid_t clock;

	if (!sl_global.restricted)
		return (uint32_t)sl_gettid();
	return thread_clock && !thread_clock(pthread_self(), &clock) ? ~((uint32_t)(clock >> 3))
								     : 0;
}

uint32_t sl_forked_pid(void)
{
	uint32_t tid;

	if (!sl_global.restricted)
		return (uint32_t)sl_getpid();
	/* In a child of which the C library knows nothing it is still the parent's. */
	tid = sl_own_tid();
	return sl_tls.slot && sl_tls.slot->tid == tid ? 0 : tid;
}
