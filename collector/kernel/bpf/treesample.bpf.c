/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * treesample.bpf.c - of the samples of a CPU, keeps those of the tree.
 *
 * Python's frames need pysample.bpf.c, which takes 5 ms to load. User space is asked whether the process of a sample has a Python; once
 * one has, pysample.bpf.c is in the table, and continues for this program.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "collector/kernel/bpf/faults.h"
#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/bpf/pytask.h"
#include "collector/kernel/bpf/tree.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct treesample_config config;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} walker SEC(".maps");
struct asked {
	__u64 image, samples;
};
struct { /* images that were sampled; two that share a place are asked about more often */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TREESAMPLE_IMAGES);
	__type(key, __u32);
	__type(value, struct asked);
} images SEC(".maps");
struct { /* its size is set before loading */
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} asks SEC(".maps");

static __always_inline void ask_for(__u32 pid)
{
	__u64 image = image_of((void *)bpf_get_current_task());
	struct pysample_ask a = {.image = image, .pid = pid};
	__u32 key = pid % TREESAMPLE_IMAGES;
	struct asked *i = bpf_map_lookup_elem(&images, &key);

	if (!i)
		return;
	if (i->image != image) {
		i->image = image;
		i->samples = 0;
	}
	i->samples++;
	if (is_time_to_ask(i->samples))
		bpf_ringbuf_output(&asks, &a, sizeof(a), BPF_RB_FORCE_WAKEUP);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();

	count_fault(ctx);
	if (!is_in_tree((__u32)pid_tid))
		return 0;
	if (config.python) {
		bpf_tail_call(ctx, &walker, 0);
		ask_for(pid_tid >> 32);
	}
	return 1;
}
