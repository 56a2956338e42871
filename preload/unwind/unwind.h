/*
 * unwind.h - the native stack of the calling thread, from inside.
 *
 * No locks, no allocation, no libc; system calls only for stacks of unknown bounds. Rows are cached by address for the
 * whole process (lock-free), so a known frame costs a table lookup. Only memory between the current stack pointer and the
 * end of the stack is read: a damaged stack ends the walk with a remark, never the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/frame.h"

#pragma GCC visibility push(hidden)

/* A loaded object that a frame is in. */
struct sl_module {
	uint64_t start, end; /* of its loaded segments */
	uint64_t bias;
	const char *path; /* as the loader has it */
	const uint8_t *build_id;
	uint32_t build_id_len;
};

/*
 * Frames of the callers of libtrace.so's outermost entry: at most @depth, then a remark; @room >= @depth + 1. Returns
 * the number of words. Adds the number of new modules to *@fresh (sl_unwind_next_module()).
 */
unsigned sl_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh);

/* Whether the stack has enough room for unwinding; the program may have left a few hundred bytes for its call. */
bool sl_unwind_has_room(void);

/* Takes a new module. False: none. Each is returned once per process image. */
bool sl_unwind_next_module(struct sl_module *m);

/* Code may have been unloaded: invalidates cached rows. Any thread, at any time. */
void sl_unwind_invalidate(void);
/* Incremented by sl_unwind_invalidate(): equal frames are equal stacks only in the same generation. */
uint32_t sl_unwind_generation(void);
/* The session is over, and another may follow: modules are new again. */
void sl_unwind_forget(void);
/* Maps the tables that unwinding needs. False: no memory, or a seccomp filter forbids it: then nothing is unwound. */
bool sl_unwind_prepare(void);
/* Once per process, before anything else (session_join.c). */
void sl_unwind_start(void);

#pragma GCC visibility pop
