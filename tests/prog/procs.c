/*
 * procs.c HOW - makes a child in the way named, waits, prints how it ended. The child prints what it
 * sees: its arguments and its whole environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *self;
static char *own_env[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};
static char *no_env[] = {NULL};
static char *plain[] = {"procs", "child", "one two", NULL};

/* Reads a file, so that a traced child leaves a trace, and shows what it was given. */
static int child(int argc, char **argv)
{
	char buf[16];
	int fd = open("/etc/passwd", O_RDONLY);

	if (read(fd, buf, sizeof(buf)) != sizeof(buf))
		return 1;
	close(fd);
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **e = environ; e && *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "SIGHTLINE_", 10))
			printf("env %s\n", *e);
	/* An emptied environment must look empty: nothing of a tracer's in it. */
	if (!getenv("HOME"))
		printf("ours %d %d %d\n", getenv("LD_PRELOAD") != NULL,
		       getenv("SIGHTLINE_SESSION") != NULL, getenv("SIGHTLINE_CLEAN") != NULL);
	fflush(stdout);
	return 7;
}

static void ended(pid_t pid)
{
	int status = 0;

	if (pid < 0) {
		printf("no child: %s\n", strerror(errno));
	} else {
		if (waitpid(pid, &status, __WALL) != pid)
			printf("wait: %s\n", strerror(errno));
		printf("status %x\n", (unsigned)status);
	}
	fflush(stdout);
}

static int run_child(void *arg)
{
	execve(self, arg ? (char **)arg : plain, own_env);
	_exit(98);
}

static int only_exit(void *arg)
{
	/* The memory is the parent's: only raw calls and stores. */
	*(int *)arg += 1;
	syscall(SYS_exit, 5);
	return 0;
}

static void clones(const char *how)
{
	char *stack =
		mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int shared = 0;
	pid_t pid = -1;

	if (!strcmp(how, "clone_vm"))
		pid = clone(only_exit, stack + (1 << 18), CLONE_VM | SIGCHLD, &shared);
	else if (!strcmp(how, "clone_vfork"))
		pid = clone(run_child, stack + (1 << 18), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	else if (!strcmp(how, "clone_fork"))
		pid = clone(run_child, stack + (1 << 18), SIGCHLD, NULL);
	ended(pid);
	printf("shared %d\n", shared);
}

static void spawn(const char *how)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t set;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "spawned.out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	posix_spawn_file_actions_adddup2(&fa, 1, 40);
	posix_spawn_file_actions_addclose(&fa, 0);
	posix_spawnattr_init(&at);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&at, &set);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	errno = posix_spawn(&pid, self, &fa, &at, plain,
			    !strcmp(how, "spawn_empty") ? no_env
			    : !strcmp(how, "spawn_own") ? own_env
							: environ);
	ended(pid);
	fflush(stdout);
	if (system("cat spawned.out; rm spawned.out") != 0)
		puts("no output");
}

static void in_child(const char *how)
{
	int fd;

	if (!strcmp(how, "execve_null"))
		execve(self, plain, NULL);
	else if (!strcmp(how, "execve_empty"))
		execve(self, plain, no_env);
	else if (!strcmp(how, "execve_own"))
		execve(self, plain, own_env);
	else if (!strcmp(how, "execle"))
		execle(self, "procs", "child", "by execle", NULL, own_env);
	else if (!strcmp(how, "execle_empty"))
		execle(self, "procs", "child", NULL, no_env);
	else if (!strcmp(how, "execl"))
		execl(self, "procs", "child", "a", "b", "c", "d", "e", "f", "g", "h", NULL);
	else if (!strcmp(how, "execv"))
		execv(self, plain);
	else if (!strcmp(how, "execvpe"))
		execvpe(self, plain, own_env);
	else if (!strcmp(how, "fexecve")) {
		fd = open(self, O_RDONLY | O_CLOEXEC);
		fexecve(fd, plain, own_env);
	} else if (!strcmp(how, "execveat")) {
		fd = open(self, O_PATH | O_CLOEXEC);
		execveat(fd, "", plain, own_env, AT_EMPTY_PATH);
	} else if (!strcmp(how, "exec_cleared")) {
		clearenv();
		execv(self, plain);
	} else if (!strcmp(how, "exec_unset")) {
		unsetenv("LD_PRELOAD");
		unsetenv("SIGHTLINE_SESSION");
		execv(self, plain);
	}
	_exit(97);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	volatile int i;
	pid_t pid;

	self = argc > 2 ? argv[2] : argv[0];
	if (!strcmp(how, "child"))
		return child(argc, argv);
	if (!strncmp(how, "spawn", 5)) {
		spawn(how);
	} else if (!strncmp(how, "clone", 5)) {
		clones(how);
	} else if (!strcmp(how, "raw_fork")) {
		pid = (pid_t)syscall(SYS_fork);
		if (!pid) {
			char buf[4];
			int fd = open("/etc/group", O_RDONLY);

			_exit(read(fd, buf, 4) == 4 ? 6 : 1);
		}
		ended(pid);
	} else if (!strcmp(how, "vfork_exec")) {
		for (i = 0; i < 20; i++) {
			pid = vfork();
			if (!pid) {
				execve(self, plain, own_env);
				_exit(96);
			}
			ended(pid);
		}
	} else if (!strcmp(how, "vfork_exit")) {
		for (i = 0; i < 20; i++) {
			pid = vfork();
			if (!pid)
				_exit(3);
			ended(pid);
		}
	} else if (!strcmp(how, "vfork_fail")) {
		pid = vfork();
		if (!pid) {
			execve("/nonexistent", plain, own_env);
			_exit(errno);
		}
		ended(pid);
	} else if (!strcmp(how, "vfork_work")) {
		/* What shells and subprocess do between vfork and exec: descriptors, then exec. */
		pid = vfork();
		if (!pid) {
			int fd = open("/dev/null", O_RDONLY);

			dup2(fd, 0);
			close(fd);
			execve(self, plain, environ);
			_exit(96);
		}
		ended(pid);
		printf("next %d\n", open("/dev/null", O_RDONLY));
	} else if (!strcmp(how, "many")) {
		for (i = 0; i < 500; i++) {
			pid = fork();
			if (!pid) {
				char buf[1];
				int fd = open("/dev/zero", O_RDONLY);

				_exit(fd >= 0 && read(fd, buf, 1) == 1 ? i % 100 : 99);
			}
			ended(pid);
		}
	} else {
		pid = fork();
		if (!pid)
			in_child(how);
		ended(pid);
	}
	return 0;
}
