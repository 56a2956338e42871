/*
 * python_gil.h - who holds Python's global interpreter lock, and who waits for it (--trace=python-gil).
 *
 * The lock is a flag under a mutex, with two condition variables: whoever waits does so on the first, in steps of some
 * milliseconds; whoever lets go signals the first, and whoever takes it the second (so that a thread that was asked to
 * let go knows that another one has had it). That is so in every CPython from 3.2 on, and all of these calls are
 * wrapped already (wrap_lock.c): taking and letting go are calls that signal one of two known addresses, both made with
 * the mutex held, so that what they are told in is the order in which they happened.
 *
 * The addresses are learnt when the lock is made: CPython calls pthread_cond_init() for nothing else. No offset of any
 * version is needed, and interpreters with a lock of their own (3.12 and later) are found likewise.
 */
#ifndef SL_PYTHON_GIL_H
#define SL_PYTHON_GIL_H

#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

/* Locks that are known. 0: nobody asked, or this is no Python: the one question that others pay for. */
extern uint32_t sl_gil_cnt;

/* Before a condition variable is signalled; before it is waited for with a limit. */
__attribute__((noinline)) void sl_gil_signals(const void *cond);
__attribute__((noinline)) void sl_gil_waits(const void *cond);
/* The process ends: what this thread holds, it holds no longer. */
void sl_gil_end(void);

SL_HOT bool sl_gil_is_known(void)
{
	return sl_unlikely(__atomic_load_n(&sl_gil_cnt, __ATOMIC_RELAXED) != 0);
}

#pragma GCC visibility pop
#endif
