/*
 * ended.h - processes that a signal has ended: a diagnostic each, which names the kernel's OOM killer where it is the cause.
 *
 * The kernel has one count of the processes that it has ended for want of memory, of the machine or of a cgroup. It sends
 * SIGKILL, as others do: where that count has grown since the last look, it is the cause, or another process's.
 */
#pragma once

#include <stdint.h>

struct db;
struct proc;

/* OOM kills so far; -1: not known. */
int64_t ended_oom_kills(void);
/* @p has ended at @ns with wait status @status. @oom_kills: the count when it was last looked at. */
void ended_note(struct db *db, const struct proc *p, int64_t ns, int status, int64_t *oom_kills);
