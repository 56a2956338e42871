/* unwind_internal.h - between unwind.c (the walk), unwind_object.c (objects and modules) and unwind_memory.c (bounds). */
#ifndef SL_UNWIND_INTERNAL_H
#define SL_UNWIND_INTERNAL_H

#include "preload/unwind/cfi.h"
#include "preload/base/state.h"
#include "preload/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* ---- unwind_memory.c: which memory is there ---- */

/*
 * Memory of a walk. Between low and high it is known to be there; elsewhere each page is asked for when it is met.
 */
struct unwind_memory {
	uint64_t low, high;
	uint64_t page; /* the last one that was asked for and is there */
	bool refused;  /* something could not be read */
};

/* Before a walk, and where it changes to another stack. */
void unwind_memory_begin(struct unwind_memory *m, uint64_t sp);
/* Is the word at @address there? Outside of what is known. */
SL_COLD bool unwind_memory_ask(struct unwind_memory *m, uint64_t address);
/* Is this memory there? Any address, by a system call; false where we make none. */
bool unwind_readable(uint64_t address);
void unwind_memory_start(void);

SL_HOT bool unwind_read(struct unwind_memory *m, uint64_t address, uint64_t *value)
{
	if (sl_unlikely(address < m->low || address >= m->high || address & 7) &&
	    !unwind_memory_ask(m, address))
		return false;
	*value = *(const uint64_t *)(uintptr_t)address;
	return true;
}

/* ---- unwind_object.c: which object code lies in ---- */

struct unwind_object {
	uint64_t start, end, bias;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;
	bool is_own;  /* this library */
	bool is_code; /* where we asked is code */
	struct sl_cfi cfi;
};

/* The object at @pc. False: there is none. */
bool unwind_object(uint64_t pc, struct unwind_object *o);
/* Remembers it; true when it had not been met. */
bool unwind_module_met(const struct unwind_object *o);
void unwind_object_start(void);

#pragma GCC visibility pop
#endif
