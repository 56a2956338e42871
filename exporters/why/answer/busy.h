/*
 * busy.h - the processes that work while the root process waits for them: launchers (mpirun, torchrun, make), masters with workers,
 * shells with children in the background. Their main thread shows nothing of the work.
 */
#pragma once

#include "exporters/why/walk/walk.h"

#define WHY_BUSY_SHOWN 8

struct why_busy_process {
	uint32_t process, thread; /* the thread with most time on a CPU */
	int64_t run, ready;       /* ns of all threads, on a CPU and without one that could run */
	int64_t last;             /* when it last had a CPU, or could have used one */
	uint32_t
		wait; /* the reason of its thread's waits with most time; WHY_NO_CPU: it does not wait */
	int64_t wait_ns;
};

struct why_busy {
	WHY_LIST(why_busy_process, list); /* most time on a CPU first; without the root */
	int64_t idle,
		work; /* ns of the root's answer: waits for nothing recorded; all else, but for waits for a CPU */
	int64_t asks;  /* of idle: waits of the root's thread itself */
	bool is_moved; /* the focus is that of a process in the list */
	uint32_t tail; /* the process that worked alone at the end; WHY_NONE: none did */
	int64_t tail_ns;
};

struct why;

/* Sums of the processes; after the walk from the root. SQLite's result code. */
int why_find_busy(struct why_busy *b, struct why *y);
/* The process to be explained instead of the root; WHY_NONE: the root's answer is about the work. */
uint32_t why_busy_focus(const struct why_busy *b, struct why *y);
/* The reason of the waits with most time of each process in the list. */
void why_busy_waits(struct why_busy *b, struct why *y);
void why_busy_free(struct why_busy *b);
