/* walk_gil.c - a wait for the GIL ends every 5 ms by its time limit: no wake-up leads to the thread that has it. */
#include "exporters/why/walk/walk_parts.h"

#define TRIES 200 /* threads, and switches of each, looked through */

/* How long a thread ran, or could have, had it had a CPU. */
static int64_t could_run(const struct why_thread *t, int64_t from, int64_t to)
{
	size_t i = why_last(t->switches, t->switches_cnt, sizeof(*t->switches), from), k;
	int64_t ns = 0;

	i = i == t->switches_cnt ? 0 : i;
	for (k = i; k < t->switches_cnt && k < i + TRIES && t->switches[k].time < to; k++) {
		int64_t end = k + 1 < t->switches_cnt ? t->switches[k + 1].time : to;

		if (t->switches[k].is_in || t->switches[k].is_preempted)
			ns += later(0, earlier(end, to) - later(t->switches[k].time, from));
	}
	return ns;
}

uint32_t walk_gil_holder(const struct why_model *m, uint32_t thread, int64_t from, int64_t to)
{
	uint32_t process = m->threads[thread].process, best = WHY_NONE;
	int64_t most = 0;

	for (uint32_t i = 0, tries = 0; i < m->threads_cnt && tries < TRIES; i++) {
		int64_t ns;

		if (i == thread || m->threads[i].process != process)
			continue;
		tries++;
		ns = could_run(&m->threads[i], from, to);
		if (ns > most) {
			most = ns;
			best = i;
		}
	}
	return best;
}
