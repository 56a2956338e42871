/*
 * slots.h - for a library that came late: calls of the loaded objects are led to the wrappers by the slots of their global offset
 * tables, and back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Leads the calls of all loaded objects to the wrappers; those of objects that are loaded later follow with sl_slots_scan(). False:
 * no memory, and nothing is changed.
 */
bool sl_slots_patch(void);
/* Objects may have been loaded. Nothing where sl_slots_patch() was not called, or sl_slots_restore() was. */
void sl_slots_scan(void);
/* Before a dlopen() whose end is not observed: the thread's next call scans. */
void sl_slots_scan_soon(void);
/* Puts the value back into each slot that still leads to a wrapper. Returns how many slots did. */
uint32_t sl_slots_restore(void);
/* In a forked child: a scan of another thread of the parent does not go on. */
void sl_slots_forked(void);

#pragma GCC visibility pop
