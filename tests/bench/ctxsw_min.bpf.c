/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ctxsw_min.bpf.c - the least a tracer of context switches can do with a BPF ring buffer: one record of
 * 32 bytes per switch, no filter, no wake-ups of the reader. What ours is compared with.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct {
	int pid, tgid;
	unsigned int __state;
} __attribute__((preserve_access_index));

struct record {
	__u64 ns;
	__u32 prev_tid, prev_pid, next_tid, next_pid, cpu, state;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* switches seen, records lost */
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *c = bpf_map_lookup_elem(&counts, &which);

	if (c)
		++*c;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct record *r;

	count(0);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		count(1);
		return 0;
	}
	r->ns = bpf_ktime_get_ns();
	r->prev_tid = prev->pid;
	r->prev_pid = prev->tgid;
	r->next_tid = next->pid;
	r->next_pid = next->tgid;
	r->cpu = bpf_get_smp_processor_id();
	r->state = prev->__state;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}
