/*
 * python.h - what libtrace.so offers to Python programs in the process, and how our modules get in.
 *
 * `profile` leaves a file "python" in the session directory: what is to stand before PYTHONPATH. Python asks getenv() for
 * that, which is ours (nvtx.c), and gets both: the environment stays as it is, for the program to look at and for its
 * children, each of which finds the session and asks again. The first entry is the folder of our sitecustomize.py; the
 * second is no folder but tells it the options. It takes both off sys.path again and goes on to the sitecustomize.py that
 * is found without us. Before main(), a built-in module _sightline_trace is added to the interpreter:
 *
 *   abi                          SIGHTLINE_PYTHON_ABI
 *   range(domain, name[, color]) -> int   below; 0: not traced
 *   function(range, which)       PUSH: f(), POP: f(*anything), PUSH_TEXT: f(str), START: f() -> int, END: f(int)
 *   note(text)                   below
 *   collects(phase, info)        for gc.callbacks
 *   watch(callable)              callable((code,)) before code is executed as a module or by exec(): Python runs the main
 *                                program without asking any loader. Through an audit hook: each other audited event costs
 *                                a comparison.
 *   replace(tuple, basicsize, index, old, new)   puts @new where @old is. For constants of code that has not run yet.
 *
 * Nothing here needs Python's headers: functions of its stable interface are found by name in what the process has
 * loaded, so one libtrace.so serves every CPython from 3.8 on. The functions below are exported, for ctypes and others.
 *
 * Rule for changes: functions are only ever added; what changes its meaning raises SIGHTLINE_PYTHON_ABI. The modules
 * (scripts/python/) do nothing when it is another one.
 */
#ifndef SL_PYTHON_H
#define SL_PYTHON_H

#include <stdint.h>

#define SIGHTLINE_PYTHON_ABI 1

int sightline_python_abi(void);

/* A range with this message, as a registered string, in this domain. Lives as long as the process. NULL: not traced. */
void *sightline_range(const char *domain, const char *name);
/* In this color, ARGB; 0: none. */
void *sightline_range_colored(const char *domain, const char *name, uint32_t color);
void sightline_range_push(const void *range);
/* The same domain, this message, which is not registered. */
void sightline_range_push_text(const void *range, const char *text);
void sightline_range_pop(const void *range);
/* For what may end in another thread, or overlap. */
uint64_t sightline_range_start(const void *range);
void sightline_range_end(const void *range, uint64_t id);

/*
 * "here": our modules run. "found STEP" and "missing STEP\tREASON": what became of an entry of --python-step, as it was
 * given, or @MODULE:FUNCTION of --python-functions-trace. "say TEXT": anything else that the user must know.
 */
void sightline_python_note(const char *text);

enum sightline_python_function {
	SIGHTLINE_PUSH = 0,
	SIGHTLINE_POP,
	SIGHTLINE_PUSH_TEXT,
	SIGHTLINE_START,
	SIGHTLINE_END,
};

#endif
