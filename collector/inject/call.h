/*
 * call.h - calls functions on a stopped thread of another process (ptrace).
 *
 * Before the first call a frame as of a signal is put onto the thread's stack: its registers, with the state of the processor's
 * extensions, and its mask of signals. Each call returns into libc's return from a handler, which has the kernel restore all of that.
 * So wherever this process is killed, the thread goes on by itself, and ends where it was. Where this process lives, the thread
 * gets its exact state back, that of an interrupted system call, too.
 */
#pragma once

#include "collector/inject/subject.h"
#include "collector/inject/thread.h"

#ifdef __x86_64__
#include <sys/user.h>

#define CALL_STATE_MAX 16384u

struct call {
	const struct subject *subject;
	pid_t tid;
	struct user_regs_struct saved;     /* as it was stopped */
	struct user_regs_struct restarted; /* the same, as it goes on without the kernel's help */
	uint8_t *state;                    /* of the processor's extensions (NT_X86_XSTATE) */
	size_t state_len;
	uint64_t mask;        /* its signals that are blocked */
	uint64_t frame;       /* 0: not on the stack yet */
	int64_t begun, until; /* CLOCK_MONOTONIC, ns: when it was stopped; has to go on */
	int64_t stopped_ns;   /* after the end */
};

enum call_result {
	CALL_DONE,
	CALL_NOT_SAFE,      /* another thread or moment may be */
	CALL_GONE,          /* the thread has ended */
	CALL_NOT_PERMITTED, /* errno has the reason */
	CALL_LATE,          /* it was let go before it was done, and goes on by itself */
	CALL_FAULT,         /* the called function faulted; the thread was put back */
};

/* Stops thread @tid for @limit_ns at most; *@why of CALL_NOT_SAFE. Only after CALL_DONE may anything else be called. */
enum call_result call_begin(struct call *c, const struct subject *t, pid_t tid, int64_t limit_ns,
			    const char **why);
/*
 * Calls the function at @address. *@result: that of its last system call. After anything but CALL_DONE the thread runs again, and
 * nothing may be called.
 */
enum call_result call_run(struct call *c, uint64_t address, const uint64_t args[6],
			  int64_t *result);
/* After CALL_DONE of call_begin(), in place of all else: lets the thread go on as it was stopped. */
void call_cancel(struct call *c);
/* Writes code into a page of the process that it may not write itself. */
bool call_write_code(const struct call *c, uint64_t address, const void *code, size_t bytes);
/* Puts the thread back and lets it go. */
enum call_result call_end(struct call *c);
#endif
