/*
 * sample_python_outside.h - Python's frames of threads of other processes, read out of their memory: as bpf/pywalk.h reads them
 * inside of the kernel, but without eBPF, and with no more rights than those of the processes' user. They are those of the
 * moment of the call: exact for a thread that waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/sample/sample_files.h"
#include "collector/kernel/sample/sample_python_find.h"

struct sample_sink;
struct pyoutside;

#define PYOUTSIDE_WORDS (PYSAMPLE_HEAD_WORDS + PYSAMPLE_FRAME_WORDS * PYSAMPLE_DEPTH)

/* @is_second: there are code objects of another reader, whose numbers are other ones. NULL: no memory. */
struct pyoutside *pyoutside_new(struct sample_files *files, bool is_second);
void pyoutside_free(struct pyoutside *o);
/*
 * Frames of thread @tid of process @pid, in the form of preload/wire/frame.h; @sink gets their names. @frames has room for
 * PYSAMPLE_DEPTH + 1. Their number; 0: the thread is not in Python.
 */
unsigned pyoutside_frames(struct pyoutside *o, const struct sample_sink *sink, uint32_t pid,
			  uint32_t tid, uint64_t *frames);
/* The innermost frame of a thread whose frames were read before, and its instruction: where they are the same, it has not gone on. False: not known. */
bool pyoutside_place(struct pyoutside *o, uint32_t pid, uint32_t tid, uint64_t place[2]);
/*
 * Of running threads: pyoutside_look() when the reader is woken, then pyoutside_is_in_time() for each sample, whether the thread
 * still is where it was at @ns, more or less. A reader that has waited for a CPU may have got that of the thread, which mostly loses it
 * at the end of a system call, and at no other line.
 */
void pyoutside_look(struct pyoutside *o);
bool pyoutside_is_in_time(const struct pyoutside *o, int64_t ns);
/* The process has ended, or runs another program. */
void pyoutside_ended(struct pyoutside *o, uint32_t pid);

/* The layout of the process's Python; NULL: it has none of known layout. Valid until the next call of any function here. */
const struct sl_pylayout *pyoutside_layout(struct pyoutside *o, uint32_t pid);
/* The same with where it is; NULL likewise. */
const struct pyfind *pyoutside_python(struct pyoutside *o, uint32_t pid);
/* Puts a frame (of a coroutine, say) behind the others of a record in @words, which begins with zeros. False: no room. */
bool pyoutside_put(const struct pyfind *of, uint64_t frame, uint64_t words[PYOUTSIDE_WORDS]);
/* As pyoutside_frames(), of such a record. */
unsigned pyoutside_told(struct pyoutside *o, const struct sample_sink *sink, uint32_t pid,
			const uint64_t words[PYOUTSIDE_WORDS], uint64_t *frames);
/* Where the process's asyncio describes its own layout, from 3.14 on: section .AsyncioDebug; 0: nowhere. */
uint64_t pyoutside_asyncio(struct pyoutside *o, uint32_t pid);

/* The thread of the process that Python knows by @id, which is the C library's; 0: none. */
uint32_t pyoutside_tid(uint32_t pid, uint64_t id);

/* A global interpreter lock: its memory, with the condition that threads wait at for it; the thread that has it, 0: none. */
struct pyoutside_gil {
	uint64_t from, to;
	uint32_t owner;
};
#define PYOUTSIDE_GILS 8u /* from 3.12 on, interpreters may have their own */
/* Those of process @pid; their number, 0: it has no Python of known layout. */
unsigned pyoutside_gils(struct pyoutside *o, uint32_t pid,
			struct pyoutside_gil list[PYOUTSIDE_GILS]);

/* Makes a record (bpf/pysample.h) of thread @tid, as its process sees it, in @words. The number of its frames; 0: it runs no Python. */
uint32_t pyoutside_read(const struct pyfind *of, uint32_t tid, uint64_t words[PYOUTSIDE_WORDS]);
