/* leaving.c - counts the threads in slow paths, where the library came late. Rules as in hook.c. */
#include "preload/core/leaving.h"

#include <stdint.h>
#include <time.h>

#include "preload/wire/clock.h"
#include "preload/wire/sys.h"

static bool is_counting; /* the library came late; never reset */
static bool is_closed;   /* atomic: the session is left */
static uint32_t inside;  /* atomic: threads in slow paths, nested ones twice */

bool sl_slow_begin(void)
{
	if (!__atomic_load_n(&is_counting, __ATOMIC_RELAXED))
		return true;
	/* Counted first, then asked: either this thread sees that it is closed, or sl_slow_close() sees this thread. */
	__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&is_closed, __ATOMIC_SEQ_CST))
		return true;
	sl_slow_end();
	return false;
}

void sl_slow_end(void)
{
	if (__atomic_load_n(&is_counting, __ATOMIC_RELAXED))
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

void sl_slow_open(void)
{
	__atomic_store_n(&is_closed, false, __ATOMIC_SEQ_CST);
	__atomic_store_n(&is_counting, true, __ATOMIC_SEQ_CST);
}

bool sl_slow_close(unsigned limit_ms)
{
	const struct timespec step = {0, 200000};
	uint64_t until = sl_mono_ns() + limit_ms * UINT64_C(1000000);

	__atomic_store_n(&is_closed, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST)) {
		if (sl_mono_ns() > until)
			return false;
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
	}
	return true;
}

void sl_slow_forked(void)
{
	if (__atomic_load_n(&is_counting, __ATOMIC_RELAXED))
		__atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
}
