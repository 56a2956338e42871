/* busy.c - sums of switches by process, and the choice among them. */
#include "exporters/why/answer/busy.h"

#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/why/answer/why.h"

#define IDLE  0.5  /* of the root's time with a CPU: it waits for nothing recorded */
#define OWN   0.25 /* likewise: the root's answer is about work, its own or that of others */
#define WORKS 0.5  /* of that wait: another process is busy for so long */
#define LOOP \
	3 /* sleeps of one line from which on it asks again and again whether others are done */
#define PART     0.2  /* of the busiest process: others with as much may be the last */
#define TOGETHER 0.05 /* of the time looked at: processes that end so close end together */
#define TAIL     0.1  /* likewise: one process alone at the end */
#define LEAST    0.01 /* likewise: a process with less is none of the list */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- sums ---- */

static void add_thread(struct why_busy_process *p, const struct why *y, uint32_t number,
		       int64_t *best)
{
	const struct why_thread *t = &y->model.threads[number];
	int64_t run = 0;

	for (size_t i = 0; i < t->switches_cnt; i++) {
		const struct why_switch *s = &t->switches[i];
		int64_t from = most(s->time, y->from), to;

		to = least(i + 1 < t->switches_cnt ? t->switches[i + 1].time : y->to, y->to);
		if (to <= from || (!s->is_in && !s->is_preempted))
			continue;
		*(s->is_in ? &run : &p->ready) += to - from;
		p->last = most(p->last, to);
	}
	p->run += run;
	if (run > *best) {
		*best = run;
		p->thread = number;
	}
}

static int by_run(const void *a, const void *b)
{
	const struct why_busy_process *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? 1 : -1;
	return (x->process > y->process) - (x->process < y->process);
}

static bool is_wait_for_others(uint32_t reason)
{
	return (reason >= WHY_SOCKET && reason <= WHY_SIGNAL && reason != WHY_SLEEP) ||
	       reason == WHY_BLOCKED;
}

static bool is_ancestor(const struct why_model *m, uint32_t process, uint32_t of)
{
	for (unsigned depth = 0; depth < 64; depth++) {
		long parent = id_map_find(&m->pids, m->processes[of].parent);

		if (parent < 0 || parent == (long)of)
			return false;
		of = (uint32_t)parent;
		if (of == process)
			return true;
	}
	return false;
}

/* The process that worked alone at the end, of at least three. */
static void find_tail(struct why_busy *b, const struct why *y)
{
	uint32_t root = y->model.threads[y->focus].process;
	const struct why_busy_process *last = NULL, *before = NULL;

	for (size_t i = 0; i < b->list_cnt; i++)
		if (!last || b->list[i].last > last->last)
			last = &b->list[i];
	for (size_t i = 0; i < b->list_cnt; i++) {
		const struct why_busy_process *p = &b->list[i];

		if (p != last && !is_ancestor(&y->model, p->process, last->process) &&
		    !is_ancestor(&y->model, last->process, p->process) &&
		    (!before || p->last > before->last))
			before = p;
	}
	b->tail = WHY_NONE;
	if (b->list_cnt < 3 || !before || last->process == root ||
	    (double)(last->last - before->last) < TAIL * (double)y->ns)
		return;
	b->tail = last->process;
	b->tail_ns = last->last - before->last;
}

int why_find_busy(struct why_busy *b, struct why *y)
{
	const struct why_model *m = &y->model;
	struct why_busy_process *all = calloc(m->processes_cnt + 1, sizeof(*all));
	int64_t *best = calloc(m->processes_cnt + 1, sizeof(*best));
	uint32_t root = m->threads[y->focus].process;
	int rc = all && best ? SQLITE_OK : SQLITE_NOMEM;

	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++)
		add_thread(&all[m->threads[i].process], y, i, &best[m->threads[i].process]);
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->processes_cnt; i++) {
		if (i == root || (double)all[i].run < LEAST * (double)y->ns)
			continue;
		all[i].process = i;
		if (!grow(&b->list, b->list_cnt, &b->list_room, sizeof(*b->list)))
			rc = SQLITE_NOMEM;
		else
			b->list[b->list_cnt++] = all[i];
	}
	if (b->list_cnt)
		qsort(b->list, b->list_cnt, sizeof(*b->list), by_run);
	for (size_t i = 0; i < y->walk.leaves_cnt; i++) {
		const struct why_leaf *l = &y->walk.leaves[i];
		uint32_t r = l->cause.reason;

		/* A thread of the root that waits on the root's behalf is an answer. */
		bool is_others = is_wait_for_others(r) && (!l->hop || l->process != root);

		if (is_others ||
		    (r == WHY_SLEEP && (l->process != root || (!l->hop && l->cnt >= LOOP)))) {
			b->idle += l->ns;
			b->asks += l->hop ? 0 : l->ns;
		} else if (r != WHY_NO_CPU && r != WHY_UNKNOWN && r != WHY_IMPORT &&
			   r != WHY_TRACER) {
			b->work += l->ns;
		}
	}
	find_tail(b, y);
	free(all);
	free(best);
	return rc;
}

/* ---- waits ---- */

struct waits {
	int64_t of_reason[WHY_REASON_CNT];
};

static void on_span(void *ctx, const struct why_cause *cause, int64_t ns)
{
	((struct waits *)ctx)->of_reason[cause->reason] += ns;
}

/* What the process's thread does, by reasons. */
static struct waits waits_of(struct why *y, const struct why_busy_process *p)
{
	struct waits w = {0};

	walk_own(&y->walk, p->thread, y->model.wall.start, y->model.wall.end, on_span, &w);
	return w;
}

/* ---- the choice ---- */

/* Its time with a CPU, or without one that it could use, and that of its own sleeps and files. */
static int64_t works(struct why *y, const struct why_busy_process *p)
{
	struct waits w = waits_of(y, p);

	return p->run + p->ready + w.of_reason[WHY_SLEEP] + w.of_reason[WHY_FILE] +
	       w.of_reason[WHY_FSYNC] + w.of_reason[WHY_PAGE_IN];
}

uint32_t why_busy_focus(const struct why_busy *b, struct why *y)
{
	const struct why_busy_process *top = b->list_cnt ? b->list : NULL, *chosen = NULL;
	int64_t end = INT64_MIN, with_cpu = y->ns - y->of_reason[WHY_NO_CPU];

	/*
	 * The processes work on CPUs; or the root asks them again and again, and the one that it waits for sleeps itself. On a busy machine, the root's waits for a CPU
	 * are no sign of work.
	 */
	if ((double)b->idle < IDLE * (double)with_cpu || !top ||
	    (double)b->work > OWN * (double)with_cpu)
		return WHY_NONE;
	for (size_t i = 0; i < b->list_cnt; i++)
		if ((double)b->list[i].run >= PART * (double)top->run)
			end = most(end, b->list[i].last);
	/* The one that the root's end waits for: of those that are busy until then, the busiest. */
	for (size_t i = 0; i < b->list_cnt && !chosen; i++)
		if ((double)b->list[i].run >= PART * (double)top->run &&
		    (double)(end - b->list[i].last) <= TOGETHER * (double)y->ns)
			chosen = &b->list[i];
	if ((double)(top->run + top->ready) < WORKS * (double)b->idle &&
	    ((double)b->asks < IDLE * (double)with_cpu ||
	     (double)works(y, chosen) < WORKS * (double)b->asks))
		return WHY_NONE;
	return chosen->process;
}

void why_busy_waits(struct why_busy *b, struct why *y)
{
	for (size_t i = 0; i < b->list_cnt && i < WHY_BUSY_SHOWN; i++) {
		struct why_busy_process *p = &b->list[i];
		struct waits w = waits_of(y, p);

		p->wait = WHY_NO_CPU;
		for (uint32_t r = WHY_FILE; r < WHY_REASON_CNT; r++)
			if (r != WHY_UNKNOWN && r != WHY_TRACER && r != WHY_IMPORT &&
			    w.of_reason[r] > p->wait_ns) {
				p->wait = r;
				p->wait_ns = w.of_reason[r];
			}
	}
}

void why_busy_free(struct why_busy *b)
{
	free(b->list);
}
