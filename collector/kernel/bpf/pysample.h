/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pysample.h - records and maps shared by the readers of Python frames (pysample.bpf.c, offcpu.bpf.c) and sample_python.c. */
#pragma once

#include "collector/kernel/bpf/ctxsw.h"

#define PYSAMPLE_DEPTH       256u /* frames of a sample; a power of two */
#define PYSAMPLE_PROCESSES   8192u
#define PYSAMPLE_HEAD_WORDS  4u
#define PYSAMPLE_FRAME_WORDS 3u

/*
 * A process, as user space has found it. Offsets are those of preload/unwind/pylayout.h, addresses those of the process.
 * @image distinguishes this image of the process from all others with the same pid. 0: the process was running before
 * and is expected; its first sample sets the image.
 */
struct pysample_process {
	ctxsw_u64 image;
	ctxsw_u64 runtime; /* _PyRuntime; 0: no Python, as far as is known */
	ctxsw_u64 asked;   /* how often it was sampled without that */
	/* Offsets in _PyRuntime and in PyInterpreterState. */
	struct {
		ctxsw_u32 finalizing, interpreters;
	} runtime_at;
	struct {
		ctxsw_u32 next, threads;
	} interpreter_at;
	/* In PyThreadState, and in the _PyCFrame that it refers to. */
	struct {
		ctxsw_u32 next, id, frame;
		ctxsw_u32 base; /* the outermost frame, which runs nothing; 0: there is none */
		ctxsw_u32 has_cframe, frame_of_cframe;
	} thread_at;
	struct {
		ctxsw_u32 previous, code, instruction;
		ctxsw_u32 flag;        /* a byte that goes into the record; 0: none */
		ctxsw_u32 flag_of_c;   /* from this value on a frame is not Python's; 0: all are */
		ctxsw_u32 copy_number; /* which copy of the bytecode it runs */
	} frame_at;
	struct {
		ctxsw_u32 name, shown_name, file, line_table, first_line;
		ctxsw_u32 copies, bytecode; /* copies for threads, 0: none; the original */
		ctxsw_u32 size;             /* bytes copied of a code object */
	} code_at;
	struct {
		ctxsw_u32 size, data;
	} bytes_at; /* in PyBytesObject */
};

/* To user space, which wakes: something is to be read while it is there. */
struct pysample_ask {
	ctxsw_u64 image;
	ctxsw_u32 pid;
	ctxsw_u32 is_code; /* true: a code object was met; false: a question about this process */
};

/*
 * To user space, too: a code object that was met, copied before the thread goes on. Half of an
 * import's code objects are gone before user space reads them. Lengths: how much there is, 0 where
 * it could not be read.
 */
#define PYSAMPLE_OBJECT 256u
#define PYSAMPLE_NAME   256u
#define PYSAMPLE_FILE   512u
#define PYSAMPLE_LINES  8192u
struct pysample_code {
	struct pysample_ask ask;
	ctxsw_u64 code, check;
	ctxsw_u64 name, file, lines; /* where they lie */
	ctxsw_u32 object_len, name_len, file_len, lines_len;
	ctxsw_u8 object_bytes[PYSAMPLE_OBJECT];
	ctxsw_u8 name_bytes[PYSAMPLE_NAME];
	ctxsw_u8 file_bytes[PYSAMPLE_FILE];
	ctxsw_u8 lines_bytes[PYSAMPLE_LINES]; /* lines_len of them are valid */
};

/* A ring of 64-bit words per CPU. The kernel's half writes head and lost, the user half tail. */
struct pysample_ring {
	ctxsw_u64 head, lost;
	ctxsw_u64 pad[6];
	ctxsw_u64 tail, more[7];
};

/*
 * A record: four words, PYSAMPLE_HEAD_*, then three for each frame, the innermost first: the code object, with the byte
 * @flag on top; the instruction, as the frame has it, but never that of a copy of the bytecode; a value that
 * distinguishes the code object from another one at the same address.
 */
enum {
	PYSAMPLE_HEAD_NS,
	PYSAMPLE_HEAD_THREAD, /* pid << 32 | tid */
	PYSAMPLE_HEAD_CNT,    /* and PYSAMPLE_* */
	PYSAMPLE_HEAD_IMAGE,
};
/*
 * The instruction of an entry that is no frame: frames of another interpreter of the same thread follow. An entry that
 * is no Python frame has its own address on the native stack here, which gives its place among the native frames.
 */
#define PYSAMPLE_NEXT   (~0ull)
#define PYSAMPLE_NESTED 4u           /* interpreters */
#define PYSAMPLE_DEEPER (1ull << 32) /* there are more frames */
#define PYSAMPLE_BROKEN (1ull << 33) /* the next frame cannot be read */
#define PYSAMPLE_EXACT  (1ull << 34) /* the time is that of perf's sample; else a little less */

/* Never 0: that is where the code object could not be read, since the thread is just getting a page of it for itself. */
static inline ctxsw_u64 pysample_check(ctxsw_u64 name, ctxsw_u64 line_table, ctxsw_u64 file,
				       ctxsw_u32 first_line)
{
	return (name ^ (line_table << 17 | line_table >> 47) ^ (file << 34 | file >> 30) ^
		(ctxsw_u64)first_line << 48) |
	       1;
}

/* Of treesample.bpf.c. */
#define TREESAMPLE_IMAGES 256u
struct treesample_config {
	ctxsw_u32 python; /* ids are those of the initial PID namespace: its asks have them */
};

struct pysample_config {
	ctxsw_u64 ns_ino;     /* the PID namespace of the collector */
	ctxsw_u32 ring_shift; /* log2 of words per CPU */
	ctxsw_u32 cpus;
	ctxsw_u32
		tree; /* the events are those of CPUs: samples of threads outside of the tree are dropped */
	ctxsw_u32 is_called; /* by treesample.bpf.c, which has done that, and counted page faults */
};
