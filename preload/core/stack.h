/*
 * stack.h - stacks of calls: taken after the call, recorded once (SL_META_STACK), and referred to by id in a record before
 * that of the call (SL_META_CHAIN).
 *
 * A stack recorded before costs unwinding, a hash and three words. Ids are kept by hash, per process, lock-free; forked
 * children inherit them.
 */
#pragma once

#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

enum sl_stack_of {
	SL_STACK_OF_OSRT,
	SL_STACK_OF_GPU,
	SL_STACK_OF_UNMAP, /* a call of the C library that unmapped memory */
};

/* Id of the calling thread's stack, recorded if it is new; 0: none. Outside of the busy section. */
SL_COLD uint32_t sl_stack_take(const struct sl_call *call, enum sl_stack_of of);
/*
 * Writes the id of a call's stack. In the busy section, right before the record of @call, of @words words, for which room
 * is reserved; both are committed together.
 */
SL_COLD void sl_stack_put(const struct sl_call *call, uint32_t id, unsigned words);

/*
 * Objects have been loaded or unloaded: looks for Python again. @is_loading: they are about to be loaded, and the end of
 * that will not be observed.
 */
void sl_stack_rescan(bool is_loading);
/* The session is over, and another may follow: all stacks are new again. */
void sl_stack_forget(void);

/* The class of a function in --cudabacktrace, by its name. */
enum sl_stack_class sl_stack_class_of(const char *function);

#pragma GCC visibility pop
