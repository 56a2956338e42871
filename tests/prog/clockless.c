/*
 * clockless.c FILE N HOW - N preads, then gives up the processor's counter, and N more; their number is its status: 0, all
 * were made. A tracer that reads the counter after that makes it die of SIGSEGV; 77: the kernel has no such thing.
 *
 * HOW: strict: by prctl(); seccomp, raw: the same mode by the other calls. tsc: by PR_SET_TSC; rawtsc: by syscall().
 * And with PR_SET_TSC: thread, fork: the N preads are made by a thread, by a child. handler: by a signal's handler, in a
 * call that is recorded. again: it is allowed again, and N preads more. vfork: it is the child of a vfork() that gives it
 * up. exec: becomes this program, which ends with 0 where the C library's start does without the counter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int file;
static long n;

/* strict mode allows read() alone. */
static void *work(void *by_read)
{
	char byte;

	for (long i = 0; i < n; i++)
		if ((by_read ? read(file, &byte, 1) : pread(file, &byte, 1, 0)) != 1)
			syscall(SYS_exit, 2);
	return NULL;
}

static void give_up(int sig)
{
	(void)sig;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		_exit(77);
}

static void strict(const char *how)
{
	long rc = -1;

	/* Not a mode: refused, and nothing changes. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) != -1 || errno != EINVAL)
		_exit(3);
	if (prctl(PR_SET_TSC, 77) != -1 || errno != EINVAL)
		_exit(77);
	work(NULL);
	if (!strcmp(how, "strict"))
		rc = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(how, "seccomp"))
		rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	else
		rc = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	if (rc)
		_exit(77);
	work(&file);
	syscall(SYS_exit, 0);
}

static void ended_well(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(4);
}

static void others(const char *how)
{
	struct timespec moment = {0, 20000000};
	bool is_interrupted = false;
	pthread_t t;
	pid_t pid;

	if (!strcmp(how, "rawtsc") && syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		exit(77);
	if (!strcmp(how, "handler")) {
		timer_t timer;
		struct itimerspec when = {{0, 0}, {0, 5000000}};

		signal(SIGALRM, give_up);
		if (timer_create(CLOCK_MONOTONIC, NULL, &timer))
			exit(4);
		/* On a machine with much to do the signal may come before the call. */
		for (int i = 0; (i == 0 || !is_interrupted) && i < 4; i++)
			is_interrupted = timer_settime(timer, 0, &when, NULL) == 0 &&
					 nanosleep(&moment, NULL) == -1 && errno == EINTR;
		if (!is_interrupted)
			exit(4);
	} else if (!strcmp(how, "vfork")) {
		pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
		if (pid ==
		    0) { /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): what tracers have to bear */
			_exit(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) || access("/", R_OK));
		}
		ended_well(pid);
	} else if (strcmp(how, "rawtsc") != 0) {
		give_up(0);
	}
	if (!strcmp(how, "thread")) {
		if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL))
			exit(4);
	} else if (!strcmp(how, "fork")) {
		pid = fork();
		if (pid == 0) {
			work(NULL);
			exit(0);
		}
		ended_well(pid);
	} else {
		work(NULL);
	}
	if (!strcmp(how, "again")) {
		if (prctl(PR_SET_TSC, PR_TSC_ENABLE))
			exit(4);
		work(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";

	file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
	if (file < 0)
		return 1;
	n = atol(argv[2]);
	if (!*how)
		return 0;
	if (!strcmp(how, "strict") || !strcmp(how, "seccomp") || !strcmp(how, "raw"))
		strict(how);
	work(NULL);
	if (!strcmp(how, "exec")) {
		give_up(0);
		return execl(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	}
	others(how);
	return 0;
}
