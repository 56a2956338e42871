/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* maps.h - for *.bpf.c: the form that maps of records have. */
#pragma once

/* Records that user space maps. Their number is set before loading. */
#define MAPPED_RECORDS(of)                         \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, of);                 \
	}
