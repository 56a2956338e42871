/* unwind.c - the native stack of the calling thread. Not yet: nothing is found. */
#include "preload/unwind.h"

unsigned sl_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	(void)frames;
	(void)room;
	(void)depth;
	(void)fresh;
	return 0;
}

bool sl_unwind_next_module(struct sl_module *m)
{
	(void)m;
	return false;
}

static uint32_t generation;

void sl_unwind_forget(void)
{
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

uint32_t sl_unwind_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

void sl_unwind_start(void)
{
}
