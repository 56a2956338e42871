/*
 * unwind.h - the native stack of the calling thread, from inside.
 *
 * No locks, no allocation, no libc; system calls only for stacks whose bounds nobody has told us. Rows are kept by
 * address for the whole process (lock-free), so a frame that has been seen before costs a look into a table. What is read
 * lies between the present stack pointer and the end of that stack: a damaged stack ends the walk with a remark, never
 * the program.
 */
#ifndef SL_UNWIND_H
#define SL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/frame.h"

#pragma GCC visibility push(hidden)

/* An object that a frame lies in. */
struct sl_module {
	uint64_t start, end; /* of its loaded segments */
	uint64_t bias;
	const char *path; /* as the loader has it */
	const uint8_t *build_id;
	uint32_t build_id_len;
};

/*
 * Frames of the callers of libtrace.so's outermost entry: at most @depth, then a remark; @room >= @depth + 1. Returns
 * how many words. Objects that had not been met before: their number is added to *@fresh (sl_unwind_next_module()).
 */
unsigned sl_unwind(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh);

/* Is enough of the stack left for all this? The program may have had a few hundred bytes, for the call itself. */
bool sl_unwind_has_room(void);

/* Takes one object that was met and not told yet. False: none. Each is given once per process image. */
bool sl_unwind_next_module(struct sl_module *m);

/* Code may be gone from where it was, and other code come: rows kept so far are void. Any thread, at any time. */
void sl_unwind_forget(void);
/* Counts up with sl_unwind_forget(): the same frames mean the same stack only with the same generation. */
uint32_t sl_unwind_generation(void);
/* Once per process, before anything else (session_join.c). */
void sl_unwind_start(void);

#pragma GCC visibility pop
#endif
