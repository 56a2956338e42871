/*
 * sched.h - context switches and the process tree as the kernel sees them.
 *
 * Two backends behind one interface: eBPF (sched_bpf.c, bpf/ctxsw.bpf.c) and perf_event_open
 * (sched_perf.c); sched.c picks the best that works and reports the reason. Times are CLOCK_MONOTONIC ns.
 * Ids are those of the collector's PID namespace; tasks outside it have pid 0.
 *
 * The rows of one thread strictly alternate, beginning with an in, and a thread that ends while it is
 * watched ends with an out of state TERMINATED. Where alternation needs it, a lost row is replaced by one
 * with state UNKNOWN, preempted and priority -1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/options/event_scope.h"

struct event_source;

extern const struct event_source sched_source;

/* Records are stamped a moment before they can be read: nothing younger than this is handed over. */
#define SCHED_SETTLE_NS 1000000

enum sched_backend {
	SCHED_BACKEND_NONE,
	SCHED_BACKEND_PERF,
	SCHED_BACKEND_BPF
};

/* Values of ENUM_SAMPLING_THREAD_STATE, for out rows. */
enum {
	SCHED_STATE_UNKNOWN = 0,
	SCHED_STATE_RUNNING = 1,
	SCHED_STATE_INTERRUPTIBLE = 2,
	SCHED_STATE_UNINTERRUPTIBLE = 3,
	SCHED_STATE_STOPPED = 4,
	SCHED_STATE_TERMINATED = 5
};

/* One side of a switch: a thread leaves or enters a CPU. */
struct sched_switch {
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t pid, tid; /* process (tgid) and thread */
	bool is_in;
	uint8_t state; /* out: SCHED_STATE_*, RUNNING when preempted; perf: UNKNOWN when blocked */
	int8_t preempted; /* out: 1 still runnable (preempted, or sched_yield), 0 blocked, -1 unknown */
	int priority;     /* kernel prio (120 = nice 0), -1 unknown */
	uint64_t
		wakeup_ns; /* in: when it was made runnable, 0 unknown or not needed; it may lie just
	                          before the thread's own last out, when the waker was faster */
	uint32_t waker_pid, waker_tid; /* in: the waking thread, 0 unknown or interrupt */
};

/* A system call that has returned. */
struct sched_call {
	uint64_t start_ns, end_ns;
	uint32_t pid, tid;
	unsigned number;
	bool is_compat; /* by a 32-bit program: the number is of that table */
	int64_t result; /* -errno where it failed */
};

/* Calls of one thread and number that were shorter than the threshold, since the last such sum. */
struct sched_call_sum {
	uint32_t pid, tid;
	unsigned number;
	bool is_compat;
	uint64_t count, total_ns, min_ns, max_ns, errors;
};

/* Executable and arguments of an exec; NULL: unknown, as with perf. */
struct sched_exec {
	const char *path; /* the program's, or its script's interpreter's, as it was called */
	const char *args; /* arguments, each with its NUL, cut behind SCHED_ARGS_MOST bytes */
	size_t args_len;
	bool is_hidden; /* the user may not trace it: nothing but its life is recorded until its next exec */
};
#define SCHED_ARGS_MOST 2047u

/* Any callback may be NULL. */
struct sched_ops {
	void (*on_call)(void *ctx, const struct sched_call *call);
	void (*on_call_sum)(void *ctx, const struct sched_call_sum *sum);
	void (*on_switch)(void *ctx, const struct sched_switch *sw);
	void (*on_fork)(void *ctx, uint64_t ns, uint32_t parent_pid, uint32_t parent_tid,
			uint32_t pid, uint32_t tid);
	/* comm after exec (else @exec is NULL) or rename, and of each thread when it is first heard of */
	void (*on_comm)(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, const char *comm,
			const struct sched_exec *exec);
	/* exit_code: wait status of the process, with its last thread; else, and always from perf, -1 */
	void (*on_exit)(void *ctx, uint64_t ns, uint32_t pid, uint32_t tid, int exit_code);
};

struct sched;

/* Kinds of events wanted beside the lives of processes. */
struct sched_ask {
	enum sched_mode mode;        /* scope of context switches; NONE: no switches */
	enum sched_backend want;     /* highest backend to try (SCHED_BACKEND_BPF normally) */
	bool calls;                  /* system calls of the tree: needs eBPF */
	bool lives;                  /* the lives of processes, though nothing else is asked */
	uint64_t calls_threshold_ns; /* shorter ones are added up */
};

/*
 * Starts watching. SCHED_MODE_TREE: nothing until sched_follow(). @why gets one sentence whenever the backend is not
 * BPF (also when it is NONE), and the reason why system calls are unavailable. Returns NULL only for backend NONE.
 */
struct sched *sched_open_for(const struct sched_ask *ask, char *why, size_t why_len);
/*
 * The same in a thread of its own, while the caller does something else: 8 ms of the kernel's. NULL: there is no thread.
 * sched_open_end(): as sched_open_for(), once.
 */
struct sched_opening;
struct sched_opening *sched_open_begin(const struct sched_ask *ask);
struct sched *sched_open_end(struct sched_opening *o, char *why, size_t why_len);
bool sched_has_calls(const struct sched *s);
/* System calls lost so far (total, monotonic). */
uint64_t sched_calls_lost(const struct sched *s);
/* "read"; of a number that the kernel's headers did not know at build time "syscall_500". */
const char *sched_call_name(unsigned number, bool is_compat, char buffer[32]);

enum sched_backend sched_backend(const struct sched *s);

/*
 * Adds the process @pid, with all its threads, and its later threads and children. No event is
 * missed when it has one thread and waits (before exec). 0 or -errno (-ESRCH: no such process).
 * Raises the soft RLIMIT_NOFILE if perf needs it: start processes that should not inherit the limit
 * before.
 */
int sched_follow(struct sched *s, pid_t pid);

/*
 * Hands over events older than a millisecond (after sched_stop(): all events), in order of time
 * over all CPUs. To be called before sched_fill() nears 100. Returns events handled.
 */
int sched_poll(struct sched *s, const struct sched_ops *ops, void *ctx);

/*
 * Nothing is recorded between pause and resume, and with eBPF nothing is sent either; only the tree (fork, exec, exit)
 * is followed. @ns: CLOCK_MONOTONIC, when calls stopped or began to be recorded: rows lie within, exactly. A thread
 * that is running then gets an out or an in of that time, with state UNKNOWN, preempted -1. Both are idempotent.
 * A fork of the caller must call sched_close() at once: the kernel detaches with the last descriptor only.
 */
void sched_pause(struct sched *s, uint64_t ns);
void sched_resume(struct sched *s, uint64_t ns);

/*
 * Sums of a thread's events handed over since the last call, for live.h. A thread that still runs,
 * or waits, has done so since @since_ns.
 */
struct sched_sum {
	uint32_t pid, tid;
	uint32_t switches;
	uint64_t cpu_ns, off_ns, since_ns;
	bool is_on, is_over;
};
typedef void sched_sum_fn(void *ctx, const struct sched_sum *sum);
void sched_sums(struct sched *s, sched_sum_fn *fn, void *ctx); /* @fn NULL: forgets it */

/*
 * Reports follow each other: events later than @ns (UINT64_MAX: none) stay in the rings until their
 * report is there. And whether all up to @ns has been handed over; up to when.
 */
void sched_limit(struct sched *s, uint64_t ns);
bool sched_has_told(const struct sched *s, uint64_t ns);
uint64_t sched_told(const struct sched *s);

#define SCHED_INITIAL_PID_NS \
	0xEFFFFFFCu /* inode of the initial PID namespace, fixed in the kernel */

struct ctxsw_offsets;

/* Maps of eBPF, for other programs that look at the same threads and switches (sample_offcpu.c). */
struct sched_maps {
	int flags, rings, switches; /* descriptors */
	unsigned slots;             /* of each ring */
	bool has_switches;
	const struct ctxsw_offsets *offsets; /* of the kernel's structs */
};
/* False: there are none. */
bool sched_maps(const struct sched *s, struct sched_maps *maps);

/* Fill level of the fullest kernel buffer, in per cent: bounds how long the next poll can wait. */
unsigned sched_fill(const struct sched *s);

/* Rows and events lost so far (total, monotonic). */
uint64_t sched_lost(const struct sched *s);

/* Stops the flow of events; events recorded until now can still be polled. */
void sched_stop(struct sched *s);
void sched_close(struct sched *s);

/* For `status -e`: does this backend work here? 0, or -errno and a sentence plus, in @fix, the command that would enable it. */
int sched_probe(enum sched_backend backend, char *why, size_t why_len, char *fix, size_t fix_len);

/* SCHED_STATE_* of the kernel's bits. */
uint8_t sched_state(uint32_t bits);
