/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* blockio.h - records shared by blockio.bpf.c and its user half (block/block.c). */
#pragma once

#include "collector/kernel/bpf/ctxsw.h"

#define BLOCK_REQUESTS 8192 /* that can be under way at once */
#define BLOCK_NAME     32   /* the kernel's DISK_NAME_LEN */

/* A request to a block device: kept while it is under way, and sent when it is done. Times are CLOCK_MONOTONIC, ns. */
struct block_record {
	ctxsw_u64 start;  /* it was made */
	ctxsw_u64 issued; /* the driver got it; 0: never, as a flush that other requests do */
	ctxsw_u64 end;
	ctxsw_u64 sector; /* of 512 bytes */
	ctxsw_u64
		stamp; /* the kernel's own time of its beginning: another request at the same address has another one */
	ctxsw_u32 bytes;
	ctxsw_u32 major, minor;
	ctxsw_u32 pid,
		tid; /* that made it, in the collector's PID namespace; 0: the kernel's own, or outside */
	ctxsw_u8 operation; /* the kernel's REQ_OP_* */
	ctxsw_u8 is_known;  /* the fields from sector on are filled in */
	ctxsw_u8 has_failed;
	char comm[CTXSW_COMM_LEN];
	char disk[BLOCK_NAME + 1]; /* no padding */
};
_Static_assert(sizeof(struct block_record) == 112, "block_record");

/* Shared memory (.bss): the user half writes is_paused, the kernel half the rest. */
struct block_shared {
	ctxsw_u64 lost_full;  /* the ring had no room */
	ctxsw_u64 lost_crowd; /* too many requests were under way at once */
	ctxsw_u64 lost_end;   /* the kernel did not say that the request was done */
	ctxsw_u64 sent;       /* records put into the ring */
	ctxsw_u32 is_paused;  /* requests that begin now have no record */
};

struct block_config {
	ctxsw_u64 ns_dev, ns_ino; /* the PID namespace of the collector */
	ctxsw_u64 wake_bytes;     /* the collector wakes where so much waits for it */
	struct ctxsw_offsets at;  /* of the kernel's structs */
	ctxsw_u8 system_wide; /* requests of every thread, not only of the tree and of the kernel */
	ctxsw_u8
		has_start; /* block_io_start is there (6.5): it has the thread that makes a request */
	ctxsw_u8
		queue_first; /* before 5.11, the tracepoints of inserting and issuing have the queue before the request */
};
