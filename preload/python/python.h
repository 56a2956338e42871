/*
 * python.h - functions that libtrace.so exports to Python programs, and how the tracer's modules are loaded.
 *
 * `profile` writes a file "python" to the session directory: the prefix for PYTHONPATH. Python calls getenv() for that, whose
 * wrapper (wrap_env.c) adds the prefix: the environment itself stays unchanged for the program and its children, which do
 * the same. The first entry is the folder of the tracer's sitecustomize.py; the second is no folder but has its options.
 * It removes both from sys.path and runs the sitecustomize.py that would be found otherwise. Before main(), a built-in
 * module _sightline_trace is added to the interpreter:
 *
 *   abi                          SIGHTLINE_PYTHON_ABI
 *   range(domain, name[, color]) -> int   below; 0: not traced
 *   function(range, which)       PUSH: f(), POP: f(*anything), PUSH_TEXT: f(str), START: f() -> int, END: f(int)
 *   note(text)                   below
 *   collects(phase, info)        for gc.callbacks
 *   watch(callable)              callable((code,)) before code is executed as a module or by exec(): Python runs the main
 *                                program without a loader. By an audit hook: each other audited event costs a comparison.
 *   replace(tuple, basicsize, index, old, new)   replaces @old by @new. For constants of code that has not run yet.
 *
 * Python's headers are not needed: functions of its stable interface are looked up by name in the loaded objects, so one
 * libtrace.so serves every CPython from 3.8 on. The functions below are exported, for ctypes and others.
 *
 * Rule for changes: functions are only added; a change of meaning raises SIGHTLINE_PYTHON_ABI. The modules
 * (scripts/python/) do nothing with another version.
 */
#pragma once

#include <stdint.h>

#define SIGHTLINE_PYTHON_ABI 1

int sightline_python_abi(void);

/* Creates a range with this message, as a registered string, in this domain; never freed. NULL: not traced. */
void *sightline_range(const char *domain, const char *name);
/* The same with a color, ARGB; 0: none. */
void *sightline_range_colored(const char *domain, const char *name, uint32_t color);
void sightline_range_push(const void *range);
/* Pushes a range in the same domain with this message, which is not registered. */
void sightline_range_push_text(const void *range, const char *text);
void sightline_range_pop(const void *range);
/* For ranges that may end in another thread, or overlap. */
uint64_t sightline_range_start(const void *range);
void sightline_range_end(const void *range, uint64_t id);

/*
 * "here": the tracer's modules run. "found STEP" and "missing STEP\tREASON": result for an entry of --python-step, as it
 * was given, or @MODULE:FUNCTION of --python-functions-trace. "say TEXT": another message for the user.
 */
void sightline_python_note(const char *text);

enum sightline_python_function {
	SIGHTLINE_PUSH = 0,
	SIGHTLINE_POP,
	SIGHTLINE_PUSH_TEXT,
	SIGHTLINE_START,
	SIGHTLINE_END,
};
