/*
 * seccomp.c - evaluates the filters of a stopped thread for each system call of the way in (stub.c: pthread_create(), dlopen()), and of the
 * library behind it (preload/core). The threads that the thread starts inherit its filters.
 */
#include "collector/inject/seccomp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/privilege.h"
#include "collector/base/proc.h"
#include "collector/inject/subject.h"
#include "preload/wire/filter.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#define FILTERS_MAX 64u /* of a thread */
#define THREAD_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

struct need {
	const char *name;
	bool may_fail; /* with an error: there is another way, or something less is recorded */
	struct sl_filter_call call;
};

#define CALL(name)                       \
	{                                \
#name, false,            \
		{                        \
			.nr = SYS_##name \
		}                        \
	}
#define MAY_FAIL(name)                   \
	{                                \
#name, true,             \
		{                        \
			.nr = SYS_##name \
		}                        \
	}
#define WITH(name, which, ...)                                                    \
	{                                                                         \
#name, false,                                                     \
		{                                                                 \
			.nr = SYS_##name, .known = which, .args = { __VA_ARGS__ } \
		}                                                                 \
	}
#define MAY_FAIL_WITH(name, which, ...)                                           \
	{                                                                         \
#name, true,                                                      \
		{                                                                 \
			.nr = SYS_##name, .known = which, .args = { __VA_ARGS__ } \
		}                                                                 \
	}

static const struct need needs[] = {
	/* the way in */
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_READ | PROT_EXEC, ANONYMOUS),
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_READ | PROT_WRITE, ANONYMOUS),
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_NONE, ANONYMOUS | MAP_STACK),
	WITH(mprotect, 1 << 2, 0, 0, PROT_READ | PROT_WRITE),
	MAY_FAIL(clone3), /* not implemented: clone() */
	WITH(clone, 1, THREAD_FLAGS),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(set_robust_list),
	MAY_FAIL(rseq),
	CALL(munmap),
	CALL(nanosleep),
	CALL(exit),
	/* dlopen() */
	CALL(openat),
	CALL(read),
	CALL(pread64),
	CALL(newfstatat),
	CALL(fstat),
	CALL(close),
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_DENYWRITE),
	WITH(mprotect, 1 << 2, 0, 0, PROT_READ),
	CALL(futex),
	CALL(brk),
	MAY_FAIL(getrandom),
	MAY_FAIL(sched_getaffinity),
	/* the library: joining a session, and leaving it */
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_READ, MAP_SHARED | MAP_FIXED),
	WITH(mmap, 1 << 2 | 1 << 3, 0, 0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE),
	CALL(memfd_create),
	CALL(ftruncate),
	WITH(fcntl, 1 << 1, 0, F_ADD_SEALS),
	WITH(fcntl, 1 << 1, 0, F_DUPFD_CLOEXEC),
	WITH(socket, 7, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
	CALL(connect),
	CALL(sendmsg),
	WITH(getsockopt, 6, 0, SOL_SOCKET, SO_PEERCRED),
	WITH(setsockopt, 6, 0, SOL_SOCKET, SO_SNDTIMEO),
	CALL(ppoll),
	CALL(clock_nanosleep),
	CALL(getpid),
	CALL(gettid),
	CALL(getppid),
	CALL(geteuid),
	CALL(clock_gettime),
	MAY_FAIL(prlimit64),
	MAY_FAIL(readlinkat),
	MAY_FAIL(getcwd),
	/* the library: calls that are recorded */
	MAY_FAIL(madvise),
	MAY_FAIL_WITH(mremap, 1 << 3, 0, 0, 0, MREMAP_MAYMOVE), /* all is mapped at once */
	MAY_FAIL(mincore),
	MAY_FAIL(munlock),
	MAY_FAIL_WITH(prctl, 1, 15 /* PR_SET_NAME */),
	MAY_FAIL_WITH(prctl, 1, 16 /* PR_GET_NAME */),
	MAY_FAIL_WITH(kill, 1 << 1),
	MAY_FAIL(process_vm_readv),
};

/* ---- evaluation ---- */

static bool lets(const struct sock_filter *filter, unsigned cnt, const struct need *need)
{
	uint32_t action = sl_filter_verdict(filter, cnt, &need->call) & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && need->may_fail);
}

const char *seccomp_forbids(const struct sock_filter *filter, unsigned cnt)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (!lets(filter, cnt, &needs[i]))
			return needs[i].name;
	return NULL;
}

/* ---- reading ---- */

bool seccomp_can_be_read(void)
{
	return privilege_has(CAP_SYS_ADMIN) &&
	       subject_status(getpid(), getpid(), "Seccomp", 10) == 0;
}

bool seccomp_is_the_same(pid_t pid)
{
	int64_t cnt = subject_status(pid, pid, "Seccomp_filters", 10);
	char path[64];
	const struct dirent *e;
	bool same = true;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/task", proc_root(), (int)pid);
	d = opendir(path);
	while (d && same && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		int64_t of = tid > 0 ? subject_status(pid, tid, "Seccomp_filters", 10) : cnt;

		same = of == cnt || of < 0; /* it has ended */
	}
	if (d)
		closedir(d);
	return same;
}

static long get_filter(pid_t tid, unsigned long index, struct sock_filter *to)
{
	return ptrace((enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, to);
}

int seccomp_look(pid_t pid, pid_t tid, char *why, size_t why_len)
{
	struct sock_filter *filter;
	const char *forbidden = NULL;
	long cnt = 0;

	for (unsigned i = 0; i < FILTERS_MAX && !forbidden; i++) {
		errno = 0;
		cnt = get_filter(tid, i, NULL);
		if (cnt < 0)
			break;
		filter = calloc((size_t)cnt + 1, sizeof(*filter));
		if (filter && get_filter(tid, i, filter) == cnt)
			forbidden = seccomp_forbids(filter, (unsigned)cnt);
		else
			forbidden = "an unknown call";
		free(filter);
	}
	if (!forbidden && (cnt >= 0 || errno != ENOENT)) {
		snprintf(why, why_len,
			 "process %d has a seccomp filter that cannot be read: attach without "
			 "--inject, or start it under 'sightline profile'",
			 (int)pid);
		return -ENOTSUP;
	}
	if (forbidden) {
		snprintf(
			why, why_len,
			"process %d has a seccomp filter that forbids %s, which the library needs: "
			"attach without --inject, or start it under 'sightline profile'",
			(int)pid, forbidden);
		return -ENOTSUP;
	}
	return 0;
}
