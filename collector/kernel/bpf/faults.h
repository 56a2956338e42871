/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * faults.h - for *.bpf.c that samples run: how many page faults have run it. Where another program of eBPF has the CPU, as
 * bpf() with a map in hand, the kernel drops a sample without a word; the event has counted the fault all the same.
 */
#pragma once

#include <linux/bpf_perf_event.h>

__u64 fault_runs;

/* Clocks and counters have periods of thousands. */
static __always_inline void count_fault(const struct bpf_perf_event_data *ctx)
{
	if (ctx->sample_period == 1)
		__sync_fetch_and_add(&fault_runs, 1);
}
