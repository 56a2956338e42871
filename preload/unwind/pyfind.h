/* pyfind.h - finds the Python of the process, and the frames of the calling thread in its interpreters. */
#pragma once

#include "preload/unwind/pylayout.h"

#pragma GCC visibility push(hidden)

struct sl_python {
	struct sl_pylayout at;
	const char *runtime;      /* _PyRuntime */
	const void *code_type;    /* PyCode_Type */
	void *(*of_thread)(void); /* PyGILState_GetThisThreadState: reads a thread-local slot */
	void *(*current)(
		void); /* up to 3.11: the state that holds the lock; may be another thread's */
};

/* NULL: none of known layout. A returned structure never changes. */
const struct sl_python *sl_python_get(void);
/* The same, without searching for it. */
const struct sl_python *sl_python_known(void);

#define SL_PYTHON_NESTED 4u /* nested interpreters of a thread */

/*
 * The innermost frame of the calling thread in each interpreter that it is in: the current one first, then the newest.
 * Returns their number; 0: it runs no Python.
 */
unsigned sl_python_frames(const struct sl_python *py, const char *frames[SL_PYTHON_NESTED]);
/* That of the current interpreter alone. */
const char *sl_python_frame(const struct sl_python *py);

static inline const char *sl_python_load(const char *at)
{
	return *(const char *const *)at;
}
#if defined(__x86_64__)
#define SL_PYTHON_ADDRESS_BITS 47
#else
#define SL_PYTHON_ADDRESS_BITS 52
#endif

/* Whether @p may be a valid pointer: memory that is read this way may be damaged. */
static inline bool sl_python_is_pointer(const void *p)
{
	return (uintptr_t)p % 8 == 0 && (uintptr_t)p >= 65536 &&
	       (uintptr_t)p >> SL_PYTHON_ADDRESS_BITS == 0;
}

#pragma GCC visibility pop
