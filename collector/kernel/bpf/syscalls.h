/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* syscalls.h - records and maps shared by syscalls.bpf.c and its user half (sched_calls.c). Ids are global, as in ctxsw.h. */
#pragma once

#include "collector/kernel/bpf/ctxsw.h"

#define CALLS_SLOTS  65536   /* of the map "running"; a power of two */
#define CALLS_COMPAT 0x8000u /* a number of the table for 32-bit programs */

/* A system call that has returned. */
struct rec_call {
	ctxsw_u64 end; /* first, as in every record: streams are merged by it */
	ctxsw_u64 start;
	long long result;
	ctxsw_u32 tid, pid;
	ctxsw_u16 number; /* and CALLS_COMPAT */
	ctxsw_u16 cpu;
	ctxsw_u32 reserved;
};
_Static_assert(sizeof(struct rec_call) == 40, "rec_call");

struct calls_key {
	ctxsw_u32 tid, pid, number;
};
/* Calls that were shorter than the threshold. One writer: a thread is on one CPU at a time. */
struct calls_sum {
	ctxsw_u64 count, total_ns, min_ns, max_ns, errors;
};

/* Shared memory (.bss): the user half writes the first three. */
struct calls_shared {
	ctxsw_u64 from_ns; /* calls that began earlier have no record */
	ctxsw_u32 is_paused;
	ctxsw_u32 phase;    /* which of the two maps of sums is written to */
	ctxsw_u64 crowded;  /* threads that had to share a slot of "running", ever */
	ctxsw_u64 lost;     /* calls for which no memory was left, full rings apart */
	ctxsw_u64 lost_sum; /* calls that were not added up, for lack of room */
};

struct calls_config {
	ctxsw_u64 threshold_ns;
	ctxsw_u32 slot_mask; /* of the slots of "running" that are used */
	ctxsw_u8 slot_shift; /* log2 of records per CPU */
};
