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
