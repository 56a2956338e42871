/* thread_call.h - what a thread does in the kernel, as /proc shows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {                     /* in place of the number of a call */
	CALL_STOPPED = -1, /* by a signal */
	CALL_NONE = -2,    /* it waits outside of a call, as for a page */
	CALL_RUNS = -3,    /* it runs, or waits for a CPU */
};

struct thread_call {
	uint32_t pid, tid;
	long number;                        /* of the system call */
	unsigned long long args[3], sp, pc; /* sp, pc: 0 where it runs */
	char state;                         /* letter of the kernel */
	uint64_t
		switches; /* context switches: the same number later means that it has not run meanwhile */
};

/* Reads a file of the thread's folder in /proc, up to @len - 1 bytes. False: it is empty, or cannot be read (errno). */
bool thread_read(char *line, size_t len, const char *name, uint32_t pid, uint32_t tid);
/* Of @c->pid, @c->tid. False: the thread has ended, or may not be looked at. */
bool thread_call_read(struct thread_call *c);
/* Call, sp and pc by the text of /proc/PID/task/TID/syscall. */
void thread_call_parse(struct thread_call *c, const char *text);
/* Is it in the same call at the same place of the program? */
bool thread_call_is_same(const struct thread_call *a, const struct thread_call *b);
/* Is the thread still in that call, or stopped, at the same place? A third of what thread_call_read() costs. */
bool thread_call_goes_on(const struct thread_call *c);
/* The descriptor that the call waits for; -1: none, or several. */
int64_t thread_call_descriptor(const struct thread_call *c);
/* Does the poll for that descriptor end by itself? */
bool thread_call_has_limit(const struct thread_call *c);
/* Does it wait to read from that descriptor, and not to write? */
bool thread_call_reads(const struct thread_call *c);
