/*
 * walk_ranks.c - kernels of NCCL wait for the kernels of other ranks: all end together, and the last one to begin made the others
 * wait.
 */
#include <stdlib.h>

#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"

#define TOGETHER \
	50000 /* ns between the ends of kernels of one collective, at most; or a twentieth of its time */

const struct why_op *walk_late_op(struct walk *w, const struct why_op *o)
{
	const struct why_model *m = w->m;
	int64_t slack = later(TOGETHER, (o->end - o->start) / 20);
	const struct why_kind *k = why_kind(m, o);
	const struct why_op *last = NULL;

	if (k->work != WORK_KERNEL || !reason_is_nccl(w, k->name))
		return NULL;
	for (size_t i = (size_t)(o - m->ops) + 1; i < m->ops_cnt && m->ops[i].start < o->end; i++) {
		const struct why_op *p = &m->ops[i];
		const struct why_kind *of = why_kind(m, p);

		if (of->name == k->name && llabs(p->end - o->end) <= slack &&
		    (of->process != k->process || of->device != k->device))
			last = p;
	}
	return last;
}

int64_t walk_late_rank(struct walk *w, const struct at *at, const struct why_op *o, int64_t from,
		       int64_t to)
{
	const struct why_op *last;
	struct why_cause cause;
	struct at next = *at;

	if (at->depth >= DEPTH_MAX)
		return from;
	last = walk_late_op(w, o);
	to = last ? earlier(to, last->start) : from;
	if (to <= from || last->launch == WHY_NONE ||
	    !walk_may_enter(w, why_kind(w->m, last)->process))
		return from;
	cause = walk_cause_of_op(w, o);
	cause.reason = WHY_GPU_RANK;
	next.hop = walk_hop(w, at, &cause);
	next.thread = w->m->launches[last->launch].thread;
	next.depth++;
	next.sure *= MATCHED;
	walk_device(w, next, why_kind(w->m, last)->process, why_kind(w->m, last)->device, from, to);
	return to;
}
