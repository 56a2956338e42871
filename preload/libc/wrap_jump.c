/*
 * wrap_jump.c - vfork, syscall and dlopen: functions that read their caller's frame or return through it, so that no
 * C function may be in between. A stub (jump.h) calls a plan, which returns the function to jump to.
 *
 *  vfork     parent and child return through the same frame. Counted.
 *  syscall   the same for the numbers that fork; all others go to a timed wrapper.
 *  dlopen    searches the RUNPATH of its caller, found by the return address. Timed if the caller has none; else
 *            jumped to and only counted.
 */
#include "preload/base/jump.h"
#include "preload/base/object.h"
#include "preload/base/readable.h"
#include "preload/libc/wrap.h"

#include <link.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload/core/clockless.h"
#include "preload/core/seccomp.h"
#include "preload/core/slots.h"
#include "preload/core/stack.h"
#include "preload/gpu/gpu_engine.h"
#include "preload/wire/sys.h"

static long absent(void)
{
	return SL_ABSENT_NEG;
}

static void *absent_pointer(void)
{
	errno = ENOSYS;
	return NULL;
}

/* From now on this thread's calls may be the vfork child's: gate.c compares pids. */
static void mark_vfork(void)
{
	if (sl_tls.cookie != sl_proc.cookie)
		return;
	sl_tls.vfork_pid = sl_proc.pid;
	sl_tls.vfork_seccomp = SL_SECCOMP_NONE;
	sl_tls.saved_cookie = sl_set_cookie(SL_COOKIE_VFORK);
}

/* ---- vfork ---- */

JUMP_PLAN(sl_plan_vfork, (void))
{
	void *real = sl_get_real(SL_H_vfork);

	sl_count_only(SL_H_vfork, 0);
	if (real)
		mark_vfork();
	return real ? real : (void *)absent;
}
JUMP_STUB(vfork, sl_plan_vfork);

/* ---- syscall ---- */

static inline long timed(enum sl_clock_change change, long nr, long a, long b, long c, long d,
			 long e, long f)
{
	long (*real)(long, ...) = sl_get_real(SL_H_syscall);
	struct sl_call call;
	bool moves = nr == SYS_chdir || nr == SYS_fchdir || nr == SYS_chroot ||
		     nr == SYS_pivot_root || nr == SYS_setns || nr == SYS_unshare;
	bool traced = sl_enter(&call), stopped = sl_clock_before(change);
	long rc = real(nr, a, b, c, d, e, f);

	sl_clock_after(change, stopped, rc == -1);
	if (traced)
		sl_stop(&call);
	if (moves)
		sl_cwd_disable();
	if (traced)
		sl_leave_arg(&call, SL_H_syscall, rc, rc == -1, nr);
	return rc;
}

static long locking_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long rc = timed(SL_CLOCK_KEPT, nr, a, b, c, d, e, f);

	if (rc == 0)
		sl_unlock_own((int)a);
	return rc;
}

static long timed_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	return timed(SL_CLOCK_KEPT, nr, a, b, c, d, e, f);
}

/* Two calls install filters or stop the clock, and do other things, too. */
static long restricting_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	bool by_prctl = nr == SYS_prctl && a == PR_SET_SECCOMP;
	bool is_filter = nr == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER;
	bool is = by_prctl || is_filter || (nr == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT);
	uint32_t before = 0;
	long rc;

	if (by_prctl)
		before = sl_seccomp_before((unsigned long)b, (const void *)c);
	else if (is)
		before = sl_seccomp_before(is_filter ? SECCOMP_MODE_FILTER : SECCOMP_MODE_STRICT,
					   (const void *)c);
	rc = timed(sl_clock_change(nr, (unsigned long)a, (unsigned long)b), nr, a, b, c, d, e, f);
	if (is)
		sl_seccomp_after(before, rc == -1);
	return rc;
}

/* The first word of struct clone_args is the flags. If they cannot be read, the worst case is assumed. */
static bool clone3_shares(const uint64_t *flags)
{
	struct sl_readable r = {0};

	if (sl_seccomp_kills_start() ? (uintptr_t)flags < 65536
				     : !sl_readable_bytes(&r, flags, sizeof(*flags)))
		return true;
	return *flags & CLONE_VM && !(*flags & CLONE_SETTLS);
}

/* What a process reads and writes by requests in shared memory makes no call: a note in the report, once. */
static void note_io_uring(void)
{
	static const char text[] =
		"io_uring: what this process reads and writes by it is not recorded";
	static bool is_noted;

	if (__atomic_load_n(&is_noted, __ATOMIC_RELAXED) || !sl_ready())
		return;
	__atomic_store_n(&is_noted, true, __ATOMIC_RELAXED);
	sl_note(SL_NOTE_OTHER, text, sizeof(text) - 1);
}

JUMP_PLAN(sl_plan_syscall, (long nr, unsigned long arg))
{
	void *real = sl_get_real(SL_H_syscall);
	bool shares_memory = false;

	if (!real)
		return (void *)absent;
	switch (nr) {
	case SYS_clone:
		shares_memory = arg & CLONE_VM && !(arg & CLONE_SETTLS);
		break;
	case SYS_clone3:
		shares_memory = clone3_shares((const uint64_t *)arg);
		break;
	case SYS_seccomp:
	case SYS_prctl:
		return (void *)restricting_syscall;
#ifdef SYS_vfork
	case SYS_vfork:
		shares_memory = true;
		break;
	case SYS_fork:
		break;
#endif
	case SYS_mlockall:
		return (void *)locking_syscall;
	case SYS_close:
		sl_fd_unrecorded((int)arg);
		return (void *)timed_syscall;
#ifdef SYS_io_uring_setup
	case SYS_io_uring_setup:
		note_io_uring();
		return (void *)timed_syscall;
#endif
	default:
		return (void *)timed_syscall;
	}
	sl_count_only(SL_H_syscall, 0);
	if (shares_memory)
		mark_vfork();
	return real;
}
JUMP_STUB(syscall, sl_plan_syscall);

/* ---- dlopen ---- */

static void *timed_dlopen(const char *path, int flags)
{
	void *(*real)(const char *, int) = sl_get_real(SL_H_dlopen);
	struct sl_call call;
	bool traced = sl_enter(&call);
	void *rc;

	/* Constructors of the loaded objects may call GPU functions before dlopen returns. */
	sl_gpu_scan_soon();
	rc = real(path, flags);
	sl_stack_rescan(false);
	sl_slots_scan();
	if (traced) {
		sl_stop(&call);
		sl_leave_path(&call, SL_H_dlopen, SL_INT(rc), false, -1, 0, sl_probed_path(path));
	}
	sl_gpu_scan_all();
	return rc;
}

struct caller {
	const void *address;
	bool has_path; /* its object has a RPATH or RUNPATH */
};

static int find_caller(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct caller *c = arg;
	const ElfW(Dyn) *dyn = NULL;

	(void)size;
	if (!sl_object_contains(info, c->address))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_RPATH || dyn->d_tag == DT_RUNPATH)
			c->has_path = true;
	return 1;
}

/* Calls of RTLD_DEEPBIND objects bypass this library and are not recorded: a note in the report. */
static void note_deepbind(const char *path)
{
	if (sl_ready())
		sl_note(SL_NOTE_DEEPBIND, path ? path : "", path ? strlen(path) : 0);
}

JUMP_PLAN(sl_plan_dlopen, (const char *path, int flags, void *caller))
{
	struct caller c = {.address = caller};
	void *real = sl_get_real(SL_H_dlopen);

	if (!real)
		return (void *)absent_pointer;
	if (!sl_seccomp_kills_start())
		path = sl_probed_path(path);
	if (flags & 8 /* RTLD_DEEPBIND */)
		note_deepbind(path);
	/* $ORIGIN in the name also depends on the caller. */
	if (!dl_iterate_phdr(find_caller, &c) || c.has_path || (path && strchr(path, '$'))) {
		sl_count_only(SL_H_dlopen, 0);
		sl_gpu_scan_soon();
		sl_slots_scan_soon();
		sl_stack_rescan(true);
		return real;
	}
	return (void *)timed_dlopen;
}
JUMP_STUB(dlopen, sl_plan_dlopen);

JUMP_PLAN(sl_plan_dlmopen, (void))
{
	void *real = sl_get_real(SL_H_dlmopen);

	/* Another namespace has its own copy of libc, and not this library. */
	sl_count_only(SL_H_dlmopen, 0);
	return real ? real : (void *)absent_pointer;
}
JUMP_STUB(dlmopen, sl_plan_dlmopen);
