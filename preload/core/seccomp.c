/*
 * seccomp.c - programs with a seccomp filter, which may kill for system calls that the program itself does not use. Once one
 * is installed, the shim makes none.
 *
 * Programs that it executes inherit the filter. They are not traced if the filter kills for a system call of the shim's
 * start: a filter is a program (classic BPF), and is evaluated here for each of these system calls.
 */
#include "preload/core/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "preload/base/object.h"
#include "preload/base/state.h"
#include "preload/core/arena_map.h"
#include "preload/core/environment.h"
#include "preload/unwind/pystack.h"
#include "preload/unwind/unwind.h"
#include "preload/wire/filter.h"
#include "preload/wire/sys.h"

/* System calls of session_join.c, hook.c and the unwinder in a new program. */
static const int needed[] = {
	SYS_openat,    SYS_read,         SYS_close,          SYS_mmap,
	SYS_munmap,    SYS_madvise,      SYS_prlimit64,      SYS_fcntl,
	SYS_ftruncate, SYS_memfd_create, SYS_socket,         SYS_connect,
	SYS_sendmsg,   SYS_setsockopt,   SYS_getpid,         SYS_gettid,
	SYS_getppid,   SYS_prctl,        SYS_readlinkat,     SYS_futex,
	SYS_kill,      SYS_newfstatat,   SYS_rt_sigprocmask, SYS_process_vm_readv,
	SYS_mremap,    SYS_geteuid,      SYS_getsockopt,
};

/* ---- evaluation of a filter ---- */

#define UNKNOWN SL_FILTER_UNKNOWN

/* Whatever the arguments are. */
static uint32_t verdict(const struct sock_filter *filter, unsigned cnt, int nr)
{
	const struct sl_filter_call call = {.nr = nr};

	return sl_filter_verdict(filter, cnt, &call);
}

static bool read_memory(void *to, const void *from, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};

	return sl_sys6(SYS_process_vm_readv, sl_getpid(), (long)&here, 1, (long)&there, 1, 0) ==
	       (long)bytes;
}

static bool kills(const struct sock_filter *filter, unsigned cnt, int nr)
{
	uint32_t what = verdict(filter, cnt, nr) & SECCOMP_RET_ACTION_FULL;

	return what == SECCOMP_RET_KILL_PROCESS || what == SECCOMP_RET_KILL_THREAD ||
	       what == SECCOMP_RET_TRAP;
}

static uint32_t evaluate(const void *program)
{
	static SL_APART struct sock_filter filter[BPF_MAXINSNS];
	static uint32_t is_busy;
	struct sock_fprog p = {0};
	uint32_t is = SL_SECCOMP_KILLS_GETPID;

	/* Read by a system call, as the pointer may be invalid. Of two concurrent threads one assumes the worst case. */
	if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE))
		return is;
	if (read_memory(&p, program, sizeof(p)) && p.len <= BPF_MAXINSNS &&
	    read_memory(filter, p.filter, p.len * sizeof(*filter)) &&
	    !kills(filter, p.len, SYS_getpid)) {
		is = SL_SECCOMP_FILTER;
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
			if (kills(filter, p.len, needed[i]))
				is = SL_SECCOMP_KILLS_START;
	}
	__atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
	return is;
}

/* ---- state of the process and the thread ---- */

static int (*thread_clock)(pthread_t thread, clockid_t *clock);

/*
 * Looked up here, not when a filter is installed: that may be in a forked child whose parent had a thread in the loader.
 * Before glibc 2.34 the function is in libpthread, which may be loaded later: then thread ids are unknown.
 */
void sl_seccomp_start(void)
{
	thread_clock =
		(int (*)(pthread_t, clockid_t *))(uintptr_t)sl_object_next("pthread_getcpuclockid");
}

#define OF_CHILD 0x100u /* the filter is of a vfork child, which shares its parent's memory */

bool sl_seccomp_kills_getpid(void)
{
	return sl_global.seccomp == SL_SECCOMP_KILLS_GETPID ||
	       sl_tls.vfork_seccomp == SL_SECCOMP_KILLS_GETPID;
}

bool sl_seccomp_is_on(void)
{
	return sl_global.seccomp || sl_tls.vfork_seccomp;
}

bool sl_seccomp_kills_start(void)
{
	return sl_global.seccomp >= SL_SECCOMP_KILLS_START ||
	       sl_tls.vfork_seccomp >= SL_SECCOMP_KILLS_START;
}

static uint32_t *level_of(bool is_child)
{
	return is_child ? &sl_tls.vfork_seccomp : &sl_global.seccomp;
}

uint32_t sl_seccomp_before(unsigned long mode, const void *filter)
{
	bool is_child = sl_tls.cookie == SL_COOKIE_VFORK && !sl_seccomp_kills_getpid() &&
			(uint32_t)sl_getpid() != sl_tls.vfork_pid;
	uint32_t *to = level_of(is_child), before = *to, now = SL_SECCOMP_KILLS_GETPID;

	/* If an earlier filter may kill for reading this one, the worst case is assumed. */
	if (!sl_seccomp_kills_start() && mode == SECCOMP_MODE_FILTER)
		now = evaluate(filter);
	/* While system calls are allowed; not for a probe without a filter, which fails. */
	if (!is_child && before == SL_SECCOMP_NONE && (mode != SECCOMP_MODE_FILTER || filter)) {
		sl_arena_map_rest();
		sl_unwind_prepare();
		sl_pystack_prepare();
	}
	if (now > before)
		__atomic_store_n(to, now, __ATOMIC_RELEASE);
	return before | (is_child ? OF_CHILD : 0);
}

void sl_seccomp_after(uint32_t before, bool failed)
{
	bool is_child = before & OF_CHILD;
	uint32_t *to = level_of(is_child);

	before &= ~OF_CHILD;
	if (failed)
		__atomic_store_n(to, before, __ATOMIC_RELEASE);
	else if (!is_child && *to >= SL_SECCOMP_KILLS_START && before < SL_SECCOMP_KILLS_START)
		sl_env_untrace();
}

/* Without a system call: the C library encodes the thread id in the id of the thread's CPU clock. */
uint32_t sl_own_tid(void)
{
	clockid_t clock;

	if (!sl_global.seccomp)
		return (uint32_t)sl_gettid();
	return thread_clock && !thread_clock(pthread_self(), &clock) ? ~((uint32_t)(clock >> 3))
								     : 0;
}

uint32_t sl_forked_pid(void)
{
	uint32_t tid;

	if (!sl_global.seccomp)
		return (uint32_t)sl_getpid();
	/* In a child not created by the C library's fork, this is still the parent's id. */
	tid = sl_own_tid();
	return sl_tls.slot && sl_tls.slot->tid == tid ? 0 : tid;
}
