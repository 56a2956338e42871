/*
 * arena_map.h - the part of the arena that this process has mapped.
 *
 * The file has its full size from the start. A process maps the header and a first extent of chunks, and each further extent
 * when a chunk in it is taken: an idle process has little address space in use, which counts for mlockall(2), RLIMIT_AS
 * and core dumps. Extents double, so that there are few mappings. A forked child inherits its parent's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/arena.h"

#pragma GCC visibility push(hidden)

/* Maps the start of the file @memfd, which has room for @chunk_cnt chunks. NULL: not possible. */
struct sl_arena *sl_arena_map(int memfd, uint32_t chunk_cnt);
void sl_arena_unmap(struct sl_arena *a); /* if the process does not join after all */
/*
 * The session is over. Threads may be inside of calls that write to the arena: empty private pages take its place, and stay. Another
 * arena may be mapped then.
 */
void sl_arena_forget(void);

/* Maps the extent of chunk @ref if it is not yet. False: no memory, or a seccomp filter forbids system calls. */
bool sl_arena_reach(sl_ref ref);
/* The last extent that was needed could not be mapped: waiting for chunks may be in vain. */
bool sl_arena_is_short(void);
/* The chunk; sl_arena_reach() was true. */
struct sl_chunk *sl_arena_chunk(sl_ref ref);

/* Before a seccomp filter is installed: afterwards nothing can be mapped. */
void sl_arena_map_rest(void);
/* After mlockall(): the arena needs no locking, and counts towards the program's limit. */
void sl_arena_unlock(void);

#pragma GCC visibility pop
