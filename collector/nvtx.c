/* nvtx.c - see nvtx.h. */
#include "collector/nvtx.h"

void nvtx_record(struct arenas *as, struct thread *t, const struct call *c)
{
	(void)as;
	(void)t;
	(void)c;
}

void nvtx_settle(struct arenas *as, struct arena *a)
{
	(void)as;
	(void)a;
}

void nvtx_release(struct arena *a)
{
	(void)a;
}
