/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls.bpf.c - system calls of the process tree, when they return.
 *
 * Who belongs to the tree is known from ctxsw.bpf.c, whose map "flags" this shares. Records go into a ring per CPU as
 * there: the kernel runs raw tracepoints with preemption off, so each has one writer. Calls below the threshold are
 * added up per thread and number, in one of two maps: user space turns to the other one before it reads.
 *
 * Raw tracepoints and constant offsets only, nothing that needs the kernel's types: libbpf then has no BTF to parse.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "collector/kernel/bpf/maps.h"
#include "collector/kernel/bpf/syscalls.h"
#include "collector/kernel/bpf/tree.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct calls_config config;
struct calls_shared shared;

struct running {
	__u64 start; /* 0: none */
	__u32 tid;   /* whose slot it is, until it ends */
	__u32 number;
};

/* The sizes of rings and records are set before loading. */
MAPPED_RECORDS(struct ctxsw_ring) rings SEC(".maps");
MAPPED_RECORDS(struct rec_call) records SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_SLOTS);
	__type(key, __u32);
	__type(value, struct running);
} running SEC(".maps");
struct { /* of threads whose slot is taken by another thread */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct running);
} crowd SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct calls_key);
	__type(value, struct calls_sum);
} sums_0 SEC(".maps"), sums_1 SEC(".maps");

/* Where @tid keeps the call it is in; 0: nowhere yet. */
static __always_inline struct running *find(__u32 tid)
{
	__u32 slot = tid & config.slot_mask;
	struct running *r = bpf_map_lookup_elem(&running, &slot);

	if (r && r->tid == tid)
		return r;
	return shared.crowded ? bpf_map_lookup_elem(&crowd, &tid) : 0;
}

/* Once in the life of a thread. */
static __noinline struct running *settle(__u32 tid)
{
	__u32 slot = tid & config.slot_mask;
	struct running *r = bpf_map_lookup_elem(&running, &slot), none = {.tid = tid};

	if (r && __sync_val_compare_and_swap(&r->tid, 0, tid) == 0) {
		r->start = 0;
		return r;
	}
	__sync_fetch_and_add(&shared.crowded, 1);
	bpf_map_update_elem(&crowd, &tid, &none, BPF_ANY);
	return bpf_map_lookup_elem(&crowd, &tid);
}

#ifdef __TARGET_ARCH_x86
#define CS_OFFSET 136 /* of struct pt_regs, the same since there is x86-64 */
#define CS_32BIT  0x23
#endif

static __always_inline __u32 number_of(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 number = ctx->args[1] & (CALLS_COMPAT - 1);
#ifdef __TARGET_ARCH_x86
	__u16 cs = 0;

	bpf_probe_read_kernel(&cs, sizeof(cs), (void *)(ctx->args[0] + CS_OFFSET));
	if (cs == CS_32BIT)
		number |= CALLS_COMPAT;
#endif
	return number;
}

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct running *r;

	if (*(volatile __u32 *)&shared.is_paused || !is_in_tree(tid))
		return 0;
	r = find(tid);
	if (!r)
		r = settle(tid);
	if (!r) {
		__sync_fetch_and_add(&shared.lost, 1);
		return 0;
	}
	r->number = number_of(ctx);
	r->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int is_error(__s64 result)
{
	return result < 0 && result >= -4095;
}

static __noinline int add_up(struct calls_key *key, __u64 ns, __u32 failed)
{
	struct calls_sum *sum, first = {1, ns, ns, ns, failed};
	__u32 phase = *(volatile __u32 *)&shared.phase;

	if (!key)
		return 0;
	sum = phase ? bpf_map_lookup_elem(&sums_1, key) : bpf_map_lookup_elem(&sums_0, key);
	if (!sum) {
		if (phase ? bpf_map_update_elem(&sums_1, key, &first, BPF_ANY)
			  : bpf_map_update_elem(&sums_0, key, &first, BPF_ANY))
			__sync_fetch_and_add(&shared.lost_sum, 1);
		return 0;
	}
	sum->count++;
	sum->total_ns += ns;
	if (ns < sum->min_ns)
		sum->min_ns = ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	sum->errors += failed;
	return 0;
}

/* Pairs with the acquire load in calls_begin(): the record is whole before it is seen. */
static __always_inline void publish(__u64 *head, __u64 value)
{
#ifdef __TARGET_ARCH_x86
	asm volatile("" ::: "memory"); /* stores are not reordered */
	*(volatile __u64 *)head = value;
#else
	__sync_lock_test_and_set(head, value);
#endif
}

static __always_inline void record(const struct running *r, __u64 start, __u64 end, __u64 me,
				   __s64 result)
{
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct ctxsw_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct rec_call *to;
	__u64 head;

	if (!ring) { /* a CPU that was plugged in since */
		__sync_fetch_and_add(&shared.lost, 1);
		return;
	}
	head = ring->head;
	slot = cpu << config.slot_shift | (head & ((1u << config.slot_shift) - 1));
	to = bpf_map_lookup_elem(&records, &slot);
	/* Pairs with the store of tail in calls_end(): a slot was read before it is given back. */
	if (!to || (head - *(volatile __u64 *)&ring->tail) >> config.slot_shift) {
		ring->lost++;
		return;
	}
	to->end = end;
	to->start = start;
	to->result = result;
	to->tid = (__u32)me;
	to->pid = me >> 32;
	to->number = r->number;
	to->cpu = cpu;
	publish(&ring->head, head + 1);
}

SEC("raw_tp/sys_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 me = bpf_get_current_pid_tgid(), start, end;
	__s64 result = (__s64)ctx->args[1];
	struct running *r;

	if (!is_in_tree((__u32)me))
		return 0;
	r = find((__u32)me);
	if (!r || !r->start)
		return 0;
	start = r->start;
	r->start = 0;
	if (*(volatile __u32 *)&shared.is_paused || start < *(volatile __u64 *)&shared.from_ns)
		return 0;
	end = bpf_ktime_get_ns();
	if (end - start < config.threshold_ns) {
		struct calls_key key = {(__u32)me, me >> 32, r->number};

		add_up(&key, end - start, is_error(result));
	} else {
		record(r, start, end, me, result);
	}
	return 0;
}

static __always_inline void forget(__u32 tid)
{
	struct running *r = find(tid);

	if (r)
		r->start = 0;
}

/*
 * A thread that is not the main one has taken over the id of its process: so goes the call it is in. Attached behind
 * ctxsw.bpf.c, which decides at an exec who stays in the tree.
 */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), old = (__u32)ctx->args[1];
	struct running *from, *to;

	if (!is_in_tree(tid)) { /* not any more, perhaps: the call that it is in has no end */
		forget(tid);
		forget(old);
		return 0;
	}
	if (old == tid)
		return 0;
	from = find(old);
	to = find(tid);
	if (!to)
		to = settle(tid);
	if (to)
		to->start = 0;
	if (!from)
		return 0;
	if (to) {
		to->number = from->number;
		to->start = from->start;
	}
	from->start = 0;
	return 0;
}

/* Its slot is for the next one. */
SEC("raw_tp/sched_process_exit")
int on_end(void *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), slot = tid & config.slot_mask;
	struct running *r = bpf_map_lookup_elem(&running, &slot);

	if (r && r->tid == tid)
		r->tid = 0;
	else if (shared.crowded)
		bpf_map_delete_elem(&crowd, &tid);
	return 0;
}
