/* gpu_rotate.c - adapts the state of GPUs when another report begins: times are shifted, row ids are new. */
#include "collector/decode/gpu/gpu_internal.h"

bool gpu_has_reported(const struct arena *a, int64_t ns)
{
	for (const struct gpu_process *p = a->family.gpu ? a->family.gpu->first : NULL; p;
	     p = p->next)
		if (p->cupti == GPU_CUPTI_ON && !p->has_reported_all && p->reached.until < ns &&
		    !gpu_is_over(a, p))
			return false;
	return true;
}

static void shift(int64_t *ns, int64_t by)
{
	if (*ns != INT64_MIN && *ns != INT64_MAX)
		*ns -= by;
}

void gpu_shift(struct arena *a, int64_t by)
{
	struct gpu_arena *g = a->family.gpu;

	for (struct gpu_process *p = g ? g->first : NULL; p; p = p->next) {
		int64_t *const times[] = {&p->time.first,         &p->reached.until,
					  &p->reached.next_until, &p->reached.last_until,
					  &p->time.horizon,       &p->time.looked_at,
					  &p->calls.last};

		for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
			shift(times[i], by);
		shift(&p->lent.reported_all_at, by);
		shift(&p->lent.back_at, by);
		for (uint32_t i = 0; i < p->lent.cnt; i++)
			shift(&p->lent.event[i].ns, by);
		for (size_t i = 0; i < p->lent.call_cnt; i++)
			shift(&p->lent.call[i], by);
		for (unsigned i = 0; i < GPU_THREADS; i++)
			for (struct gpu_thread *th = p->threads.at[i]; th; th = th->next) {
				shift(&th->used_at, by);
				/* The thread's rows are in another report. */
				th->written_cnt = 0;
			}
		gpu_lent_graphs_shift(p, by);
		gpu_captured_forget(p);
		gpu_streams_shift(p, by);
	}
	if (g) {
		g->save.has_changed = true;
		gpu_log_void(g);
	}
}
