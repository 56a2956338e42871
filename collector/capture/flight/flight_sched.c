/* flight_sched.c - see flight_sched.h. */
#include "collector/capture/flight/flight_sched.h"

#include <stdlib.h>
#include <string.h>

#define WAKE_BITS 38
#define WAKE_MAX  ((UINT64_C(1) << WAKE_BITS) - 1)

/* struct sched_switch in half its size. */
struct entry {
	uint64_t time_ns;
	uint32_t pid, tid, waker_pid, waker_tid;
	uint64_t wakeup : WAKE_BITS; /* so long before, + 1; 0 unknown */
	uint64_t cpu : 12, is_in : 1, state : 3, preempted : 2 /* + 1 */, priority : 8 /* + 1 */;
};
_Static_assert(sizeof(struct entry) == 32, "two in a cache line");

struct flight_block {
	struct flight_block *next;
	uint64_t ticks; /* everything in it is older */
	uint64_t cnt;
	struct entry entry[(SL_CHUNK_BYTES - 32) / sizeof(struct entry)];
};
_Static_assert(sizeof(struct flight_block) <= SL_CHUNK_BYTES, "as large as a chunk");
#define BLOCK_CNT (sizeof(((struct flight_block *)0)->entry) / sizeof(struct entry))

static struct entry *room(struct flight_sched *q)
{
	struct flight_block *b = q->last;

	if (!b || b->cnt == BLOCK_CNT) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = NULL;
		b->cnt = 0;
		if (q->last)
			q->last->next = b;
		else
			q->first = b;
		q->last = b;
		q->bytes += sizeof(*b);
	}
	b->ticks = q->model->clock->newest;
	return &b->entry[b->cnt++];
}

static void on_switch(void *ctx, const struct sched_switch *sw)
{
	struct flight_sched *q = ctx;
	struct entry *e = room(q);
	uint64_t waited =
		sw->wakeup_ns && sw->wakeup_ns <= sw->time_ns ? sw->time_ns - sw->wakeup_ns + 1 : 0;

	if (!e) {
		q->lost++;
		return;
	}
	*e = (struct entry){
		.time_ns = sw->time_ns,
		.pid = sw->pid,
		.tid = sw->tid,
		.waker_pid = sw->waker_pid,
		.waker_tid = sw->waker_tid,
		.wakeup = waited <= WAKE_MAX ? waited : 0,
		.cpu = sw->cpu & 0xfff,
		.is_in = sw->is_in,
		.state = sw->state & 7u,
		.preempted = (unsigned)(sw->preempted + 1) & 3u,
		.priority = (unsigned)(sw->priority + 1) & 0xffu,
	};
}

static struct sched_switch unpack(const struct entry *e)
{
	return (struct sched_switch){
		.time_ns = e->time_ns,
		.cpu = (uint32_t)e->cpu,
		.pid = e->pid,
		.tid = e->tid,
		.is_in = e->is_in,
		.state = (uint8_t)e->state,
		.preempted = (int8_t)((int)e->preempted - 1),
		.priority = (int)e->priority - 1,
		.wakeup_ns = e->wakeup ? e->time_ns - (e->wakeup - 1) : 0,
		.waker_pid = e->waker_pid,
		.waker_tid = e->waker_tid,
	};
}

/* ---- who runs where ---- */

static bool cpus_fit(struct flight_cpu **cpu, uint32_t *cpus, uint32_t want)
{
	struct flight_cpu *more;

	if (want < *cpus)
		return true;
	more = realloc(*cpu, (want + 1) * sizeof(*more));
	if (!more)
		return false;
	memset(more + *cpus, 0, (want + 1 - *cpus) * sizeof(*more));
	*cpu = more;
	*cpus = want + 1;
	return true;
}

static void step(struct flight_cpu **cpu, uint32_t *cpus, const struct entry *e)
{
	if (!cpus_fit(cpu, cpus, (uint32_t)e->cpu))
		return;
	if (e->is_in)
		(*cpu)[e->cpu] = (struct flight_cpu){e->pid, e->tid};
	else if ((*cpu)[e->cpu].tid == e->tid)
		(*cpu)[e->cpu] = (struct flight_cpu){0, 0};
}

/* A row for everybody who runs: what lies outside the window is not told. */
static uint64_t tell_edge(struct model *m, const struct flight_cpu *cpu, uint32_t cpus, uint64_t ns,
			  bool is_in)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < cpus; i++) {
		struct sched_switch sw = {.time_ns = ns,
					  .cpu = i,
					  .pid = cpu[i].pid,
					  .tid = cpu[i].tid,
					  .is_in = is_in,
					  .state = SCHED_STATE_UNKNOWN,
					  .preempted = -1,
					  .priority = -1};

		if (!cpu[i].tid)
			continue;
		model_sched_ops.on_switch(m, &sw);
		rows++;
	}
	return rows;
}

/* ---- from outside ---- */

void flight_sched_look(const struct flight_sched *q, struct flight_ages *ages)
{
	for (const struct flight_block *b = q->first; b; b = b->next)
		flight_ages_add(ages, b->ticks, sizeof(*b));
}

void flight_sched_forget(struct flight_sched *q, uint64_t ticks)
{
	while (q->first && q->first->ticks <= ticks) {
		struct flight_block *b = q->first;

		for (uint64_t i = 0; i < b->cnt; i++)
			step(&q->cpu, &q->cpus, &b->entry[i]);
		q->first = b->next;
		if (!q->first)
			q->last = NULL;
		q->bytes -= sizeof(*b);
		free(b);
	}
}

uint64_t flight_sched_tell(const struct flight_sched *q, uint64_t from, uint64_t to)
{
	struct flight_cpu *cpu = NULL;
	uint32_t cpus = 0;
	uint64_t rows = 0;
	bool has_begun = false;

	if (q->cpus && cpus_fit(&cpu, &cpus, q->cpus - 1))
		memcpy(cpu, q->cpu, q->cpus * sizeof(*cpu));
	for (const struct flight_block *b = q->first; b; b = b->next)
		for (uint64_t i = 0; i < b->cnt; i++) {
			const struct entry *e = &b->entry[i];
			struct sched_switch sw = unpack(e);

			if (e->time_ns >= to)
				continue;
			if (e->time_ns >= from && !has_begun) {
				has_begun = true;
				rows += tell_edge(q->model, cpu, cpus, from, true);
			}
			step(&cpu, &cpus, e);
			if (e->time_ns < from)
				continue;
			model_sched_ops.on_switch(q->model, &sw);
			rows++;
		}
	if (!has_begun)
		rows += tell_edge(q->model, cpu, cpus, from, true);
	rows += tell_edge(q->model, cpu, cpus, to, false);
	free(cpu);
	return rows;
}

void flight_sched_release(struct flight_sched *q)
{
	flight_sched_forget(q, UINT64_MAX);
	free(q->cpu);
	memset(q, 0, sizeof(*q));
}

static void on_fork(void *ctx, uint64_t ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
		    uint32_t tid)
{
	const struct flight_sched *q = ctx;

	model_sched_ops.on_fork(q->model, ns, parent_pid, parent_tid, pid, tid);
}

static void on_comm(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	const struct flight_sched *q = ctx;

	model_sched_ops.on_comm(q->model, ns, pid, tid, comm, exec);
}

static void on_exit_event(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, int exit_code)
{
	const struct flight_sched *q = ctx;

	model_sched_ops.on_exit(q->model, ns, pid, tid, exit_code);
}

const struct sched_ops flight_sched_ops = {
	.on_switch = on_switch,
	.on_fork = on_fork,
	.on_comm = on_comm,
	.on_exit = on_exit_event,
};
