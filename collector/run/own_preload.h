/* own_preload.h - libraries that LD_PRELOAD puts into the command itself. */
#pragma once

#include <stdbool.h>

/*
 * Leaves the libraries that LD_PRELOAD has put into this process, by executing this program once more without the variable: they
 * are for the program to be traced, and may change sockets, memory or files in ways in which nothing can be recorded. LD_PRELOAD
 * has its value again in the environment that the traced program gets. Returns where there is nothing to leave, or a library
 * insists: one that has the variable put back by its own execve(). To be called first in main(), with its arguments.
 */
void own_preload_leave(char **argv);

/* Whether the command leaves the libraries of LD_PRELOAD's value @list; NULL: there is none. Not libtrace.so: it traces the command. */
bool own_preload_is_foreign(const char *list);
