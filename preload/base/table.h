/*
 * table.h - large tables of the shim, mapped when first used: an idle process has none, mlockall(2) locks none, and a core
 * dump has none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload/base/compiler.h"

#pragma GCC visibility push(hidden)

enum sl_table {
	SL_TABLE_ROWS,    /* of unwinding tables (unwind.c) */
	SL_TABLE_MODULES, /* objects with frames (unwind_object.c) */
	SL_TABLE_CODES,   /* Python's code objects (pystack.c) */
	SL_TABLE_STACKS,  /* recorded stacks (stack.c): SL_TABLE_STACK_LEVELS tables */
	SL_TABLE_STACK_LEVELS = 4,
	SL_TABLE_ROOMS =
		SL_TABLE_STACKS +
		SL_TABLE_STACK_LEVELS, /* memory of threads (thread_room.c): SL_TABLE_ROOM_BLOCKS tables */
	SL_TABLE_ROOM_BLOCKS = 64,
	SL_TABLE_CNT = SL_TABLE_ROOMS + SL_TABLE_ROOM_BLOCKS
};

struct sl_table_at {
	void *at; /* NULL: not mapped; release, pairs with the acquire of readers */
	size_t bytes;
};
extern struct sl_table_at sl_tables[SL_TABLE_CNT];

/* Maps the table, filled with zeros. NULL: no memory, or a seccomp filter forbids system calls. */
SL_COLD void *sl_table_map(enum sl_table which, size_t bytes);
/* Fills the table, if it is mapped, with zeros, which gives its pages back. */
void sl_table_clear(enum sl_table which);
/* After mlockall(): the tables need no locking. @future: nor do those that are mapped later. */
void sl_tables_unlock(bool future);

SL_HOT void *sl_table_known(enum sl_table which)
{
	return __atomic_load_n(&sl_tables[which].at, __ATOMIC_ACQUIRE);
}

SL_HOT void *sl_table(enum sl_table which, size_t bytes)
{
	void *at = sl_table_known(which);

	return sl_likely(at) ? at : sl_table_map(which, bytes);
}

#pragma GCC visibility pop
