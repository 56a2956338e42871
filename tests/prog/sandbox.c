/*
 * sandbox.c FILE N [exit,seccomp,thread,fork,vfork,pid,twice,child,system,exec,execve,mild,probe] - after start-up allows itself read, write, pread and exit, on pain of death,
 * and then makes N preads. A tracer that needs any other system call for a record kills the program.
 *
 * exit: ends by returning from main, so that destructors run; seccomp: by that system call, not by prctl; thread, fork: N
 * preads in another thread and in a child, too, whose beginning and end are allowed what the C library does for them.
 *
 * system, exec, execve: "sh -c 'echo program'" is started (by the last with an environment that was copied before) and allowed
 * what it needs, which is not what a tracer needs.
 *
 * vfork: N preads after a vfork(), too. pid: getpid() is allowed. twice: so is another filter, which is the same. child: it is the child of a vfork() that goes into the
 * sandbox, and becomes such a program there; its parent makes N preads.
 *
 * mild: all but reboot() is allowed. probe: asks before with what is no filter, as libseccomp does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOWED_MOST 64

static const int always[] = {SYS_read, SYS_write,      SYS_pread64,
			     SYS_exit, SYS_exit_group, SYS_rt_sigreturn};
static const int for_others[] = {
	SYS_clone,          SYS_clone3,       SYS_mmap,  SYS_mprotect,  SYS_munmap,
	SYS_madvise,        SYS_brk,          SYS_futex, SYS_rseq,      SYS_set_robust_list,
	SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_wait4, SYS_getrandom,
};
static const int for_programs[] = {
	SYS_execve, SYS_access,     SYS_openat,          SYS_newfstatat, SYS_close,  SYS_fstat,
	SYS_stat,   SYS_arch_prctl, SYS_set_tid_address, SYS_prlimit64,  SYS_getpid, SYS_getppid,
	SYS_getuid, SYS_geteuid,    SYS_getgid,          SYS_getegid,    SYS_getcwd, SYS_ioctl,
	SYS_vfork,  SYS_fcntl,      SYS_rt_sigsuspend,
};
static const int for_vfork[] = {SYS_vfork};
static const int for_pid[] = {SYS_getpid};
static const int for_filters[] = {SYS_prctl, SYS_seccomp};
static int file;

static unsigned allow(struct sock_filter *code, unsigned cnt, const int *list, size_t many)
{
	for (size_t i = 0; i < many; i++) {
		code[cnt++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (uint32_t)list[i], 0, 1);
		code[cnt++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return cnt;
}

static int shut_in(const char *how)
{
	struct sock_filter code[2 + 2 * ALLOWED_MOST] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog prog = {0, code};
	unsigned cnt = allow(code, 1, always, sizeof(always) / sizeof(always[0]));
	bool has_programs = strstr(how, "system") || strstr(how, "exec");
	bool has_others = has_programs || strstr(how, "thread") || strstr(how, "fork");
	bool by_call = strstr(how, "seccomp");

	if (has_others)
		cnt = allow(code, cnt, for_others, sizeof(for_others) / sizeof(for_others[0]));
	if (has_programs)
		cnt = allow(code, cnt, for_programs,
			    sizeof(for_programs) / sizeof(for_programs[0]));
	if (strstr(how, "vfork"))
		cnt = allow(code, cnt, for_vfork, 1);
	if (strstr(how, "pid"))
		cnt = allow(code, cnt, for_pid, 1);
	if (strstr(how, "twice"))
		cnt = allow(code, cnt, for_filters, 2);
	code[cnt++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (strstr(how, "mild")) {
		code[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 1, 0);
		code[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		code[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
		cnt = 4;
	}
	prog.len = (unsigned short)cnt;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strstr(how, "probe") &&
	    (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)1) != -1 || errno != EFAULT ||
	     syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) != -1 || errno != EINVAL))
		return -1;
	if (by_call)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void *work(void *of)
{
	long n = *(const long *)of, sum = 0;
	char buf[64];

	for (long i = 0; i < n; i++)
		sum += pread(file, buf, sizeof(buf), 0);
	n = sprintf(buf, "bytes %ld\n", sum);
	return write(1, buf, (size_t)n) == n ? NULL : of;
}

static int others(const char *how, long *n)
{
	void *failed = NULL;
	int status = 0;
	pthread_t t;
	pid_t pid;

	if (strstr(how, "thread") &&
	    (pthread_create(&t, NULL, work, n) || pthread_join(t, &failed) || failed))
		return 1;
	if (!strstr(how, "fork"))
		return 0;
	if (strstr(how, "vfork")) {
		pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
		if (pid == 0)
			_exit(0);
		return pid < 0 || waitpid(pid, &status, 0) != pid || status || work(n);
	}
	pid = fork();
	if (pid == 0)
		exit(work(n) ? 1 : 0);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int start(const char *how, char **env)
{
	if (strstr(how, "system"))
		return system("echo program $LD_PRELOAD");
	if (strstr(how, "execve"))
		return execle("/bin/sh", "sh", "-c", "echo program $LD_PRELOAD", NULL, env);
	if (strstr(how, "exec"))
		return execlp("sh", "sh", "-c", "echo program $LD_PRELOAD", NULL);
	return 0;
}

/* NOLINTBEGIN(clang-analyzer-unix.Vfork): what tracers have to bear */
static int child_goes_in(const char *how)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		if (shut_in(how) < 0)
			_exit(77);
		execlp("sh", "sh", "-c", "echo program", NULL);
		_exit(1);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status ? 1 : 0;
}
/* NOLINTEND(clang-analyzer-unix.Vfork) */

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	char *env[256] = {NULL};
	long n;

	for (size_t i = 0; i < 255 && environ[i]; i++)
		env[i] = environ[i];

	if (argc < 3)
		return 2;
	file = open(argv[1], O_RDONLY);
	n = atol(argv[2]);
	if (strstr(how, "child"))
		return child_goes_in("exec") || work(&n) || system("echo parent");
	if (shut_in(how) < 0 || (strstr(how, "twice") && shut_in(how) < 0))
		return 77;
	if (work(&n) || others(how, &n) || start(how, env))
		return 1;
	if (!strstr(how, "exit"))
		_exit(0);
	return 0;
}
