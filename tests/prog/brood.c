/*
 * brood.c - brood CNT [WAY...]: starts CNT short processes, one after the other, in these ways in turn; each opens a file
 * and has ended when the next one starts. WAY: fork, vfork, clone, clone3, spawn, thread (of a thread that forks), nested
 * (forks another one), newpid (clone3 into a PID namespace of its own), setns (fork into the PID namespace of such a
 * process). Prints its own pid.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int work(void *arg)
{
	char byte;
	int fd = open("/dev/null", O_RDONLY);

	(void)arg;
	if (fd < 0 || read(fd, &byte, 1) != 0)
		return 3;
	close(fd);
	return 0;
}

static void leave(void)
{
	_exit(work(NULL));
}

static pid_t by_clone3(uint64_t flags)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		leave();
	return pid;
}

static pid_t by_spawn(void)
{
	static char name[] = "true";
	char *argv[] = {name, NULL};
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ? -1 : pid;
}

static pid_t by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(3);
	}
	return pid;
}

static pid_t by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	return clone(work, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		leave();
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 3;
}

static pid_t nested(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		work(NULL);
		_exit(wait_for(by_fork()));
	}
	return pid;
}

static void *forks(void *arg)
{
	*(pid_t *)arg = by_fork();
	return NULL;
}

static pid_t by_thread(void)
{
	pthread_t thread;
	pid_t pid = -1;

	if (pthread_create(&thread, NULL, forks, &pid) == 0)
		pthread_join(thread, NULL);
	return pid;
}

static pid_t first; /* of the namespace of by_setns() */

/* A process that waits in a PID namespace, and a fork from outside into it; the rest of this process's children go there. */
static pid_t by_setns(void)
{
	struct clone_args args = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
	char path[64];
	int fd;

	if (!first) {
		first = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (first == 0)
			for (;;)
				pause();
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", first);
		fd = open(path, O_RDONLY);
		if (first < 0 || fd < 0 || setns(fd, CLONE_NEWPID) < 0)
			return -1;
		close(fd);
	}
	return by_fork();
}

static pid_t start(const char *way)
{
	if (!strcmp(way, "vfork"))
		return by_vfork();
	if (!strcmp(way, "clone"))
		return by_clone();
	if (!strcmp(way, "clone3"))
		return by_clone3(0);
	if (!strcmp(way, "newpid"))
		return by_clone3(CLONE_NEWPID);
	if (!strcmp(way, "spawn"))
		return by_spawn();
	if (!strcmp(way, "thread"))
		return by_thread();
	if (!strcmp(way, "nested"))
		return nested();
	if (!strcmp(way, "setns"))
		return by_setns();
	return by_fork();
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 1, failed = 0;

	work(NULL);
	for (int i = 0; i < cnt; i++)
		failed |= wait_for(start(argc > 2 ? argv[2 + i % (argc - 2)] : "fork"));
	if (failed)
		fprintf(stderr, "brood: a process failed\n");
	if (first > 0) {
		kill(first, SIGKILL);
		waitpid(first, NULL, 0);
	}
	return failed;
}
