/* python_api.h - internal interface of the Python part: set-up, lookup of Python's functions, garbage collections. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The definition of @name in any loaded object, or NULL. */
void *sl_python_find(const char *name);

/* Before Python's main(): registers the built-in module _sightline_trace. */
void sl_python_add_module(void);
bool sl_python_has_module(void);

/* A garbage collection starts; it has ended and freed @objects (-1: unknown). */
void sl_python_collect(long generation);
void sl_python_collected(long objects);

/* The result of getenv("PYTHONPATH"); @env: the value in the environment (NULL: not set). */
char *sl_python_path(char *env);
/* At the start of the process: adds the module, or a note if an interpreter option disables the integration. */
void sl_python_start(void);

#pragma GCC visibility pop
