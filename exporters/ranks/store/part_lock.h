/*
 * part_lock.h - the lock of a part of a dataset: a writer holds it from its first file on until all are in place, a reader while it
 * puts files in place or looks at them. A process that dies leaves it. Where the file system has no locks, nothing is locked.
 */
#pragma once

#include <stdbool.h>

enum part_lock_kind {
	PART_READ,  /* with other readers; where a writer has it: -EAGAIN */
	PART_WRITE, /* alone; waits for the others */
};

/* A descriptor, for part_unlock(). -EAGAIN: a writer is at work. -ENOLCK: there is no lock here, as without rights to write. */
int part_lock(const char *folder, const char *run, const char *node, enum part_lock_kind kind);
/* The same in the open folder "_nodes/run=RUN"; below 0: there is none. */
int part_lock_in(int dir, const char *node, enum part_lock_kind kind);
/* @fd below 0: nothing. */
void part_unlock(int fd);
