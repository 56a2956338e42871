/*
 * state.h - state of the thread, of the process and of the session, as plain variables that every part of the shim reads.
 *
 * Nothing here has locks: sl_tls belongs to its thread, sl_proc is filled before its cookie is published, and sl_global is
 * written while the process joins a session.
 */
#ifndef SL_STATE_H
#define SL_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/base/compiler.h"
#include "preload/wire/arena.h"
#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/* State of one thread. Plain TLS of a preloaded library: lives and dies with the thread. */
struct sl_tls {
	uint32_t pass;  /* equals the gate while everything here is valid for it, see sl_gate() */
	uint32_t epoch; /* of the session when the totals began */
	uint64_t
		cookie; /* equals sl_proc.cookie while this thread is set up; change: sl_set_cookie() */
	uint64_t *cur, *end;       /* where the next record goes; end of the chunk */
	struct sl_chunk *chunk;    /* the chunk being written */
	struct sl_agg *agg;        /* by hook */
	uint64_t threshold;        /* ticks */
	uint64_t file_threshold;   /* ticks, for calls on files: 0 with --osrt-file-access */
	uint64_t signal_threshold; /* ticks, for calls that wake other threads */
	uint64_t long_ticks;  /* calls as long as this take the slow path: stack_ticks, or 2^32 */
	uint64_t stack_ticks; /* such calls of the OS runtime get a stack; UINT64_MAX: none do */
	uint32_t depth;       /* traced calls that this thread is inside of; with SL_DEPTH_MONO */
	uint32_t busy;     /* enum sl_busy: our own code runs, a signal handler must not enter it */
	char *outer_frame; /* canonical frame address of the outermost of them */
	struct sl_slot *slot;
	uint32_t
		gpu_inside; /* families of GPU libraries that this thread is inside of (gpu_entry.c) */
	uint32_t dropping; /* the ring was full and waiting did not help; reset by the next chunk */
	uint32_t vfork_pid;        /* who called vfork, see hook.c */
	uint32_t vfork_restricted; /* as sl_global.restricted, of its child alone */
	const char *taking;        /* a stack is being taken in this frame (stack.c) */
	uint32_t
		codes_due; /* code objects of Python that this thread has met and not told (stack.c) */
	uint64_t saved_cookie;    /* cookie to go back to after vfork */
	uint64_t clockless_since; /* ticks: reading a clock faults from then on; 0: it does not */
};
#define SL_NEW_THREAD                                                   \
	{                                                               \
		.pass = (uint32_t)SL_PASS_NONE, .cookie = SL_COOKIE_NEW \
	}
extern __thread struct sl_tls sl_tls __attribute__((tls_model("initial-exec")));

enum sl_busy {
	SL_BUSY_NOT = 0,
	SL_BUSY_WRITING,    /* nobody else may touch the ring */
	SL_BUSY_SETTING_UP, /* gate.c, which writes by sl_meta() */
	SL_BUSY_CLOCKLESS   /* until the thread may read a clock again (clockless.c) */
};

#if defined(__aarch64__)
#define SL_PAGE_MAX 65536
#else
#define SL_PAGE_MAX 4096
#endif

/*
 * State of the process, in a page that the kernel empties in a forked child (MADV_WIPEONFORK): a
 * child is recognised by its zeros however it was made.
 */
struct sl_proc {
	/* Where the session's gate is, from sl_no_gate on; 0: not set up. */
	_Alignas(SL_PAGE_MAX) int64_t gate_at;
	uint64_t cookie; /* SL_COOKIE_*, or a number no thread has before it is set up */
	uint32_t clock_mode;
	uint32_t number; /* process number in the arena */
	uint32_t pid;
	uint32_t parent_number;
	uint32_t announced;  /* the IMAGE record has been written */
	uint32_t thread_cnt; /* threads of this process that have made a traced call so far */
};
extern struct sl_proc sl_proc;

enum {
	SL_COOKIE_NONE = 0, /* process: not set up, or forked since */
	SL_COOKIE_OFF = 1,  /* process: gave up */
	SL_COOKIE_SCAN = 3, /* thread: look at what is loaded first (gpu_bind.c) */
	SL_COOKIE_QUIET =
		4, /* thread: runs the tracer's own companion libraries: nothing is recorded */
	SL_COOKIE_VFORK = 2, /* thread: between vfork and the first call of the parent after it */
	SL_COOKIE_NEW = 5,   /* thread: not set up */
	SL_COOKIE_FIRST = 16,
};

/*
 * The gate: one word that the collector changes and all threads look at. Odd: calls are recorded. A thread whose pass
 * is another number first follows it (gate.c): so one comparison finds everything that is unusual, and the lowest bit
 * tells whether to record. Both are numbers that the session's gate never takes.
 */
enum {
	SL_PASS_NONE = (int)0x80000000, /* of threads that have something to sort out first */
	SL_NO_GATE = (int)0x80000001,   /* where there is no session, or none yet */
};
extern const volatile uint32_t sl_no_gate;

/* The session's control page is mapped here, over zeros: to read the gate is one instruction. */
struct sl_control {
	_Alignas(SL_PAGE_MAX) struct sl_session session;
};
extern struct sl_control sl_control;

SL_HOT uint32_t sl_gate(void)
{
	return __atomic_load_n(
		(const uint32_t *)((uintptr_t)&sl_no_gate + (uintptr_t)sl_proc.gate_at),
		__ATOMIC_RELAXED);
}

/* Returns what it was. The next call looks at what the change means. */
SL_HOT uint64_t sl_set_cookie(uint64_t cookie)
{
	uint64_t was = sl_tls.cookie;

	sl_tls.cookie = cookie;
	sl_tls.pass = (uint32_t)SL_PASS_NONE;
	return was;
}

enum sl_restricted {
	SL_UNRESTRICTED,
	SL_RESTRICTED,        /* a seccomp filter was installed: no system calls of our own */
	SL_RESTRICTED_DEADLY, /* it would kill a program that is traced from its start */
	SL_RESTRICTED_BLIND, /* and for asking which process this is: vfork() and its child are not told apart */
};

struct sl_global {
	struct sl_arena *arena;
	const struct sl_session *session;
	uint64_t last_cookie;
	uint32_t period;          /* the gate for which the table of descriptors was begun */
	uint32_t root;            /* this process started the session (bare preload) */
	uint32_t number;          /* this process in the arena */
	uint32_t pid, parent_pid; /* of this process; of its parent, where we saw it fork */
	uint32_t restricted;      /* enum sl_restricted */
	uint32_t
		private_pid_ns; /* children may live in another PID namespace: they need own arenas */
	uint64_t clockless_since; /* of the last thread that lost its clock; 0: none has */
	uint32_t cond_wrefs_at;   /* offset of the waiters' count in pthread_cond_t; 0 unknown */
	const char *path;         /* of this library, absolute: what exec puts into LD_PRELOAD */
	char session_env[sizeof(SL_SESSION_ENV) + 200]; /* "SIGHTLINE_SESSION=..." */
};
extern struct sl_global sl_global;

#pragma GCC visibility pop
#endif
