/* exec_runtime.h - the runtime of a sanitizer that a program needs: its library must be loaded before this one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The file that an exec or spawn names. */
struct sl_exec_file {
	const char *path; /* readable, or NULL: unknown */
	int dir;          /* base of a relative path: a descriptor or AT_FDCWD */
	bool in_path;     /* without a slash it is searched for in PATH */
	bool by_fd;       /* it is the descriptor dir */
};

#define SL_RUNTIME_BYTES 64u
/*
 * The name of the library in @name, as the program has it. False: it needs none, or its file cannot be read. Scripts: that of
 * the interpreter. No allocation: this may be a vfork child; system calls on one descriptor, which it closes.
 */
bool sl_exec_runtime(const struct sl_exec_file *file, char *name);
/* Whether LD_PRELOAD's @list begins with @name. */
bool sl_exec_runtime_is_first(const char *list, const char *name);

#pragma GCC visibility pop
