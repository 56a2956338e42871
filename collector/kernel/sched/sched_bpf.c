/*
 * sched_bpf.c - user half of bpf/ctxsw.bpf.c: loads it, follows processes, takes its records out.
 *
 * Two kinds of record, two kinds of ring (see there); sched_merge() puts them into one order of time.
 */
#include <errno.h>
#include <stdio.h>

#include "collector/base/now.h"
#include "collector/kernel/sched/sched_internal.h"

#ifdef SL_HAVE_BPF

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "collector/kernel/sched/sched_calls.h"
#include "collector/kernel/sched/sched_bpf.h"

/*
 * A long pause costs nothing, a short one resumes at once. To attach again within 100 ms takes 10 (the kernel
 * waits for all CPUs), so not after whole seconds, the values that people choose for --delay.
 */
#define DETACH_NS     2500000000u
#define TAKEN_AT_MOST 256u /* records read before their slots are given back */

static int bpf_follow(struct sched *s, pid_t pid)
{
	struct bpf *b = s->data;
	uint32_t found, present = b->map.shared->present;
	int err = 0;

	/* Threads may start threads meanwhile, but those of a member are members: this ends. */
	do {
		found = b->map.shared->found;
		b->map.shared->follow_pid = (uint32_t)pid;
		err = sched_bpf_iterate(b);
		b->map.shared->follow_pid = 0;
	} while (!err && b->map.shared->found != found);
	if (!err && b->map.shared->present == present)
		err = -ESRCH;
	return err;
}

/* ---- records ---- */

static int priority_of(uint8_t prio)
{
	return prio == 255 ? -1 : prio; /* deadline threads have -1 in the kernel, too */
}

static void take_switch(struct sched *s, const struct rec_switch *r)
{
	if (r->side & CTXSW_OUT) {
		struct track_out out = {
			.key = r->prev_tid,
			.pid = r->prev_pid,
			.tid = r->prev_tid,
			.state = sched_state(r->state),
			.preempted = !r->state,
			.priority = priority_of(r->prev_prio),
		};

		track_out(s, r->ns, r->cpu, &out);
	}
	if (r->side & CTXSW_IN) {
		struct track_in in = {
			.key = r->next_tid,
			.pid = r->next_pid,
			.tid = r->next_tid,
			.priority = priority_of(r->next_prio),
			.wakeup_ns = r->wake_ns,
			.waker_key = r->waker_tid,
			.waker_pid = r->waker_pid,
			.waker_tid = r->waker_tid,
		};

		track_in(s, r->ns, r->cpu, &in);
	}
}

static void take_exec(struct sched *s, const struct taken_life *taken)
{
	const struct rec_life *r = &taken->record.life;
	struct sched_exec exec = {.is_hidden = r->side & CTXSW_HIDDEN};

	if (taken->text) {
		exec.path = taken->path_len ? taken->text : NULL;
		exec.args = taken->text + taken->path_len;
		exec.args_len = taken->args_len;
	}
	track_exec(s, r->ns, r->cpu, r->tid, r->old_tid, r->pid, r->tid, r->comm, &exec);
	free(taken->text);
}

static void take_life(struct sched *s, const struct taken_life *taken)
{
	const union life *l = &taken->record;
	const struct rec_life *r = &l->life;
	struct track_task task;

	switch (l->head.kind) {
	case CTXSW_TASK:
		task = (struct track_task){
			.key = l->task.tid,
			.pid = l->task.ns_pid,
			.tid = l->task.ns_tid,
			.parent_key = l->task.parent_tid,
			.parent_pid = l->task.parent_pid,
			.parent_tid = l->task.parent_tid,
			.is_born = l->task.side & CTXSW_BORN,
			.is_hidden = l->task.side & CTXSW_HIDDEN,
			.comm = l->task.comm,
		};
		track_task(s, r->ns, &task);
		break;
	case CTXSW_EXEC:
		take_exec(s, taken);
		break;
	case CTXSW_RENAME:
		track_rename(s, r->ns, r->tid, r->pid, r->tid, r->comm);
		break;
	case CTXSW_EXIT:
		track_exit(s, r->ns, r->tid, r->pid, r->tid, r->exit_code, false);
		break;
	default:
		break;
	}
}

static const struct rec_switch *slot_at(const struct bpf *b, unsigned cpu, uint64_t at)
{
	return &b->map.switches[(size_t)cpu * b->map.slots + (at & (b->map.slots - 1))];
}

static uint64_t take(struct sched *s, unsigned stream)
{
	struct bpf *b = s->data;

	if (stream == s->cpu.cnt) {
		take_life(s, &b->lives.list[b->lives.at++]);
		return b->lives.at < b->lives.cnt ? b->lives.list[b->lives.at].record.head.ns
						  : SCHED_DRAINED;
	}
	if (stream > s->cpu.cnt)
		return calls_take(s, b->calls, stream - s->cpu.cnt - 1);
	take_switch(s, slot_at(b, stream, b->tails[stream]));
	b->tails[stream]++;
	/* Pairs with the load of tail in on_switch: a slot was read before it is given back. */
	if (b->tails[stream] % TAKEN_AT_MOST == 0)
		__atomic_store_n(&b->map.rings[stream].tail, b->tails[stream], __ATOMIC_RELEASE);
	return b->tails[stream] < b->heads[stream] ? slot_at(b, stream, b->tails[stream])->ns
						   : SCHED_DRAINED;
}

/* After a pause of some length nothing is attached, if the current thread of a CPU can be read (Linux 5.10). */
static void cool_down(struct sched *s, struct bpf *b)
{
	uint64_t after = sched_tuning.detach_ns ? sched_tuning.detach_ns : DETACH_NS;

	if (!b->pause.ns || b->pause.is_cold || (uint64_t)mono_ns() - b->pause.ns < after)
		return;
	b->pause.ns = 0; /* once */
	if (ctxsw_ask_holders(&b->loaded, s->cpu.cnt))
		return;
	ctxsw_attach_hot(&b->loaded, false);
	b->pause.is_cold = true;
}

static int bpf_poll(struct sched *s, uint64_t horizon_ns)
{
	struct bpf *b = s->data;

	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++) {
		/* Pairs with publish() in ctxsw.bpf.c: the records below head are whole. */
		b->heads[cpu] = __atomic_load_n(&b->map.rings[cpu].head, __ATOMIC_ACQUIRE);
		b->next_ns[cpu] = b->tails[cpu] < b->heads[cpu] ? slot_at(b, cpu, b->tails[cpu])->ns
								: SCHED_DRAINED;
	}
	ring_buffer__consume(b->lives.ring);
	b->next_ns[s->cpu.cnt] = b->lives.cnt ? b->lives.list[0].record.head.ns : SCHED_DRAINED;
	for (unsigned cpu = 0; b->calls && cpu < s->cpu.cnt; cpu++)
		b->next_ns[s->cpu.cnt + 1 + cpu] = calls_begin(b->calls, cpu);
	sched_merge(s, b->next_ns, s->cpu.cnt * (b->calls ? 2 : 1) + 1, horizon_ns, take);
	if (b->calls) {
		calls_end(b->calls);
		calls_tell_sums(s, b->calls, s->is_stopped);
	}
	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++)
		__atomic_store_n(&b->map.rings[cpu].tail, b->tails[cpu], __ATOMIC_RELEASE);
	if (b->lives.at) {
		b->lives.cnt -= b->lives.at;
		memmove(b->lives.list, b->lives.list + b->lives.at,
			b->lives.cnt * sizeof(*b->lives.list));
		b->lives.at = 0;
	}
	cool_down(s, b);
	return 0;
}

static void warm_up(struct sched *s, struct bpf *b)
{
	if (!b->pause.is_cold)
		return;
	if (ctxsw_attach_hot(&b->loaded, true))
		b->pause.dead_windows++;
	b->pause.is_cold = false;
	ctxsw_ask_holders(&b->loaded, s->cpu.cnt);
}

/* The current thread of each CPU is read after records may be written: a thread that leaves from then on has one. */
static void bpf_record(struct sched *s, bool on, struct sched_edge *edge)
{
	struct bpf *b = s->data;

	if (b->calls)
		calls_record(b->calls, on, edge->ns);
	if (s->no_switches)
		return;
	__atomic_store_n(&b->map.shared->is_paused, !on, __ATOMIC_SEQ_CST);
	b->pause.ns = on ? 0 : (uint64_t)mono_ns();
	if (on)
		warm_up(s, b);
	for (unsigned cpu = 0; on && cpu < s->cpu.cnt; cpu++) {
		const struct ctxsw_ring *ring = &b->map.rings[cpu];
		struct sched_holder *h = &edge->holders[cpu];

		do {
			/* Pairs with the order in on_switch: a thread found on a CPU has a record below head. */
			h->tid = __atomic_load_n(&ring->tid, __ATOMIC_ACQUIRE);
			h->pid = __atomic_load_n(&ring->pid, __ATOMIC_ACQUIRE);
			h->head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		} while (__atomic_load_n(&ring->tid, __ATOMIC_RELAXED) != h->tid);
	}
}

static bool is_wanted(const struct sched *s, uint32_t tid)
{
	const struct bpf *b = s->data;

	return tid && tid < SCHED_KEY_LIMIT &&
	       (s->mode == SCHED_MODE_SYSTEM || (b->map.flags[tid] & CTXSW_MEMBER));
}

/* The first record since then names the thread that left; without one, the holder had been there before. */
static void bpf_enter(struct sched *s, const struct sched_edge *edge)
{
	struct bpf *b = s->data;

	for (unsigned cpu = 0; !s->no_switches && cpu < s->cpu.cnt; cpu++) {
		const struct sched_holder *h = &edge->holders[cpu];
		const struct rec_switch *r = slot_at(b, cpu, b->tails[cpu]);

		if (b->tails[cpu] >= h->head && is_wanted(s, h->tid))
			track_running(s, cpu, h->tid, h->pid, h->tid);
		else if (b->tails[cpu] < h->head && (r->side & CTXSW_OUT))
			track_running(s, cpu, r->prev_tid, r->prev_pid, r->prev_tid);
	}
}

static void bpf_maps(const struct sched *s, struct sched_maps *maps)
{
	const struct bpf *b = s->data;

	*maps = (struct sched_maps){.flags = b->loaded.flags,
				    .rings = b->loaded.rings,
				    .switches = b->loaded.switches,
				    .slots = b->map.slots,
				    .has_switches = !s->no_switches,
				    .offsets = &b->map.shared->offsets};
}

static void bpf_leave(struct sched *s)
{
	struct bpf *b = s->data;

	if (b->calls)
		calls_tell_sums(s, b->calls, true);
}

static uint64_t bpf_calls_lost(const struct sched *s)
{
	const struct bpf *b = s->data;

	return b->calls ? calls_lost(b->calls) : 0;
}

static unsigned bpf_fill(const struct sched *s)
{
	const struct bpf *b = s->data;
	uint64_t lives = __atomic_load_n(&b->map.shared->lives, __ATOMIC_RELAXED) - b->lives.taken;
	uint64_t most = lives * 100 / LIVES_BYTES;

	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++) {
		uint64_t head = __atomic_load_n(&b->map.rings[cpu].head, __ATOMIC_RELAXED);
		uint64_t fill = (head - b->map.rings[cpu].tail) * 100 / b->map.slots;

		if (fill > most)
			most = fill;
	}
	if (b->calls && calls_fill(b->calls) > most)
		most = calls_fill(b->calls);
	return (unsigned)most;
}

static uint64_t bpf_lost(const struct sched *s)
{
	const struct bpf *b = s->data;
	uint64_t lost = b->map.shared->lost + b->lives.dropped + b->pause.dead_windows +
			ctxsw_all_missed(&b->loaded);

	for (unsigned cpu = 0; cpu < s->cpu.cnt; cpu++)
		lost += b->map.rings[cpu].lost;
	return lost;
}

static void bpf_stop(struct sched *s)
{
	struct bpf *b = s->data;

	/* To detach the programs takes the kernel a while: when all is closed, beside the report. */
	if (b->map.shared)
		__atomic_store_n(&b->map.shared->is_paused, 1, __ATOMIC_SEQ_CST);
	if (b->calls)
		calls_stop(b->calls);
}

static void bpf_close(struct sched *s)
{
	struct bpf *b = s->data;

	if (!b)
		return;
	bpf_stop(s);
	if (b->calls)
		calls_close(b->calls);
	ring_buffer__free(b->lives.ring);
	if (b->map.shared)
		munmap(b->map.shared, b->map.shared_bytes);
	if (b->map.rings)
		munmap(b->map.rings, b->map.rings_bytes);
	if (b->map.switches)
		munmap((void *)b->map.switches, b->map.switches_bytes);
	if (b->map.flags)
		munmap((void *)b->map.flags, CTXSW_PID_LIMIT);
	ctxsw_unload(&b->loaded);
	while (b->lives.at < b->lives.cnt)
		free(b->lives.list[b->lives.at++].text);
	free(b->lives.list);
	free(b->next_ns);
	free(b->heads);
	free(b->tails);
	free(b);
	s->data = NULL;
}

#define bpf_open sched_bpf_open

#else /* built without libbpf */

#define bpf_record     NULL
#define bpf_enter      NULL
#define bpf_leave      NULL
#define bpf_maps       NULL
#define bpf_calls_lost NULL

static int bpf_open(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len)
{
	(void)s;
	snprintf(why, why_len, "built without eBPF");
	snprintf(fix, fix_len, "sudo apt install clang bpftool libbpf-dev && make clean all");
	return -ENOSYS;
}

static int bpf_follow(struct sched *s, pid_t pid)
{
	(void)s;
	(void)pid;
	return -ENOSYS;
}

static int bpf_poll(struct sched *s, uint64_t horizon_ns)
{
	(void)s;
	(void)horizon_ns;
	return 0;
}

static unsigned bpf_fill(const struct sched *s)
{
	(void)s;
	return 0;
}

static uint64_t bpf_lost(const struct sched *s)
{
	(void)s;
	return 0;
}

static void bpf_stop(struct sched *s)
{
	(void)s;
}

static void bpf_close(struct sched *s)
{
	(void)s;
}

#endif

const struct sched_driver sched_driver_bpf = {
	.id = SCHED_BACKEND_BPF,
	.open = bpf_open,
	.follow = bpf_follow,
	.poll = bpf_poll,
	.fill = bpf_fill,
	.lost = bpf_lost,
	.record = bpf_record,
	.enter = bpf_enter,
	.leave = bpf_leave,
	.maps = bpf_maps,
	.calls_lost = bpf_calls_lost,
	.stop = bpf_stop,
	.close = bpf_close,
};
