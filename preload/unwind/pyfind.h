/* pyfind.h - the Python of the process, and what it knows of the calling thread. */
#ifndef SL_PYFIND_H
#define SL_PYFIND_H

#include "preload/unwind/pylayout.h"

#pragma GCC visibility push(hidden)

struct sl_python {
	struct sl_pylayout at;
	const char *runtime;   /* _PyRuntime */
	const void *code_type; /* PyCode_Type */
	void *(*of_thread)(
		void); /* PyGILState_GetThisThreadState: a look into a slot of the thread, no more */
	void *(*current)(
		void); /* up to 3.11: of the thread that holds the lock; may be another's */
};

/* NULL: there is none that we know. What was once returned stays as it is. */
const struct sl_python *sl_python_get(void);
/* The same, without looking for one. */
const struct sl_python *sl_python_known(void);

#define SL_PYTHON_NESTED 4u /* interpreters that a thread is in, one within the other */

/*
 * The innermost frame of the calling thread in each interpreter that it is in, that of the present one first, then the
 * youngest. How many; 0: it runs no Python.
 */
unsigned sl_python_frames(const struct sl_python *py, const char *frames[SL_PYTHON_NESTED]);
/* That of the present one alone. */
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

/* Not one that can never be right: what is read this way is the thread's own, but may be damaged. */
static inline bool sl_python_is_pointer(const void *p)
{
	return (uintptr_t)p % 8 == 0 && (uintptr_t)p >= 65536 &&
	       (uintptr_t)p >> SL_PYTHON_ADDRESS_BITS == 0;
}

#pragma GCC visibility pop
#endif
