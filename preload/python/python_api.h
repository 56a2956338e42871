/* python_api.h - between python.c and python_range.c: functions of Python's stable interface, found by name. */
#ifndef SL_PYTHON_API_H
#define SL_PYTHON_API_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The definition of @name in whatever the process has loaded, or NULL. */
void *sl_python_find(const char *name);

/* Before Python's main(): makes our built-in module known to it. */
void sl_python_add_module(void);
bool sl_python_has_module(void);

/* A garbage collection begins; has ended, having freed so many objects (-1: unknown). */
void sl_python_collect(long generation);
void sl_python_collected(long objects);

/* The answer to getenv("PYTHONPATH"), @env being what the environment says (NULL: nothing). */
char *sl_python_path(char *env);
/* At the start of the process: says so where options of this Python keep us out. */
void sl_python_start(void);

#pragma GCC visibility pop
#endif
