/* wrap_process.c - fork, clone, namespaces, prctl, ptrace. vfork and syscall(): wrap_jump.c. */
#include "preload/core/clockless.h"
#include "preload/core/seccomp.h"
#include "preload/gpu/gpu_engine.h"
#include "preload/libc/wrap.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* In the child of a fork: resets the state inherited from the parent. */
static void in_child(void)
{
	/* Linux before 4.14 does not clear the page (MADV_WIPEONFORK). */
	if (sl_proc.cookie != SL_COOKIE_OFF)
		sl_proc.cookie = SL_COOKIE_NONE;
	sl_proc.gate_at = 0;
	sl_tls.depth &= SL_DEPTH_MONO;
}

/* libc has put other files there, by calls that are not intercepted. */
static void forget_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		sl_fd_unrecorded(fd);
}

/* @in_child_too: what else is done in the child, where the call has no record: its thread's ring is the parent's. */
#define WRAP_FORK(name, params, args, in_child_too)                      \
	SL_WRAPPER(pid_t, name, params)                                  \
	{                                                                \
		SL_REAL(NEG, pid_t, name, params);                       \
		struct sl_call call;                                     \
		bool held = sl_gpu_before_fork();                        \
		bool traced = sl_enter(&call);                           \
		pid_t rc = real args;                                    \
		if (rc == 0) {                                           \
			in_child();                                      \
			in_child_too;                                    \
			return 0;                                        \
		}                                                        \
		if (held)                                                \
			sl_gpu_after_fork();                             \
		if (traced) {                                            \
			sl_stop(&call);                                  \
			sl_leave_call(&call, SL_H_##name, rc, rc == -1); \
		}                                                        \
		return rc;                                               \
	}
WRAP_FORK(fork, (void), (), )
WRAP_FORK(_Fork, (void), (), )
WRAP_FORK(forkpty, (int *fd, char *name, const void *term, const void *win), (fd, name, term, win),
	  forget_standard_files())

/* It returns in the child: the parent has ended within it. The child counts the call. */
SL_WRAPPER(int, daemon, (int nochdir, int noclose))
{
	SL_REAL(NEG, int, daemon, (int, int));
	struct sl_call call;
	bool held = sl_gpu_before_fork();
	bool traced = sl_enter(&call);
	uint32_t pid = sl_proc.pid;
	int rc = real(nochdir, noclose);

	sl_cwd_invalidate();
	/* A child can fail, too: where there is no /dev/null. */
	if (rc == 0 || sl_proc.pid != pid) {
		in_child();
		if (!noclose)
			forget_standard_files();
		sl_count_only(SL_H_daemon, 0);
		return rc;
	}
	if (held)
		sl_gpu_after_fork();
	if (traced) {
		sl_stop(&call);
		sl_leave_call(&call, SL_H_daemon, rc, true);
	}
	return rc;
}

/*
 * The child has its own stack, so only the parent returns here. But with CLONE_VM and without
 * CLONE_SETTLS both share thread-local variables: this thread is not traced while the child may run,
 * that is until the return (CLONE_VFORK), or for ever.
 */
SL_WRAPPER(int, clone, (int (*fn)(void *), void *stack, int flags, void *arg, ...))
{
	SL_REAL(NEG, int, clone, (int (*)(void *), void *, int, void *, ...));
	bool shares = (flags & CLONE_VM) && !(flags & CLONE_SETTLS);
	uint64_t kept = sl_tls.cookie;
	struct sl_call call;
	bool traced = sl_enter(&call);
	void *ptid, *tls, *ctid;
	va_list ap;
	int rc;

	va_start(ap, arg);
	ptid = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	ctid = va_arg(ap, void *);
	va_end(ap);
	if (flags & CLONE_NEWPID)
		sl_global.private_pid_ns = 1;
	if (shares) {
		kept = sl_set_cookie(SL_COOKIE_VFORK);
		sl_tls.vfork_pid = 0;
	}
	rc = real(fn, stack, flags, arg, ptid, tls, ctid);
	if (shares && (rc == -1 || flags & CLONE_VFORK))
		sl_set_cookie(kept);
	if (traced && sl_tls.cookie != SL_COOKIE_VFORK) {
		sl_stop(&call);
		sl_leave_call(&call, SL_H_clone, rc, rc == -1);
	}
	return rc;
}

/* Children in a new PID namespace see other ids. */
SL_WRAPPER(int, unshare, (int flags))
{
	SL_REAL(NEG, int, unshare, (int));
	struct sl_call call;
	bool traced;
	int rc;

	traced = sl_enter(&call);
	rc = real(flags);
	if (traced)
		sl_stop(&call);
	if (rc == 0 && flags & CLONE_NEWPID)
		sl_global.private_pid_ns = 1;
	/* The thread has its own working directory now. */
	if (rc == 0 && flags & (CLONE_FS | CLONE_NEWNS | CLONE_NEWUSER))
		sl_cwd_disable();
	if (traced)
		sl_leave_call(&call, SL_H_unshare, rc, rc == -1);
	return rc;
}

SL_WRAPPER(int, setns, (int fd, int type))
{
	SL_REAL(NEG, int, setns, (int, int));
	struct sl_call call;
	bool traced = sl_enter(&call);
	int rc = real(fd, type);

	if (traced)
		sl_stop(&call);
	if (rc == 0 && (type == 0 || type & CLONE_NEWPID))
		sl_global.private_pid_ns = 1;
	sl_cwd_invalidate();
	if (traced)
		sl_leave_fd(&call, SL_H_setns, rc, rc == -1, fd);
	return rc;
}

SL_WRAPPER(int, prctl, (int option, ...))
{
	SL_REAL(NEG, int, prctl, (int, ...));
	enum sl_clock_change change;
	uint32_t before = 0;
	unsigned long a[4];
	struct sl_call call;
	bool traced, stopped;
	va_list ap;
	int rc;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	/* Before the call: the filter may kill for the shim's system calls. */
	if (option == PR_SET_SECCOMP)
		before = sl_seccomp_before(a[0], (const void *)a[1]);
	change = sl_clock_change(SYS_prctl, (unsigned)option, a[0]);
	traced = sl_enter(&call);
	stopped = sl_clock_before(change);
	rc = real(option, a[0], a[1], a[2], a[3]);
	sl_clock_after(change, stopped, rc == -1);
	if (traced)
		sl_stop(&call);
	if (option == PR_SET_SECCOMP)
		sl_seccomp_after(before, rc == -1);
	/* Also while the gate is closed. */
	if (option == PR_SET_NAME && rc == 0 && sl_ready())
		strncpy(sl_tls.slot->comm, (const char *)a[0], SL_COMM_BYTES - 1);
	if (traced)
		sl_leave_arg(&call, SL_H_prctl, rc, rc == -1, option);
	return rc;
}

SL_WRAPPER(long, ptrace, (long request, ...))
{
	SL_REAL(NEG, long, ptrace, (long, ...));
	unsigned long a[3];
	struct sl_call call;
	va_list ap;
	long rc;

	va_start(ap, request);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (!sl_enter(&call))
		return real(request, a[0], a[1], a[2]);
	rc = real(request, a[0], a[1], a[2]);
	sl_stop(&call);
	/* -1 can be data (PTRACE_PEEK*): not recorded as a failure. */
	sl_leave_arg(&call, SL_H_ptrace, rc, false, request);
	return rc;
}
