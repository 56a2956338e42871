/* gpu_sweep.c - one pass over the operations in order of their start. */
#include "exporters/why/model/gpu_sweep.h"

#include <string.h>

static bool is_wanted(const struct gpu_sweep *s, const struct why_op *o)
{
	const struct why_kind *k = why_kind(s->m, o);

	return (s->process == WHY_NONE || k->process == s->process) &&
	       (s->device == WHY_NONE || k->device == s->device);
}

static void take(const struct why_op **longest, const struct why_op *o)
{
	if (!*longest || o->end > (*longest)->end)
		*longest = o;
}

void gpu_sweep_begin(struct gpu_sweep *s, const struct why_model *m, uint32_t process,
		     uint32_t device, int64_t time)
{
	*s = (struct gpu_sweep){
		.m = m, .process = process, .device = device, .next = why_reach(m, time)};
}

const struct why_op *gpu_sweep_at(struct gpu_sweep *s, int64_t time, int64_t *until)
{
	const struct why_model *m = s->m;

	for (; s->next < m->ops_cnt && m->ops[s->next].start <= time; s->next++) {
		const struct why_op *o = &m->ops[s->next];

		if (is_wanted(s, o))
			take(why_computes(m, o) ? &s->kernel : &s->copy, o);
	}
	while (s->next < m->ops_cnt && !is_wanted(s, &m->ops[s->next]))
		s->next++;
	if (s->kernel && s->kernel->end > time) {
		*until = s->kernel->end;
		return s->kernel;
	}
	*until = s->next < m->ops_cnt ? m->ops[s->next].start : INT64_MAX;
	if (s->copy && s->copy->end > time) {
		if (s->copy->end < *until)
			*until = s->copy->end;
		return s->copy;
	}
	return NULL;
}

const struct why_op *gpu_sweep_next(const struct gpu_sweep *s)
{
	return s->next < s->m->ops_cnt ? &s->m->ops[s->next] : NULL;
}
