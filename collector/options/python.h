/*
 * python.h - --python-step, --python-functions-trace, --pytorch and what --trace has of Python, on the collector's side: what programs find in their session, and what becomes
 * of what was asked. How it gets into them: preload/python/python.h.
 */
#ifndef SL_PYTHON_MODULES_H
#define SL_PYTHON_MODULES_H

#include "collector/collect/collect.h"

/* Dotted names; Python's may have letters of every script. */
bool python_is_dotted(const char *text, size_t len);

/* 0; -SL_EXIT_USAGE after one line that names @cmd. */
int python_options_check(struct profile_options *o, const char *cmd);

/* Puts the options into the session for programs to find; @preload: libtrace.so, beside which our modules are. */
void python_open(struct collector *c, const char *preload);
/* SL_NOTE_PYTHON: what our modules say, and what is said of stacks. *@all may be NULL. */
void python_note(struct python **all, const char *text);
/* At the very end: what never turned up, as a diagnostic and a line on stderr. */
void python_end(struct collector *c);
void python_close(struct collector *c);

#endif
