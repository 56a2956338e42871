/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* offcpu.h - records and maps shared by offcpu.bpf.c and its user half (sample_offcpu.c). */
#pragma once

#include "collector/kernel/bpf/pysample.h"

#define OFFCPU_STACK   16384u /* bytes of the stack at most; a power of two, several pages */
#define OFFCPU_PYTHON  ((PYSAMPLE_HEAD_WORDS + PYSAMPLE_FRAME_WORDS * PYSAMPLE_DEPTH) * 8u)
#define OFFCPU_KERNEL  32u   /* frames of the kernel's part */
#define OFFCPU_THREADS 1024u /* that can be without a CPU at once, at least */
#ifdef __aarch64__
#define OFFCPU_REGS 33u /* as perf has them: x0 to x30, sp, pc */
#else
#define OFFCPU_REGS 21u /* as the kernel's struct pt_regs has them */
#endif

/* Where a thread left its CPU; kept until it comes back, and sent then, as much of the stack as there is. */
struct offcpu_record {
	ctxsw_u64 out_ns; /* 0: it has a CPU */
	ctxsw_u64 in_ns;
	ctxsw_u32 pid, tid; /* in the collector's PID namespace */
	ctxsw_u32 cpu;      /* that it left */
	ctxsw_u32 state;    /* the kernel's bits */
	ctxsw_u32 bytes, kernel_cnt;
	ctxsw_u32 python,
		pad;     /* bytes of a record as pysample.h has it, behind the stack; 0: none */
	ctxsw_u64 limit; /* no stack from here on; 0: not known */
	ctxsw_u64 limit_uses;
	ctxsw_u64 regs[OFFCPU_REGS];
	ctxsw_u64 kernel[OFFCPU_KERNEL]; /* the innermost first */
	/* From the stack pointer on; then, at a multiple of 8, Python's frames: room for those only where they are wanted. */
	ctxsw_u8 stack[OFFCPU_STACK + OFFCPU_PYTHON];
};
#define OFFCPU_PYTHON_AT(bytes) (((bytes) + 7) & ~7ull)

/* Shared memory (.bss): the user half writes is_paused, the kernel half the rest. */
struct offcpu_shared {
	ctxsw_u64 lost_full;  /* the ring had no room */
	ctxsw_u64 lost_crowd; /* too many threads were without a CPU at once */
	ctxsw_u64 crowded;    /* there is such a thread */
	ctxsw_u32 is_paused;  /* a thread that blocks now is not saved */
};

struct offcpu_config {
	ctxsw_u64 threshold_ns;
	ctxsw_u64 ns_dev, ns_ino; /* the PID namespace of the collector */
	ctxsw_u64 wake_bytes;     /* the collector wakes where so much waits for it */
	ctxsw_u32 stack_bytes;    /* OFFCPU_STACK or less */
	ctxsw_u32 rings;          /* of ctxsw.bpf.c; 0: there are none */
	ctxsw_u8 system_wide;     /* every thread, not only those of the tree */
	ctxsw_u8 state_argument;  /* sched_switch passes the state as its fourth argument (5.18) */
	ctxsw_u8 slot_shift;      /* as of ctxsw.bpf.c */
	ctxsw_u8 python;          /* with Python's frames */
};
