/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tree.h - for *.bpf.c: who belongs to the tree. ctxsw.bpf.c finds out, the others are given its map. */
#pragma once

#include "collector/kernel/bpf/ctxsw.h"

/* CTXSW_TREE and the like, a byte per thread id. */
struct flag_block {
	__u8 of[CTXSW_FLAG_BLOCK];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CTXSW_PID_LIMIT / CTXSW_FLAG_BLOCK);
	__type(key, __u32);
	__type(value, struct flag_block);
} flags SEC(".maps");

/* @tid: global, as all ids of ctxsw.bpf.c. */
static __always_inline int is_in_tree(__u32 tid)
{
	__u32 block = tid / CTXSW_FLAG_BLOCK;
	struct flag_block *b = bpf_map_lookup_elem(&flags, &block);

	return b && b->of[tid % CTXSW_FLAG_BLOCK] & CTXSW_TREE;
}
