/* gpu.c - see gpu.h. */
#include "collector/gpu.h"

void gpu_call(struct arenas *as, struct thread *t, const struct call *c)
{
	(void)as;
	(void)t;
	(void)c;
}

void gpu_record(struct arenas *as, struct thread *t, const struct call *c)
{
	(void)as;
	(void)t;
	(void)c;
}

void gpu_settle(struct arenas *as, struct arena *a, bool all)
{
	(void)as;
	(void)a;
	(void)all;
}

void gpu_release(struct arena *a)
{
	(void)a;
}
