/* unwind_shim.c - the unwinder in a library of its own, for tests/unit/unwind/unwind.c. */
#include "preload/base/state.h"
#include "preload/unwind/unwind.h"

#include "tests/unit/lib/stack_cases.h"

struct sl_global sl_global;

__attribute__((constructor)) static void start(void)
{
	sl_unwind_start();
}

SL_EXPORT unsigned shim_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	unsigned n = sl_unwind(frames, room, depth, fresh);

	__asm__ volatile("" ::: "memory"); /* a frame of its own */
	return n;
}

SL_EXPORT bool shim_next_module(struct sl_module *m)
{
	return sl_unwind_next_module(m);
}

SL_EXPORT void shim_forget(void)
{
	sl_unwind_invalidate();
}

SL_EXPORT void shim_restrict(bool on)
{
	sl_global.seccomp = on;
}
