/* beside.h - programs that belong to this one: beside it, as in the folder of a build, or in ../lib/sightline. */
#pragma once

#include <stddef.h>

/* malloc'd path of the program, NULL: there is none. @variable: of the environment, names another one; NULL: none does. */
char *beside_find(const char *name, const char *variable);

/* Starts `sl-gpu` with one argument and waits for its end; its output is this process's. Its status, or -errno. */
int beside_run(const char *path, const char *argument);
