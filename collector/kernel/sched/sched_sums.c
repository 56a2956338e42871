/* sched_sums.c - how long each thread was on a CPU, and how long it was not: for live.h. */
#include "collector/kernel/sched/sched_internal.h"

void sched_count(struct sched *s, struct sched_thread *t, uint64_t before_ns,
		 const struct sched_switch *row)
{
	/* Nothing was recorded before; and of a thread that was never heard of, nothing is known. */
	uint64_t from = before_ns > s->edge.on_ns ? before_ns : s->edge.on_ns;

	if (!row->is_in)
		t->cpu_ns += row->time_ns - from;
	else if (before_ns && row->time_ns > from)
		t->off_ns += row->time_ns - from;
	t->switches++;
	t->is_over = !row->is_in && row->state == SCHED_STATE_TERMINATED;
	t->is_on = row->is_in;
	if (t->is_counted)
		return;
	t->is_counted = true;
	t->next_counted = s->threads.counted;
	s->threads.counted = t;
}

void sched_sums(struct sched *s, sched_sum_fn *fn, void *ctx)
{
	struct sched_thread *t = s->threads.counted, *next;

	for (; t; t = next) {
		struct sched_sum sum = {.pid = t->pid,
					.tid = t->tid,
					.switches = t->switches,
					.cpu_ns = t->cpu_ns,
					.off_ns = t->off_ns,
					.since_ns = t->since_ns,
					.is_on = t->is_on,
					.is_over = t->is_over};

		next = t->next_counted;
		t->cpu_ns = t->off_ns = 0;
		t->switches = 0;
		t->is_counted = false;
		if (fn)
			fn(ctx, &sum);
	}
	s->threads.counted = NULL;
}
