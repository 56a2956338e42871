/* pystack.c - the Python stack of the calling thread. Not yet: no Python is known. */
#include "preload/pystack.h"

bool sl_pystack_has(void)
{
	return false;
}

unsigned sl_pystack(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh)
{
	(void)frames;
	(void)room;
	(void)depth;
	(void)fresh;
	return 0;
}

bool sl_pystack_next_code(struct sl_pycode *c)
{
	(void)c;
	return false;
}
