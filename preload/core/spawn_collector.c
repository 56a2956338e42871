/*
 * spawn_collector.c - starts a collector for a bare LD_PRELOAD.
 *
 * Invisible to the program: the collector is double-forked by raw clones, the first of which sends no
 * SIGCHLD and is reaped at once; the second has its own session and none of the program's descriptors.
 * Between clone and exec there are only system calls on memory prepared before.
 */
#include "preload/core/environment.h"
#include "preload/core/session_join.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/base/compiler.h"
#include "preload/base/state.h"
#include "preload/wire/sys.h"

#define READY_FD 3 /* in the collector */

static char answer[512];
static SL_APART char collector_path[4096];

static bool is_executable(const char *path)
{
	return sl_sys3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

/* SIGHTLINE_COLLECTOR, else relative to the library: build/, lib/sightline/ -> bin/. */
static const char *find_collector(const char *own_path)
{
	static const char *const places[] = {"/sightline", "/../../bin/sightline",
					     "/../bin/sightline"};
	int i = sl_env_find("SIGHTLINE_COLLECTOR");
	const char *slash;

	if (i >= 0)
		return strchr(sl_environ()[i], '=') + 1;
	slash = own_path ? strrchr(own_path, '/') : NULL;
	if (!slash || (size_t)(slash - own_path) + 32 > sizeof(collector_path))
		return NULL;
	for (unsigned k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		memcpy(collector_path, own_path, (size_t)(slash - own_path));
		memcpy(collector_path + (slash - own_path), places[k], strlen(places[k]) + 1);
		if (is_executable(collector_path))
			return collector_path;
	}
	return NULL;
}

/* The program's environment without the variables that would trace the collector itself. */
static unsigned collector_environment(char **out, unsigned room)
{
	unsigned n = 0;

	for (char **e = sl_environ(); *e && n + 1 < room; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "LD_AUDIT=", 9) != 0)
			out[n++] = *e;
	out[n] = NULL;
	return n;
}

static long raw_fork(void)
{
	/* No flags and no exit signal: a fork without SIGCHLD. */
	return sl_sys5(SYS_clone, 0, 0, 0, 0, 0);
}

static void reset_signals(void)
{
	uint64_t none = 0;
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} dfl = {0};

	for (int sig = 1; sig <= 64; sig++)
		sl_sys4(SYS_rt_sigaction, sig, &dfl, NULL, 8);
	sl_sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &none, NULL, 8);
}

/* In the second child: executes the collector, or exits, which closes the pipe. */
static void become_collector(const char *path, char **argv, char **envp, int ready)
{
	long null = sl_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);

	reset_signals();
	for (int fd = 0; fd < 3; fd++)
		if (null != fd && null >= 0)
			sl_sys3(SYS_dup3, null, fd, 0);
	if (ready != READY_FD)
		sl_sys3(SYS_dup3, ready, READY_FD, 0);
	else
		sl_sys3(SYS_fcntl, ready, F_SETFD, 0);
	/* Linux 5.9; before, one by one (a program rarely has more descriptors this early). */
	if (sl_sys3(436 /* close_range */, READY_FD + 1, ~0u, 0) < 0)
		for (int fd = READY_FD + 1; fd < 4096; fd++)
			sl_sys1(SYS_close, fd);
	sl_sys3(SYS_execve, path, argv, envp);
	sl_sys1(SYS_exit_group, 127);
}

static void spawn(const char *path, int ready_read, int ready_write)
{
	static char root[12];
	static SL_APART char *envp[8192];
	char *argv[] = {(char *)path, (char *)"collect",    (char *)"--root",
			root,         (char *)"--ready-fd", (char *)"3",
			NULL};
	long pid;

	sl_put_number(root, (unsigned)sl_getpid());
	collector_environment(envp, sizeof(envp) / sizeof(envp[0]));
	pid = raw_fork();
	if (pid == 0) {
		sl_sys0(SYS_setsid);
		sl_sys1(SYS_close, ready_read);
		if (raw_fork() == 0)
			become_collector(path, argv, envp, ready_write);
		sl_sys1(SYS_exit_group, 0);
	}
	if (pid > 0)
		while (sl_sys4(SYS_wait4, pid, NULL, __WALL, NULL) == -EINTR)
			;
}

/*
 * After unshare(CLONE_NEWPID) without a fork the next child is the first process of a namespace, which ends with it: that is
 * the program's to make. Without /proc, and in old kernels, nothing shows it.
 */
static bool is_leaving_namespace(void)
{
	static const char next_path[] = "/proc/self/ns/pid_for_children";
	struct stat st;
	char own[64], next[64];
	long len = sl_sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", own, sizeof(own)),
	     next_len = sl_sys4(SYS_readlinkat, AT_FDCWD, next_path, next, sizeof(next));

	/* Until that process is there, the link leads nowhere. */
	if (len <= 0 || next_len < 0)
		return len > 0 && next_len == -ENOENT &&
		       sl_sys4(SYS_newfstatat, AT_FDCWD, next_path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return len != next_len || memcmp(own, next, (size_t)len) != 0;
}

const char *sl_start_collector(const char *own_path, const char **why)
{
	const char *path = find_collector(own_path);
	int fds[2] = {-1, -1};
	size_t n = 0;
	long got;

	*why = "no collector found: put 'sightline' beside libtrace.so or name it in "
	       "SIGHTLINE_COLLECTOR";
	if (!path || !is_executable(path))
		return NULL;
	*why = "the processes that it starts are in a new PID namespace (unshare without --fork)";
	if (is_leaving_namespace())
		return NULL;
	*why = "no descriptors left to start the collector";
	if (sl_sys2(SYS_pipe2, fds, O_CLOEXEC) < 0)
		return NULL;
	spawn(path, fds[0], fds[1]);
	sl_sys1(SYS_close, fds[1]);
	while (n < sizeof(answer) - 1) {
		got = sl_sys3(SYS_read, fds[0], answer + n, sizeof(answer) - 1 - n);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	sl_sys1(SYS_close, fds[0]);
	while (n && answer[n - 1] == '\n')
		n--;
	answer[n] = 0;
	if (answer[0] == '/')
		return answer;
	/* A session has this process already. */
	if (answer[0] == '=') {
		sl_global.root = 0;
		return answer + 1;
	}
	*why = answer[0] == '!' ? answer + 1 : "the collector did not start";
	return NULL;
}
