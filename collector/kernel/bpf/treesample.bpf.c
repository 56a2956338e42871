/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * treesample.bpf.c - of the samples of a CPU, keeps those of the tree (without Python's frames: those need
 * pysample.bpf.c, which does the same).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "collector/kernel/bpf/faults.h"
#include "collector/kernel/bpf/tree.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	count_fault(ctx);
	return is_in_tree((__u32)bpf_get_current_pid_tgid());
}
