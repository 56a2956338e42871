/* trigger_hang.c - notes that the program goes on, by its records and its CPU time. */
#include "collector/capture/trigger_hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/base/proc_stat.h"
#include "collector/model/model.h"
#include "preload/wire/wire.h"

#define ROUND_NS  INT64_C(1000000000)
#define CPU_PART  50                /* of the time, in which threads may run */
#define CPU_LEAST INT64_C(30000000) /* ns: the kernel counts in ticks */

struct trigger_hang {
	struct triggers *ts;
	trigger_fire_fn *fire;
	void *to;
	bool is_look[SL_HOOK_CNT]; /* functions that wait with a limit, by hook */
	bool has_progress;
	int64_t looked_at;     /* CLOCK_MONOTONIC */
	int64_t since, cpu_ns; /* it does nothing since then; CPU time up to then */
	uint32_t processes;
	uint32_t fired; /* triggers, by bits, since it did something last */
};

static bool is_look(unsigned hook)
{
	static const enum sl_waits waits[] = {SL_WAITS_SLEEP, SL_WAITS_POLL, SL_WAITS_CONDITION,
					      SL_WAITS_SIGNAL};
	const char *name = sl_hook_name(hook);

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (sl_hook_info[hook].waits == waits[i])
			return true;
	return strstr(name, "timed") || strstr(name, "clockwait") || strstr(name, "clocklock");
}

struct trigger_hang *trigger_hang_new(struct triggers *ts, trigger_fire_fn *fire, void *to)
{
	struct trigger_hang *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->ts = ts;
	h->fire = fire;
	h->to = to;
	for (unsigned i = 0; i < SL_HOOK_CNT; i++)
		h->is_look[i] = is_look(i);
	return h;
}

void trigger_hang_free(struct trigger_hang *h)
{
	free(h);
}

void trigger_hang_record(struct trigger_hang *h, unsigned shape, unsigned hook)
{
	/* Names and the like are no events; of the interpreter's lock threads take turns that get nowhere. */
	if (shape < SL_SHAPE_META
		    ? hook < SL_HOOK_CNT && !h->is_look[hook]
		    : shape == SL_SHAPE_API || shape == SL_SHAPE_GPU || shape == SL_SHAPE_NVTX)
		h->has_progress = true;
}

void trigger_hang_judge(struct trigger_hang *h, int64_t now, int64_t cpu_ns, uint32_t processes)
{
	int64_t ran = cpu_ns - h->cpu_ns, quiet = now - h->since;
	char why[512], ran_text[32], quiet_text[32];

	if (h->has_progress || !h->since || processes != h->processes || ran < 0 ||
	    ran > quiet / CPU_PART + CPU_LEAST) {
		h->has_progress = false;
		h->since = now;
		h->cpu_ns = cpu_ns;
		h->processes = processes;
		h->fired = 0;
		return;
	}
	for (uint32_t i = 0; i < h->ts->cnt; i++) {
		const struct trigger *t = &h->ts->at[i];

		if (t->kind != TRIGGER_HANG || quiet <= t->limit_ns || h->fired >> i & 1)
			continue;
		h->fired |= 1u << i;
		snprintf(why, sizeof(why),
			 "the program does nothing: for %s no call, range or work of a GPU has "
			 "ended, and its threads ran for %s (trigger '%s')",
			 trigger_time(quiet, quiet_text, sizeof(quiet_text)),
			 trigger_time(ran, ran_text, sizeof(ran_text)), t->text);
		h->fire(h->to, why, 0);
	}
}

/* CPU time of the process and its threads, those that have ended, too; ns. */
static int64_t cpu_of(uint32_t pid)
{
	struct proc_stat s;

	if (!proc_stat_read(pid, 0, &s))
		return 0;
	return (int64_t)((s.user + s.system) * (1000000000ull / (unsigned)sysconf(_SC_CLK_TCK)));
}

void trigger_hang_round(struct trigger_hang *h, const struct model *m)
{
	int64_t now = mono_ns(), cpu = 0;
	uint32_t processes = 0;

	if (now - h->looked_at < ROUND_NS)
		return;
	h->looked_at = now;
	for (const struct proc *p = m->procs; p; p = p->links.next) {
		if (p->flags.is_gone || !(p->flags.is_traced || p->flags.in_tree))
			continue;
		processes++;
		cpu += cpu_of(p->pid);
	}
	if (processes)
		trigger_hang_judge(h, now, cpu, processes);
}
