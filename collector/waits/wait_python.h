/* wait_python.h - owners of locks of Python's threading, found in the memory of the process. */
#pragma once

#include "collector/waits/thread_call.h"
#include "preload/unwind/pylayout.h"

/*
 * The thread that has the threading.RLock which the call waits for; 0: it waits for no such lock, or the version of Python keeps them in
 * another way. A threading.Lock has no owner. *@object: its address. @at: the layout of the process's Python.
 */
uint32_t wait_owner_of_rlock(const struct thread_call *c, const struct sl_pylayout *at,
			     uint64_t *object);
