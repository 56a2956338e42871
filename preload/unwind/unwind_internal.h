/* unwind_internal.h - shared by unwind.c (the walk), unwind_object.c (objects and modules), unwind_memory.c (bounds). */
#pragma once

#include "preload/unwind/cfi.h"
#include "preload/base/state.h"
#include "preload/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* ---- unwind_memory.c: mapped memory ---- */

/*
 * Memory of a walk. Between low and high it is known to be mapped; elsewhere each page is probed.
 */
struct unwind_memory {
	uint64_t low, high;
	uint64_t page; /* the last one that was probed and is mapped */
	bool refused;  /* a page was not readable */
};

/* Before a walk, and when it changes to another stack. */
void unwind_memory_begin(struct unwind_memory *m, uint64_t sp);
/* Whether the word at @address is readable; outside of the known range. */
SL_COLD bool unwind_memory_probe(struct unwind_memory *m, uint64_t address);
/* Whether any address is readable, by a system call; false under a seccomp filter. */
bool unwind_readable(uint64_t address);
void unwind_memory_start(void);

SL_HOT bool unwind_read(struct unwind_memory *m, uint64_t address, uint64_t *value)
{
	if (sl_unlikely(address < m->low || address >= m->high || address & 7) &&
	    !unwind_memory_probe(m, address))
		return false;
	*value = *(const uint64_t *)(uintptr_t)address;
	return true;
}

/* ---- unwind_object.c: objects by address ---- */

struct unwind_object {
	uint64_t start, end, bias;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len;
	bool is_own;  /* this library */
	bool is_code; /* the address is in an executable segment */
	struct sl_cfi cfi;
};

/* The object at @pc. False: none. */
bool unwind_object(uint64_t pc, struct unwind_object *o);
bool unwind_modules_prepare(void);
void unwind_modules_forget(void); /* maps the table of modules; false: not possible */
/* Adds the object to the modules; true: it is new. */
bool unwind_module_add(const struct unwind_object *o);
void unwind_object_start(void);

#pragma GCC visibility pop
