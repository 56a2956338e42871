/* wait_owner.h - the thread that a wait is for, by the memory of the process. */
#pragma once

#include "collector/waits/thread_call.h"

/*
 * The thread that has the lock which the call waits for (@is_lock), or which is to end. The C library keeps the number of the
 * owner behind a mutex, and that of a thread that others join in the word that they wait on. 0: none that is known. *@process: that of the
 * thread, which may have ended.
 */
uint32_t wait_owner_of_futex(const struct thread_call *c, bool *is_lock, uint32_t *process);
/* Does it wait for a lock on a file, by flock() or fcntl()? */
bool wait_is_for_file_lock(const struct thread_call *c);
/* The child that a call waits for; 0: none. *@any: any child of the caller. */
uint32_t wait_child(const struct thread_call *c, bool *any);
