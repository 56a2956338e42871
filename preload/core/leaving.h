/*
 * leaving.h - for a library that came late: slow paths find chunks by the maps of the arena, and threads may be anywhere in them when
 * the process leaves the session. They are counted, and the maps are given up when none is left in them.
 *
 * Fast paths need none of it: what they write to stays mapped (arena_map.h).
 */
#pragma once

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Before maps are used. False: the session is left, or about to be; else sl_slow_end() has to follow. May be nested. */
bool sl_slow_begin(void);
void sl_slow_end(void);

/* Before a session is joined: from now on threads are counted. */
void sl_slow_open(void);
/* No thread begins from now on. True: within @limit_ms the last one has ended. */
bool sl_slow_close(unsigned limit_ms);
/* In a forked child, between begin and end: it has this thread alone. */
void sl_slow_forked(void);

#pragma GCC visibility pop
