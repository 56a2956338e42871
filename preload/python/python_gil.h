/*
 * python_gil.h - records when threads hold Python's global interpreter lock and wait for it (--trace=python-gil).
 *
 * The lock is a flag under a mutex, with two condition variables: a thread waits for the first, in steps of some
 * milliseconds; a thread that releases the lock signals the first, and one that takes it signals the second (so that the
 * thread that released it on request knows that another one took it). That holds for every CPython from 3.2 on, and all
 * of these functions are wrapped (wrap_lock.c): taking and releasing the lock are signals to one of two known addresses,
 * both with the mutex held, so that the order of records is that of the events.
 *
 * The addresses become known when the lock is created: CPython calls pthread_cond_init() for no other purpose. No offset of
 * any version is needed, and interpreters with a lock of their own (3.12 and later) are found likewise.
 */
#pragma once

#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

/* Number of known locks. 0: not traced, or no Python. Other calls cost the test of this. */
extern uint32_t sl_gil_cnt;

/* Before a condition variable is signalled; before a timed wait for it. */
__attribute__((noinline)) void sl_gil_signals(const void *cond);
__attribute__((noinline)) void sl_gil_waits(const void *cond);
/* The process exits: records a release by this thread. */
void sl_gil_end(void);

SL_HOT bool sl_gil_is_known(void)
{
	return sl_unlikely(__atomic_load_n(&sl_gil_cnt, __ATOMIC_RELAXED) != 0);
}

#pragma GCC visibility pop
