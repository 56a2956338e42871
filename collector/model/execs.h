/*
 * execs.h - execs of a process that the kernel (or the caller) announced, the oldest first. Each becomes an image without
 * the shim, unless a traced image appears.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/model/model.h"

struct exec {
	struct exec *next;
	int64_t ns;
	char *exe, *command; /* NULL unknown */
};

/* Takes @exe and @command over, which are malloc'd or NULL. A second exec of the same time replaces the first. */
void execs_add(struct proc *p, int64_t ns, char *exe, char *command);
/* Are there @cnt of them, at least, up to @ns? */
bool execs_are_before(const struct proc *p, int64_t ns, unsigned cnt);
/* The oldest, which is there; the caller's from here on. */
struct exec *execs_take(struct proc *p);
void exec_free(struct exec *e);
void execs_forget(struct proc *p);
