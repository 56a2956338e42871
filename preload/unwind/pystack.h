/*
 * pystack.h - the Python stack of the calling thread: read from the interpreter's memory, without its lock and without
 * touching anything that it counts.
 *
 * Where things lie is in a table by version (pylayout.h), or in _Py_DebugOffsets where the interpreter has it (3.13 and
 * later). The thread's own frames do not change while it is in a call, so nothing here can tear.
 */
#ifndef SL_PYSTACK_H
#define SL_PYSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/wire/frame.h"

#pragma GCC visibility push(hidden)

/* Is there a Python in this process that we know? Cheap; looks again after sl_pystack_rescan(). */
bool sl_pystack_has(void);
/*
 * Objects have come or gone: looks now, if stacks of Python are wanted. @is_loading: they will come without our seeing
 * the end of it. Any thread, outside of the tracer's own work.
 */
void sl_pystack_rescan(bool is_loading);
void sl_pystack_forked(void);
/* A note for the user about a Python whose stacks cannot be read, once per version; NULL: none. */
const char *sl_pystack_take_note(void);

/*
 * Is its innermost frame in memory? Python 3.11 gives the memory of a frame back before it takes the frame from its list:
 * to be asked after a call that may be this one. A system call.
 */
bool sl_pystack_is_there(void);
/*
 * Frames of the thread's Python, at most @depth, then a remark; @room >= @depth + 1. Returns how many words; 0 when the
 * thread runs no Python. Those whose code object has not been told yet: their number is added to *@fresh.
 */
unsigned sl_pystack(uint64_t *frames, unsigned room, unsigned depth, unsigned *fresh);

/* A code object to be told. Texts are UTF-8, in memory that is valid until the next call. */
struct sl_pycode {
	uint32_t id;
	uint32_t first_line;
	uint32_t version;        /* of the line table, 0x030b for 3.11 */
	const char *file, *name; /* name: the qualified one where there is one */
	const uint8_t *lines;    /* in the interpreter's memory */
	uint32_t lines_len;
};
/*
 * Takes one that this thread met in its last sl_pystack() and that nobody told yet. False: none. To be called before the
 * thread goes back into Python. What is not taken is fresh again when it is next met; two threads may tell the same one.
 */
bool sl_pystack_next_code(struct sl_pycode *c);

/*
 * Around munmap(): what lies there is left out of a stack that is taken in between. From 3.11 on, the memory of the frame
 * that makes a generator is given back while it still is the thread's present one.
 */
void sl_pystack_unmapping(const void *at, size_t bytes);
void sl_pystack_unmapped(void);

#pragma GCC visibility pop
#endif
