/* seccomp.h - whether the seccomp filters of a process let it do what a library that is brought into it does. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Filters are read by a tracer with CAP_SYS_ADMIN that has none itself. */
bool seccomp_can_be_read(void);
/* Whether all threads of the process have the same number of filters: they inherit them, or are given one together. */
bool seccomp_is_the_same(pid_t pid);

/*
 * What @filter, one of those of a thread, forbids of the calls that are needed: the name of the first one, NULL: nothing. Errors are no
 * obstacle where a call may fail; signals, tracers and supervisors are.
 */
const char *seccomp_forbids(const struct sock_filter *filter, unsigned cnt);
/* All filters of the stopped thread @tid. 0; -ENOTSUP and a sentence that begins with "process PID". */
int seccomp_look(pid_t pid, pid_t tid, char *why, size_t why_len);
