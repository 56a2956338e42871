/*
 * stack.h - stacks of calls: taken after the call, told once (SL_META_STACK), named by number in front of the call's
 * record (SL_META_CHAIN).
 *
 * A stack that the process has had before costs taking it, a hash and three words. Numbers are kept by hash, for the whole
 * process, lock-free; forked children go on with their parent's.
 */
#ifndef SL_STACK_H
#define SL_STACK_H

#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

enum sl_stack_of {
	SL_STACK_OF_OSRT,
	SL_STACK_OF_GPU,
	SL_STACK_OF_UNMAP, /* a call of the C library that has taken memory away */
};

/* The number of the calling thread's stack, told if it is new; 0: there is none. Outside of the busy section. */
SL_COLD uint32_t sl_stack_take(const struct sl_call *call, enum sl_stack_of of);
/*
 * In the busy section, right before the record of @call, of @words words, is written: then that has room, and goes out
 * together with the number of its stack.
 */
SL_COLD void sl_stack_put(const struct sl_call *call, uint32_t id, unsigned words);

/*
 * Objects have been loaded or unloaded: looks for Python again. @is_loading: they are about to be loaded, and the end of
 * that will not be observed.
 */
void sl_stack_rescan(bool is_loading);

/* By its name, as --cudabacktrace tells functions apart. */
enum sl_stack_class sl_stack_class_of(const char *function);

#pragma GCC visibility pop
#endif
