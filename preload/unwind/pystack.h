/*
 * pystack.h - the Python stack of the calling thread: read from the interpreter's memory, without its lock and without
 * changing reference counts.
 *
 * Offsets are in a table by version (pylayout.h), or in _Py_DebugOffsets of the interpreter (3.13 and later). The thread's
 * own frames do not change while it is in a call, so reads are consistent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/frame.h"

#pragma GCC visibility push(hidden)

/* Whether this process has a Python of known layout. Cheap; searches after sl_pystack_rescan(). */
bool sl_pystack_has(void);
/*
 * Objects were loaded or unloaded: searches now, if stacks of Python are recorded. @is_loading: they are about to be loaded,
 * and the end of that is not observed. Any thread, outside of the busy section.
 */
void sl_pystack_rescan(bool is_loading);
void sl_pystack_forked(void);
/* The session is over, and another may follow: code objects are new again. */
void sl_pystack_forget(void);
/* Maps the table of code objects. False: no memory, or a filter forbids it: a few hundred objects are known nevertheless. */
bool sl_pystack_prepare(void);
/* A note for the user about a Python whose stacks cannot be read, once per version; NULL: none. */
const char *sl_pystack_take_note(void);

/*
 * Whether the innermost frame is mapped: Python 3.11 unmaps a frame's memory before it unlinks the frame, so this is checked
 * after munmap(). Makes a system call.
 */
bool sl_pystack_is_readable(void);
/*
 * Python frames of the thread, at most @depth, then a remark; @room >= @depth + 1. Returns the number of words; 0: the
 * thread runs no Python. Adds the number of frames whose code object is not recorded yet to *@fresh.
 */
unsigned sl_pystack(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh);

#define SL_PYTEXT_ROOM 1024u /* for a text that is not ASCII; a longer one is cut */

/* A code object to be recorded. Texts are UTF-8. */
struct sl_pycode {
	uint32_t id;
	uint32_t first_line;
	uint32_t version;        /* of the line table, 0x030b for 3.11 */
	const char *file, *name; /* name: the qualified one if there is one */
	const uint8_t *lines;    /* in the interpreter's memory */
	uint32_t lines_len;
};
/*
 * Takes a code object of this thread's last sl_pystack() that is not recorded yet. False: none. Before the thread returns to
 * Python. Those not taken count as fresh in the next stack; two threads may record the same one. @room: 2 * SL_PYTEXT_ROOM
 * bytes, in which texts that are not ASCII lie.
 */
bool sl_pystack_next_code(struct sl_pycode *c, char *room);

/*
 * Around munmap(): frames in the unmapped memory are left out of a stack that is taken in between. From 3.11 on, the memory
 * of a frame that creates a generator is freed while it is still the thread's current frame.
 */
void sl_pystack_unmapping(const void *at, size_t bytes);
void sl_pystack_unmapped(void);

#pragma GCC visibility pop
