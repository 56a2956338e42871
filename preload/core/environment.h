/*
 * environment.h - the shim's variables (SIGHTLINE_SESSION, SIGHTLINE_CLEAN, LD_PRELOAD) in environments: they are added for
 * programs that are to be traced, and removed where the program must not see them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload/wire/exec_file.h"

#pragma GCC visibility push(hidden)

/*
 * The environment of this process: environ, or the one on its first stack as long as the C library, which sets environ, is not
 * initialized: in functions of a program's .preinit_array. NULL: none yet, the loader is at work (IFUNC resolvers).
 */
char **sl_environ(void);
/* Index of @name in it, or -1. */
int sl_env_find(const char *name);

/* How an environment has to be rewritten for a new program. */
struct sl_env_plan {
	struct sl_exec_room *room; /* the caller's; NULL: the program's file is not looked at */
	int cnt;                   /* entries */
	int preload;               /* index of LD_PRELOAD, or -1 */
	bool has_session, has_shim;
	bool is_listed;   /* the loader only lists the program's libraries (ldd) */
	bool is_unloaded; /* its loader must not see this library */
	bool is_untraced; /* all variables are removed: a seccomp filter would kill the traced program */
	char runtime[SL_RUNTIME_BYTES]; /* the library to load first, or "" */
};

/*
 * True if @envp has to be rewritten for @file. An environment that the kernel would refuse is not. Sets file->path to NULL
 * if it cannot be read, and all of @p but its room.
 */
bool sl_env_plan(char *const envp[], struct sl_exec_file *file, struct sl_env_plan *p);
/* Bytes that sl_env_fill() needs. */
size_t sl_env_bytes(char *const envp[], const struct sl_env_plan *p);
/* Makes the environment, in @memory. No allocation: this may be a vfork child. */
char *const *sl_env_fill(char *const envp[], const struct sl_env_plan *p, void *memory);

/* Removes the variables from environ: programs started from now on are not traced. */
void sl_env_untrace(void);
/* Removes the library that was loaded first for this program alone. */
void sl_env_drop_runtime(void);
/* Removes the variables that an exec wrapper added to an environment without them. */
void sl_env_clean(void);
/* Replaces this library's relative path in LD_PRELOAD, completed to @own, by @path: children may start in another directory. */
void sl_env_absolute_preload(const char *own, const char *path);
/* Puts "SIGHTLINE_SESSION=..." into environ, for children that are started without the exec wrappers. */
void sl_env_publish_session(const char *entry);

#pragma GCC visibility pop
