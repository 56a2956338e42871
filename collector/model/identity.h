/*
 * identity.h - which process an image of an arena is: decided here, for all.
 *
 * The contents of a ring are a claim: its ids are those of the process's own PID namespace, and it
 * may lie. A process is one that the kernel names: the sender of a hello, a descendant in its
 * events, a process that is found in /proc. Only a process that these show to be a descendant of
 * the root is in the tree, which is waited for and signalled; a process that has sent a hello of
 * its own is waited for. Any other process is a guest: it has only rows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/model/arena.h"

/*
 * Numbers from here on are no pids (the kernel's end at 4194304): processes of another PID namespace that ended before
 * their pid was found.
 */
#define IDENTITY_UNKNOWN 0x800000u

/* A slot's claim, copied out of shared memory. */
struct claim {
	uint32_t number, parent; /* process numbers in the arena */
	uint32_t pid;            /* as the process sees it */
	bool is_namespaced;      /* not in the collector's PID namespace */
	uint64_t born;           /* ticks */
};

/* A forked process sent its hello: the kernel names it @f->pid; number, ns_pid and pid_ns are its own words. */
void identity_note(struct arenas *as, struct arena *a, const struct forked *f);
/*
 * The image with this number; made when first seen. NULL: the claim makes no sense, or (*is_early) its process is known
 * only after the connections that wait, or the kernel's events of that time, have been read.
 */
struct image *identity_image(struct arenas *as, struct arena *a, const struct claim *claim,
			     bool *is_early);
/* The collector's view of thread @ns_tid of the image's process. */
uint32_t identity_thread(const struct image *im, uint32_t ns_tid);
/* Likewise, of the image's parent, which it calls @ns_ppid. 0: not known. */
uint32_t identity_parent(const struct arenas *as, const struct image *im, uint32_t ns_ppid);

/* The first process of the tree. */
void identity_root(struct model *m, uint32_t pid, int64_t now_ns);
/* Does /proc show a way from @pid up to a process of the tree? */
bool identity_descends(struct model *m, uint32_t pid);
/* Signals the process, if it still is the one that was in the tree. */
void identity_signal(struct model *m, const struct proc *p, int sig);
