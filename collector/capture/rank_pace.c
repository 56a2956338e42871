/* rank_pace.c - sums of a rank's thread, and their differences over some samples. */
#include "collector/capture/rank_pace.h"

#include <string.h>

#include "collector/base/proc.h"
#include "preload/wire/hooks.h"

/* STEP: none, the thread computes in it. */
static enum job_part part_of(unsigned hook)
{
	static const uint8_t parts[SL_WAITS_CNT] = {
		[SL_WAITS_OBJECT] = JOB_FILE,    [SL_WAITS_FILE] = JOB_FILE,
		[SL_WAITS_OPEN] = JOB_FILE,      [SL_WAITS_DISK] = JOB_FILE,
		[SL_WAITS_SOCKET] = JOB_NETWORK, [SL_WAITS_ACCEPT] = JOB_NETWORK,
		[SL_WAITS_LOCK] = JOB_LOCK,      [SL_WAITS_QUEUE] = JOB_LOCK,
		[SL_WAITS_CONDITION] = JOB_LOCK, [SL_WAITS_BARRIER] = JOB_LOCK,
		[SL_WAITS_JOIN] = JOB_LOCK,      [SL_WAITS_CHILD] = JOB_CHILD,
		[SL_WAITS_SLEEP] = JOB_SLEEP,    [SL_WAITS_SIGNAL] = JOB_SLEEP,
		[SL_WAITS_POLL] = JOB_POLL,
	};

	_Static_assert(JOB_STEP == 0, "what has no part");
	return hook < SL_HOOK_CNT ? (enum job_part)parts[sl_hook_info[hook].waits] : JOB_STEP;
}

void rank_pace_step(struct rank_pace *p, int64_t step_ns, int64_t own_ns)
{
	p->sum.steps++;
	p->sum.part[JOB_STEP] += step_ns;
	p->sum.part[JOB_OWN] += own_ns;
}

void rank_pace_call(struct rank_pace *p, unsigned hook, uint64_t start, int64_t ns)
{
	enum job_part part = part_of(hook);

	if (part == JOB_STEP)
		return;
	p->sum.part[part] += ns;
	p->recent[p->recent_next % RANK_PACE_RECENT].start = start;
	p->recent[p->recent_next % RANK_PACE_RECENT].ns = ns;
	p->recent[p->recent_next++ % RANK_PACE_RECENT].part = part;
	p->recent_cnt += p->recent_cnt < RANK_PACE_RECENT;
}

void rank_pace_gpu_call(struct rank_pace *p, uint64_t start)
{
	for (; p->recent_cnt; p->recent_cnt--, p->recent_next--) {
		unsigned last = (p->recent_next - 1) % RANK_PACE_RECENT;

		if (p->recent[last].start < start)
			break;
		p->sum.part[p->recent[last].part] -= p->recent[last].ns;
	}
}

bool rank_pace_sample(struct rank_pace *p, uint32_t pid, uint32_t tid, int64_t now,
		      struct job_pace *last)
{
	const struct job_pace *oldest;
	struct job_pace *next;
	uint64_t ran, waited;

	if (!proc_thread_time(pid, tid, &ran, &waited))
		return false;
	if (tid != p->tid)
		p->cnt = 0;
	p->tid = tid;
	next = &p->sample[p->cnt % RANK_PACE_SAMPLES];
	*next = p->sum;
	next->span = now;
	next->part[JOB_CPU] = (int64_t)ran;
	next->part[JOB_RUNNABLE] = (int64_t)waited;
	p->cnt++;
	if (p->cnt < 2)
		return false;
	oldest = &p->sample[p->cnt > RANK_PACE_SAMPLES ? p->cnt % RANK_PACE_SAMPLES : 0];
	last->span = next->span - oldest->span;
	last->steps = next->steps - oldest->steps;
	last->size = p->sum.size;
	for (unsigned i = 0; i < JOB_PARTS; i++)
		last->part[i] =
			next->part[i] > oldest->part[i] ? next->part[i] - oldest->part[i] : 0;
	return last->span > 0;
}
