/*
 * hook.h - the hot path: what every wrapper does before and after the real call.
 *
 * The rules, easy to break:
 *  - No locks, no allocation, no libc calls, no system calls on the inline paths. The slow paths
 *    (hook.c) use system calls made directly.
 *  - errno is the program's: read on failure, never written.
 *  - A signal handler may interrupt anything here and call wrappers itself. While `busy` is set it
 *    only counts (sl_slot.nested_cnt) and passes through.
 *  - The process may have forked since this thread's state was set up, or this may be a vfork child
 *    that shares our memory, or recording was begun or ended: `pass` differs then from the gate and
 *    the slow path sorts it out (gate.c).
 *  - Publish before returning: after sl_commit() a SIGKILL loses nothing.
 */
#ifndef SL_HOOK_H
#define SL_HOOK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/wire/clock.h"
#include "preload/wire/hooks.h"
#include "preload/wire/session.h"

#define SL_EXPORT __attribute__((visibility("default")))
/* The path of every call: gcc alone would share these between hundreds of wrappers. */
#define SL_HOT         static inline __attribute__((always_inline))
#define SL_COLD        __attribute__((cold, noinline))
#define sl_likely(x)   __builtin_expect(!!(x), 1)
#define sl_unlikely(x) __builtin_expect(!!(x), 0)

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
	uint64_t saved_cookie; /* cookie to go back to after vfork */
};
extern __thread struct sl_tls sl_tls __attribute__((tls_model("initial-exec")));

enum sl_busy {
	SL_BUSY_NOT = 0,
	SL_BUSY_WRITING,   /* nobody else may touch the ring */
	SL_BUSY_SETTING_UP /* gate.c, which writes by sl_meta() */
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

/* Follows the gate; returns it as this thread knows it then, or SL_PASS_NONE: nothing may be written now. */
SL_COLD uint32_t sl_sync(void);

/* May this thread write records that are not for the gate to stop (names, images, NVTX)? */
SL_HOT bool sl_ready(void)
{
	return sl_likely(sl_tls.pass == sl_gate()) || sl_sync() != (uint32_t)SL_PASS_NONE;
}

/*
 * The first question of wrappers that cost little: nothing is recorded, and there is nothing to sort out. As sl_gate(),
 * but with the word read once: a forked child shows by the page that is empty.
 */
SL_HOT bool sl_is_closed(void)
{
	uint32_t gate = __atomic_load_n(&sl_control.session.gate, __ATOMIC_RELAXED);

	return sl_unlikely(!(gate & 1)) && sl_tls.pass == gate && sl_proc.gate_at;
}

/* Returns what it was. The next call looks at what the change means. */
SL_HOT uint64_t sl_set_cookie(uint64_t cookie)
{
	uint64_t was = sl_tls.cookie;

	sl_tls.cookie = cookie;
	sl_tls.pass = (uint32_t)SL_PASS_NONE;
	return was;
}

/* The real functions, in the order of enum sl_hook; NULL until resolved (resolve.c). */
extern void *sl_real[SL_HOOK_CNT];
void *sl_resolve(enum sl_hook hook); /* slow: NULL when no such function exists */
void sl_resolve_all(void);

SL_HOT void *sl_get_real(enum sl_hook hook)
{
	void *p = sl_real[hook];

	return sl_likely(p) ? p : sl_resolve(hook);
}

SL_HOT uint64_t sl_ticks(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	if (sl_likely(sl_proc.clock_mode == SL_CLOCK_TSC))
		return sl_counter();
#endif
	return sl_mono_ns();
}

/* In a depth: the counter cannot be used. So one test of the depth finds both rare cases. */
#define SL_DEPTH_MONO 0x80000000u

/* What a wrapper keeps across the real call. */
struct sl_call {
	uint64_t start, duration; /* ticks */
	uint32_t depth;           /* of the calls around it; with SL_DEPTH_MONO */
};

/* The rest of sl_enter() inside another call, or without the counter. @frame: of the wrapper. */
SL_COLD uint64_t sl_enter_nested(char *frame);

/* Right after the real call. */
SL_HOT void sl_stop(struct sl_call *call)
{
	uint64_t now = sl_likely(!(call->depth & SL_DEPTH_MONO)) ? sl_counter() : sl_mono_ns();

	call->duration = now - call->start;
	sl_tls.depth = call->depth;
}

/* The call begins now. */
SL_HOT void sl_begin(struct sl_call *call)
{
	if (sl_unlikely(sl_tls.depth)) {
		call->start = sl_enter_nested(__builtin_dwarf_cfa());
		call->depth = sl_tls.depth - 1;
		return;
	}
	sl_tls.outer_frame = __builtin_dwarf_cfa();
	sl_tls.depth = 1;
	call->depth = 0;
	call->start = sl_counter();
}

/* False: pass the call through and record nothing. */
SL_HOT bool sl_enter(struct sl_call *call)
{
	uint32_t gate = sl_gate();

	if (sl_unlikely(sl_tls.pass != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)))
		return false;
	sl_begin(call);
	return true;
}
/* The same where the gate has just been found open (SL_PASSING). */
SL_HOT bool sl_enter_open(struct sl_call *call)
{
	if (sl_unlikely(sl_tls.pass != sl_gate()) && !(sl_sync() & 1))
		return false;
	sl_begin(call);
	return true;
}

/* Nested in our own code, by a signal handler: count it; the record has no place to go. */
SL_COLD void sl_count_nested(void);
/* Room for @words words when the chunk is full, or NULL after counting the loss. */
SL_COLD uint64_t *sl_room_slow(unsigned words, enum sl_hook hook, const struct sl_call *call);
/* The same for what is no loss when there is none. */
SL_COLD uint64_t *sl_room_or_none(unsigned words);

/* The compiler must not move ring writes out of the busy section; the CPU needs no fence for that. */
#define sl_barrier() __asm__ volatile("" ::: "memory")

SL_HOT bool sl_begin_write(void)
{
	if (sl_unlikely(sl_tls.busy)) {
		sl_count_nested();
		return false;
	}
	sl_tls.busy = SL_BUSY_WRITING;
	sl_barrier();
	return true;
}
SL_HOT void sl_end_write(void)
{
	sl_barrier();
	sl_tls.busy = SL_BUSY_NOT;
}

SL_HOT void sl_aggregate(enum sl_hook hook, uint64_t duration, uint64_t bytes, bool failed)
{
	struct sl_agg *a = &sl_tls.agg[hook];

	a->total += duration;
	if (duration < a->min || !a->count)
		a->min = duration;
	if (duration > a->max)
		a->max = duration;
	a->bytes += bytes;
	a->err_count += failed;
	/* Read by the collector at any time: the count is what it trusts, so it comes last. */
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
}

/* True when the call was too short for a record and has been added to the totals instead. */
SL_HOT bool sl_shorter(const struct sl_call *call, enum sl_hook hook, uint64_t threshold,
		       int64_t bytes, bool failed)
{
	if (call->duration >= threshold)
		return false;
	if (sl_begin_write()) {
		sl_aggregate(hook, call->duration, bytes > 0 ? (uint64_t)bytes : 0, failed);
		sl_end_write();
	}
	return true;
}
SL_HOT bool sl_short(const struct sl_call *call, enum sl_hook hook, bool is_file, int64_t bytes,
		     bool failed)
{
	return sl_shorter(call, hook, is_file ? sl_tls.file_threshold : sl_tls.threshold, bytes,
			  failed);
}

/* Writes the two or three words that every record begins with; returns where the payload goes. */
SL_HOT uint64_t *sl_put_head(uint64_t *w, enum sl_hook hook, unsigned words,
			     const struct sl_call *call, unsigned shape, unsigned flags)
{
	unsigned depth = call->depth & ~SL_DEPTH_MONO, level = depth < 7 ? depth : 7;

	w[0] = call->start;
	if (sl_unlikely(call->duration >> 32)) {
		w[1] = (uint64_t)sl_head(hook, words, level, shape, flags | SL_REC_LONG) << 32;
		w[2] = call->duration;
		return w + 3;
	}
	w[1] = call->duration | (uint64_t)sl_head(hook, words, level, shape, flags) << 32;
	return w + 2;
}

/* Release: pairs with the collector's acquire of committed (drain.c). */
SL_HOT void sl_commit(uint64_t *end)
{
	uint32_t bytes = (uint32_t)((char *)end - (char *)sl_tls.chunk->data);

	sl_tls.cur = end;
	__atomic_store_n(&sl_tls.chunk->committed, bytes, __ATOMIC_RELEASE);
}

SL_HOT uint64_t *sl_room(unsigned words, enum sl_hook hook, const struct sl_call *call)
{
	uint64_t *w = sl_tls.cur;

	if (sl_unlikely((size_t)((char *)sl_tls.end - (char *)w) < words * 8u)) {
		struct sl_call copy = *call;

		return sl_room_slow(words, hook, &copy);
	}
	return w;
}

/* The record of a call that is long enough for a stack, or that seven others are around. */
SL_COLD void sl_record_long(const struct sl_call *call, enum sl_hook hook, unsigned shape,
			    bool failed, const uint64_t *payload, unsigned payload_words);

/*
 * The record of a call. Inlined into every wrapper with constants for shape and length, so that what
 * remains is the stores. What leaves the fast path gets copies: whatever has its address taken would
 * otherwise live in memory on the fast path too.
 */
SL_HOT void sl_record(const struct sl_call *call, enum sl_hook hook, unsigned shape, bool failed,
		      const uint64_t *payload, unsigned payload_words)
{
	unsigned words = 2 + payload_words;
	uint64_t *w;

	/* A stack, a duration of more than 32 bits, a level of more than seven, no counter: one test for all. */
	if (sl_unlikely((call->duration | (uint64_t)(call->depth & ~7u) << 29) >=
			sl_tls.long_ticks)) {
		struct sl_call copy = *call;
		uint64_t p[4];

		for (unsigned i = 0; i < payload_words; i++)
			p[i] = payload[i];
		sl_record_long(&copy, hook, shape, failed, p, payload_words);
		return;
	}
	if (!sl_begin_write())
		return;
	w = sl_tls.cur;
	if (sl_unlikely((size_t)((char *)sl_tls.end - (char *)w) < words * 8u)) {
		struct sl_call copy = *call;

		w = sl_room_slow(words, hook, &copy);
		if (!w) {
			sl_end_write();
			return;
		}
	}
	w[0] = call->start;
	w[1] = call->duration |
	       (uint64_t)sl_head(hook, words, call->depth, shape, failed ? SL_REC_ERR : 0) << 32;
	for (unsigned i = 0; i < payload_words; i++)
		w[2 + i] = payload[i];
	sl_commit(w + words);
	sl_end_write();
}

SL_HOT uint64_t sl_result(int64_t ret, bool failed)
{
	return failed ? (uint64_t)(int64_t)errno : (uint64_t)ret;
}

static inline void sl_leave_call(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				 bool failed)
{
	uint64_t p[1];

	if (sl_short(call, hook, false, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	sl_record(call, hook, SL_SHAPE_CALL, failed, p, 1);
}

static inline void sl_leave_arg(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				bool failed, int64_t arg)
{
	uint64_t p[2];

	if (sl_short(call, hook, false, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	p[1] = (uint64_t)arg;
	sl_record(call, hook, SL_SHAPE_ARG, failed, p, 2);
}

/* ---- descriptors (fdtable.c) ---- */

#define SL_FD_NEAR 1024u
extern uint32_t sl_fd_near[SL_FD_NEAR];  /* file serial by descriptor, 0 = not known yet */
uint32_t sl_fd_serial_slow(int fd);      /* finds out what @fd is; 0 when it is not open */
void sl_fd_set(int fd, uint32_t serial); /* @fd now means @serial; 0 forgets it */
uint32_t sl_fd_take(int fd);             /* reads and forgets */
void sl_fd_forget_range(unsigned first, unsigned last);
uint32_t sl_fd_new_serial(void);
long sl_fd_link(int fd, char *target, size_t room); /* what /proc says @fd is; bytes, or -errno */

/* What is known without asking the kernel: for failed calls, whose descriptor may be none. */
SL_HOT uint32_t sl_fd_peek(int fd)
{
	return (unsigned)fd < SL_FD_NEAR ? __atomic_load_n(&sl_fd_near[fd], __ATOMIC_RELAXED) : 0;
}

SL_HOT uint32_t sl_fd_get(int fd)
{
	uint32_t serial = 0;

	if (sl_likely((unsigned)fd < SL_FD_NEAR))
		serial = __atomic_load_n(&sl_fd_near[fd], __ATOMIC_RELAXED);
	return sl_likely(serial) ? serial : sl_fd_serial_slow(fd);
}

static inline void sl_leave_fd(const struct sl_call *call, enum sl_hook hook, int64_t ret,
			       bool failed, int fd)
{
	uint64_t p[2];

	if (sl_short(call, hook, true, 0, failed))
		return;
	p[0] = sl_result(ret, failed);
	p[1] = sl_fd_serial(fd, failed ? sl_fd_peek(fd) : sl_fd_get(fd));
	sl_record(call, hook, SL_SHAPE_FD, failed, p, 2);
}

/* Failed, or more bytes than 31 bits can say. */
SL_COLD void sl_leave_io_slow(const struct sl_call *call, enum sl_hook hook, int64_t ret,
			      bool failed, int fd, uint64_t asked, int64_t done, int64_t offset);

/* @done: bytes moved, for the totals. */
SL_HOT void sl_leave_io(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed,
			int fd, uint64_t asked, int64_t done, int64_t offset)
{
	uint64_t p[3];

	/* Whatever is unusual in one test (failed means -1), so that the rest knows: it is not. */
	if (sl_unlikely((asked | (uint64_t)ret) >> 31)) {
		struct sl_call copy = *call;

		sl_leave_io_slow(&copy, hook, ret, failed, fd, asked, done, offset);
		return;
	}
	if (sl_short(call, hook, true, done, false))
		return;
	p[0] = (uint64_t)ret | asked << 32;
	p[1] = sl_fd_serial(fd, sl_fd_get(fd));
	p[2] = (uint64_t)offset;
	if (__builtin_constant_p(offset) && offset == SL_NO_OFFSET)
		sl_record(call, hook, SL_SHAPE_IO, false, p, 2);
	else
		sl_record(call, hook, SL_SHAPE_IO_AT, false, p, 3);
}

/* Calls that carry a string or a socket address (not on the hottest paths). */
void sl_leave_bytes(const struct sl_call *call, enum sl_hook hook, unsigned shape, int64_t ret,
		    bool failed, uint64_t word1, const void *bytes, size_t len, bool is_file);
static inline void sl_leave_path(const struct sl_call *call, enum sl_hook hook, int64_t ret,
				 bool failed, int fd, uint32_t serial, const char *path)
{
	sl_leave_bytes(call, hook, SL_SHAPE_PATH, ret, failed, sl_fd_serial(fd, serial), path,
		       path ? __builtin_strlen(path) : 0, true);
}
/* For calls that end the life of a descriptor; @serial was read before the call. */
void sl_leave_close(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		    uint32_t serial);
void sl_leave_dup(const struct sl_call *call, enum sl_hook hook, int64_t ret, bool failed, int fd,
		  uint32_t serial, uint32_t new_serial);

/* Records that are no calls; @words of payload, then bytes (may be NULL) preceded by their length. */
void sl_meta(enum sl_meta meta, uint64_t start, const uint64_t *payload, unsigned words,
	     const void *bytes, size_t len);

/* A call that is only counted, without looking at the clock (uncontended locks, buffered characters). */
SL_HOT void sl_count_only(enum sl_hook hook, uint64_t bytes)
{
	uint32_t gate = sl_gate();
	struct sl_agg *a;

	if (sl_unlikely(sl_tls.pass != gate))
		gate = sl_sync();
	if (sl_unlikely(!(gate & 1)) || !sl_begin_write())
		return;
	a = &sl_tls.agg[hook];
	a->bytes += bytes;
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
	sl_end_write();
}

/* ---- session_join.c, gate.c ---- */

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
	uint32_t cond_wrefs_at; /* offset of the waiters' count in pthread_cond_t; 0 unknown */
	const char *path;       /* of this library, absolute: what exec puts into LD_PRELOAD */
	char session_env[sizeof(SL_SESSION_ENV) + 200]; /* "SIGHTLINE_SESSION=..." */
};
extern struct sl_global sl_global;

bool sl_process_start(void); /* idempotent; false when this process is not traced */
bool sl_process_child(void); /* in a forked child: a new process number, same arena */
bool sl_thread_start(void);  /* a slot and first chunks; false: there are none, which is counted */
void sl_announce(void);      /* writes the IMAGE record */
void sl_count_unslotted(void);     /* a call that no slot has room for */
int sl_find_env(const char *name); /* index in environ, or -1 */

/* ---- wrap_exec.c ---- */

void sl_leave_environment(void); /* programs that are started from now on are not traced */

/* ---- seccomp.c ---- */

void sl_restricted_start(void);
/* Before a filter is installed: what it is, and what there was, for the call after it: how that went. */
uint32_t sl_restrict(unsigned long mode, const void *filter);
void sl_restricted(uint32_t before, bool failed);
bool sl_is_deadly(void), sl_is_blind(void); /* enum sl_restricted: so much, or worse */
/* Of this thread; of this process, in the one thread that fork() has left it. 0: not to be had. */
uint32_t sl_own_tid(void);
uint32_t sl_forked_pid(void);

#pragma GCC visibility pop
#endif
