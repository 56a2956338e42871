/*
 * sample_python.h - Python's frames of threads that are sampled, or leave their CPU.
 *
 * bpf/pysample.bpf.c reads them at the moment of the sample, in a record of its own; here the two are paired, and code
 * objects get their names, read from the process when they are first met.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample.h"
#include "collector/kernel/sample/sample_files.h"

/* How a thread is known: bpf/pysample.bpf.c has it from a register of x86-64. */
#if defined(SL_HAVE_BPF) && defined(__x86_64__)
#define SL_SAMPLE_PYTHON 1
#else
#define SL_SAMPLE_PYTHON 0
#endif

struct sample_sink;
struct sample_python;

#define SAMPLE_PYTHON_WORDS 258u /* of one sample at most */

/* NULL: unavailable, and the reason, in one sentence. */
struct sample_python *sample_python_open(const struct sample_ask *ask, struct sample_files *files,
					 char *why, size_t why_len);
void sample_python_close(struct sample_python *sp);
/* To be attached to perf's events. */
int sample_python_program(const struct sample_python *sp);
/* How often page faults have run it. */
const uint64_t *sample_python_fault_runs(const struct sample_python *sp);
/* True, once: there is a Python, and its frames cannot be read; the reason, in one sentence. */
bool sample_python_failed(struct sample_python *sp, char *why, size_t why_len);
/* Is the program that walks frames loaded: have there been processes of Python? */
bool sample_python_has_walker(const struct sample_python *sp);
/* A map of bpf/pywalk.h, for others who read frames. */
int sample_python_map(const struct sample_python *sp, const char *name);

/* Notes the present records: questions about processes, new code objects. To be called after sample_events_look(). */
void sample_python_look(struct sample_python *sp);
/* A process that runs already and will be sampled: its first sample need not wait for us to look into it. */
void sample_python_expect(struct sample_python *sp, uint32_t pid);
/* A file with code has been mapped: perhaps it brings a Python. */
void sample_python_mapped(struct sample_python *sp, const struct sample_mapped *what);
void sample_python_ended(struct sample_python *sp, uint32_t pid);

/* One of perf's samples, to be asked for each, in the order of time. */
struct sample_python_of {
	uint32_t cpu, pid, tid;
	uint64_t ns;
};
/*
 * Gets the sample's frames, in the form of preload/wire/frame.h; @sink gets their names. Returns
 * their number; 0: the thread was not in Python.
 */
unsigned sample_python_frames(struct sample_python *sp, const struct sample_sink *sink,
			      const struct sample_python_of *sample, uint64_t *frames);
/* The same of a thread that left its CPU; @bytes at @record, as bpf/pysample.h has it. */
unsigned sample_python_away(struct sample_python *sp, const struct sample_sink *sink,
			    const void *record, size_t bytes, uint64_t *frames);
/* Gives the rings' room back. */
void sample_python_done(struct sample_python *sp);

/* Samples in Python without its frames, for want of room. */
uint64_t sample_python_lost(const struct sample_python *sp);
/* Frames without a name: the code object was gone before it was read. */
uint64_t sample_python_nameless(const struct sample_python *sp);
/* An unknown version, for a diagnostic: 0x030f for 3.15; 0: none. */
uint32_t sample_python_unknown(struct sample_python *sp);
/* Whether some processes could not be read, for a diagnostic. */
bool sample_python_refused(struct sample_python *sp);
