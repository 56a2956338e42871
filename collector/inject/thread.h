/*
 * thread.h - the choice of a thread that may be interrupted for a call: one that can hold no lock, and be in the middle of no
 * change, of the C library's allocator and loader.
 */
#pragma once

#include "collector/inject/subject.h"

enum thread_rank {
	THREAD_NEVER, /* where it waits it may be inside of the allocator or the loader */
	THREAD_RUNS,  /* the place where it is stopped decides */
	THREAD_REPEATS, /* in a call that ends with EINTR when it is interrupted, and is made again with its full time */
	THREAD_CONTINUES, /* in a call that the kernel continues as if nothing had been */
};

/* Of a thread in system call @nr with these arguments. */
enum thread_rank thread_rank_of(pid_t pid, int64_t nr, const uint64_t args[6]);

/* The best thread of the process that is not in @tried (of @tried_cnt); 0: none. @least: worse ones are not taken. */
pid_t thread_choose(pid_t pid, enum thread_rank least, const pid_t *tried, size_t tried_cnt);

/* Registers of a stopped thread, as far as they decide. */
struct thread_at {
	uint64_t pc, sp;
	uint64_t
		fs_base; /* where its control block is: at the top of its stack, but for the first thread */
	int64_t nr; /* system call, -1: none */
	uint64_t args[6];
	bool is_first;
};

/* Whether a call may be put onto the stack of the stopped thread. *@why: what forbids it, for a message. */
bool thread_is_safe(const struct subject *t, const struct thread_at *at, const char **why);

#define THREAD_STACK 32768u /* bytes that must be free below its stack pointer */
