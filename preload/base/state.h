/*
 * state.h - state of the thread, of the process and of the session, in plain variables that every part of the shim reads.
 *
 * Nothing here has locks: sl_tls belongs to its thread, sl_proc is filled before its cookie is published, and sl_global is
 * written while the process joins a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload/base/compiler.h"
#include "preload/wire/arena.h"
#include "preload/wire/session.h"

#pragma GCC visibility push(hidden)

/* State of one thread, in plain TLS. */
struct sl_tls {
	uint32_t
		gate; /* the session's gate as this thread has followed it (gate.c), or SL_GATE_STALE */
	uint32_t epoch; /* the report that the totals belong to */
	/* Equals sl_proc.cookie while this thread is set up. Changed by sl_set_cookie(). */
	uint64_t cookie;
	uint64_t *cur, *end;         /* place of the next record; end of the chunk */
	struct sl_chunk *chunk;      /* the chunk being written */
	struct sl_agg *agg;          /* totals by hook */
	struct sl_file_total *files; /* totals by file */
	uint32_t file_mask;          /* the number of their places - 1 */
	uint64_t threshold;          /* ticks */
	uint64_t file_threshold;     /* ticks, for calls on files: 0 with --osrt-file-access */
	uint64_t signal_threshold;   /* ticks, for calls that wake other threads */
	uint64_t long_ticks;  /* longer calls take the slow path: stack_ticks, at most 2^32 */
	uint64_t stack_ticks; /* longer calls of the OS runtime get a stack; UINT64_MAX: none */
	union {
		struct {
			uint32_t depth; /* nested traced calls of this thread; with SL_DEPTH_MONO */
			uint32_t busy;  /* enum sl_busy: signal handlers must not enter the shim */
		};
		uint64_t inside; /* both in one load */
	};
	char *outer_frame; /* canonical frame address of the outermost traced call */
	struct sl_slot *slot;
	struct sl_thread_room *room; /* NULL: none yet (thread_room.h) */
	uint32_t
		gpu_inside; /* families of GPU libraries whose calls are in progress (gpu_entry.c) */
	char *counted_frame; /* of a call that is counted and not recorded (gpu_entry.c); NULL: none */
	uint32_t dropping;      /* the ring was full in spite of waiting; reset by the next chunk */
	uint32_t vfork_pid;     /* the caller of vfork (gate.c) */
	uint32_t vfork_seccomp; /* as sl_global.seccomp, of the vfork child alone */
	const char *taking;     /* frame in which a stack is being taken (stack.c) */
	uint32_t
		codes_due; /* Python code objects of this thread's stacks are not recorded yet (stack.c) */
	uint64_t saved_cookie;    /* restored after vfork or a scan */
	uint64_t clockless_since; /* ticks from which on reading a clock faults; 0: it does not */
};
#define SL_NEW_THREAD                                                    \
	{                                                                \
		.gate = (uint32_t)SL_GATE_STALE, .cookie = SL_COOKIE_NEW \
	}
extern __thread struct sl_tls sl_tls __attribute__((tls_model("initial-exec")));

/* sl_tls.inside in an outermost traced call: depth 1, SL_BUSY_NOT, on processors of either byte order. */
#define SL_INSIDE_OUTERMOST \
	(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? UINT64_C(1) : UINT64_C(1) << 32)

enum sl_busy {
	SL_BUSY_NOT = 0,
	SL_BUSY_WRITING,    /* a record is being written */
	SL_BUSY_SETTING_UP, /* in gate.c, which may write by sl_meta() */
	SL_BUSY_CLOCKLESS   /* until the thread may read a clock again (clockless.c) */
};

#if defined(__aarch64__)
#define SL_PAGE_MAX 65536
#else
#define SL_PAGE_MAX 4096
#endif

/*
 * State of the process, in a page that the kernel clears in a forked child (MADV_WIPEONFORK): a
 * child is recognized by zeros, whatever call created it.
 */
struct sl_proc {
	/* Address of the session's gate relative to sl_no_gate; 0: not set up. */
	_Alignas(SL_PAGE_MAX) int64_t gate_at;
	uint64_t cookie; /* SL_COOKIE_*, or a number unequal to that of threads not set up */
	uint32_t clock_mode;
	uint32_t number; /* process number in the arena */
	uint32_t pid;
	uint32_t parent_number;
	uint32_t announced;  /* the IMAGE record has been written */
	uint32_t thread_cnt; /* threads that have made a traced call */
};
extern struct sl_proc sl_proc;

enum {
	SL_COOKIE_NONE = 0, /* process: not set up, or forked since */
	SL_COOKIE_OFF = 1,  /* process: not traced */
	SL_COOKIE_SCAN = 3, /* thread: scans for loaded objects first (gate.c) */
	SL_COOKIE_QUIET =
		4, /* thread: runs libtrace-cuda.so or CUPTI: its calls are not recorded */
	SL_COOKIE_VFORK = 2, /* thread: between vfork and the first call of the parent after it */
	SL_COOKIE_NEW = 5,   /* thread: not set up */
	SL_COOKIE_FIRST = 16,
};

/*
 * The gate: one word that the collector changes and all threads read. Odd: calls are recorded. A thread whose sl_tls.gate
 * differs calls sl_sync() first (gate.c): one comparison detects all rare states. The session's gate never takes these
 * values.
 */
enum {
	SL_GATE_STALE = (int)0x80000000, /* in sl_tls: sl_sync() is due */
	SL_GATE_NONE = (int)0x80000001,  /* without a session */
};
extern const volatile uint32_t sl_no_gate;

/* The session's control page is mapped here, at a fixed address: one instruction reads the gate. */
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

/* Returns the previous cookie. The next traced call runs sl_sync(). */
SL_HOT uint64_t sl_set_cookie(uint64_t cookie)
{
	uint64_t was = sl_tls.cookie;

	sl_tls.cookie = cookie;
	sl_tls.gate = (uint32_t)SL_GATE_STALE;
	return was;
}

/* Seccomp filters of the program, by their effect on the shim; each level includes those before. */
enum sl_seccomp {
	SL_SECCOMP_NONE,
	SL_SECCOMP_FILTER,      /* a filter is installed: the shim makes no system calls */
	SL_SECCOMP_KILLS_START, /* it would kill a traced program at its start */
	SL_SECCOMP_KILLS_GETPID, /* it kills for getpid: a vfork child cannot be distinguished from its parent */
};

/* State of the process that a forked child inherits. */
struct sl_global {
	struct sl_arena *arena;
	const struct sl_session *session;
	uint64_t last_cookie;
	uint32_t period;          /* the gate for which the table of descriptors is valid */
	uint32_t root;            /* this process started the session (bare preload) */
	uint32_t number;          /* this process in the arena */
	uint32_t pid, parent_pid; /* of this process; of its parent, if its fork was recorded */
	uint32_t seccomp;         /* enum sl_seccomp */
	uint32_t
		private_pid_ns; /* this process or its children may be in another PID namespace than the collector */
	uint64_t clockless_since; /* of the last thread that lost its clock; 0: none */
	uint32_t cond_wrefs_at;   /* offset of the waiters' count in pthread_cond_t; 0 unknown */
	uint32_t
		is_opaque; /* libc's objects are not read: another libc, or Valgrind checks for races */
	uint32_t is_foreign; /* another libc than glibc: no stacks */
	const char *path;    /* of this library, absolute, for LD_PRELOAD */
	char session_env[sizeof(SL_SESSION_ENV) + 200]; /* "SIGHTLINE_SESSION=..." */
};
extern struct sl_global sl_global;

#pragma GCC visibility pop
