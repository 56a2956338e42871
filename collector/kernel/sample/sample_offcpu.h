/*
 * sample_offcpu.h - where threads were that had no CPU for long: registers and memory, which bpf/offcpu.bpf.c has kept
 * from when they left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/bpf/offcpu.h"
#include "collector/kernel/sample/sample.h"
#include "collector/kernel/sample/sample_unwind.h"

struct sample_offcpu;
struct sample_python;

/* Bytes of a stack that are kept at most, for tests and benches to make small; 0: OFFCPU_STACK. And of threads, the ring. */
extern struct sample_offcpu_tuning {
	unsigned stack_bytes, threads, ring_bytes;
} sample_offcpu_tuning;

/*
 * Where @ask->off_cpu_ns is below 0, of threads alone that end by a signal or a status other than 0; of these there are records, ended
 * at the moment they began, where the kernel permits it. @python: with its frames, NULL: without. NULL: unavailable, and the reason, in one sentence.
 */
struct sample_offcpu *sample_offcpu_open(const struct sample_ask *ask,
					 const struct sample_python *python, char *why,
					 size_t why_len);
void sample_offcpu_close(struct sample_offcpu *so);

/* Notes the present records; then returns them one by one, of threads that came back up to @until (CLOCK_MONOTONIC). */
void sample_offcpu_look(struct sample_offcpu *so);
const struct offcpu_record *sample_offcpu_next(struct sample_offcpu *so, uint64_t until);
/* Gives the ring's room back. */
void sample_offcpu_done(struct sample_offcpu *so);

/* Takes threads that have been without a CPU for long enough at @now, and still are, as if they had come back then. */
void sample_offcpu_waiting(struct sample_offcpu *so, uint64_t now,
			   void (*take)(void *to, const struct offcpu_record *record), void *to);

/* @regs (SAMPLE_REG_CNT): room for the registers that @user points to. False: a 32-bit program. */
bool sample_offcpu_user(const struct offcpu_record *record, uint64_t *regs,
			struct sample_user *user);

/* For sample_python_away(). How many bytes; 0: it was not in Python, or that is not asked for. */
size_t sample_offcpu_python(const struct offcpu_record *record, const void **at);

/* Threads that leave while it is off are not kept. */
void sample_offcpu_record(struct sample_offcpu *so, bool on);
unsigned sample_offcpu_fill(const struct sample_offcpu *so);
void sample_offcpu_losses(const struct sample_offcpu *so, uint64_t *full, uint64_t *crowd);
/* Stops recording; records in the ring can still be read. */
void sample_offcpu_stop(struct sample_offcpu *so);
