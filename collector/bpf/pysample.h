/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pysample.h - what pysample.bpf.c and its user half (sample_python.c) tell each other. */
#ifndef SL_PYSAMPLE_H
#define SL_PYSAMPLE_H

#include "collector/bpf/ctxsw.h"

#define PYSAMPLE_DEPTH       256u /* frames of a sample; a power of two */
#define PYSAMPLE_PROCESSES   8192u
#define PYSAMPLE_HEAD_WORDS  4u
#define PYSAMPLE_FRAME_WORDS 3u

/*
 * A process, as user space has found it. Offsets are those of preload/pylayout.h, addresses those of the process.
 * @image tells one image of one process from all others that have its number: what it is of is asked anew. 0: the process
 * ran before and is expected; the first sample tells its image.
 */
struct pysample_process {
	ctxsw_u64 image;
	ctxsw_u64 runtime; /* _PyRuntime; 0: no Python, as far as is known */
	ctxsw_u64 asked;   /* how often it was sampled without that */
	ctxsw_u32 finalizing, interpreters, next_interpreter, threads, next_thread, thread_id;
	ctxsw_u32 current, has_cframe, cframe_current;
	ctxsw_u32 previous, code, instruction;
	ctxsw_u32 flag; /* a byte of the frame that comes along; 0: none */
	ctxsw_u32 name, line_table;
	ctxsw_u32 base; /* where the thread has the frame that is none; 0: nowhere */
};

/* To user space, which wakes: something is to be read while it is there. */
struct pysample_ask {
	ctxsw_u64 image;
	ctxsw_u32 pid;
	ctxsw_u32 is_code; /* a code object was met; else: what is this process? */
};

/* A ring of 64-bit words per CPU. The kernel's half writes head and lost, the user half tail. */
struct pysample_ring {
	ctxsw_u64 head, lost;
	ctxsw_u64 pad[6];
	ctxsw_u64 tail, more[7];
};

/*
 * A record: four words, PYSAMPLE_HEAD_*, then three for each frame, the innermost first: the code object, and the byte
 * @flag on top; the instruction, as the frame has it; what tells the code object from another at the same address.
 */
enum {
	PYSAMPLE_HEAD_NS,
	PYSAMPLE_HEAD_THREAD, /* pid << 32 | tid */
	PYSAMPLE_HEAD_CNT,    /* and PYSAMPLE_* */
	PYSAMPLE_HEAD_IMAGE,
};
#define PYSAMPLE_DEEPER (1ull << 32) /* there are more frames */
#define PYSAMPLE_BROKEN (1ull << 33) /* the next frame cannot be read */
#define PYSAMPLE_EXACT  (1ull << 34) /* the time is that of perf's sample; else a little less */

static inline ctxsw_u64 pysample_check(ctxsw_u64 name, ctxsw_u64 line_table)
{
	return name ^ (line_table << 17 | line_table >> 47);
}

struct pysample_config {
	ctxsw_u64 ns_ino;     /* the PID namespace of the collector */
	ctxsw_u32 ring_shift; /* log2 of words per CPU */
	ctxsw_u32 cpus;
};

#endif
