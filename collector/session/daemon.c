/* daemon.c - double-forks the collector and passes it the question. */
#include "collector/session/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 30000

/* The path by name: lists of processes would show "exe". */
static const char *own_path(char *path)
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	if (len <= 0 || len >= PATH_MAX)
		return (const char *)getauxval(AT_EXECFN);
	path[len] = 0;
	return access(path, X_OK) == 0 ? path : "/proc/self/exe";
}

static void be_collector(int sock, const char *path, const char *root)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (sock != 3)
		dup2(sock, 3);
	else
		fcntl(3, F_SETFD, 0);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(4, ~0u, 0);
	unsetenv("LD_PRELOAD");
	unsetenv("LD_AUDIT");
	unsetenv("SIGHTLINE_SESSION");
	execl(path, path, "collect", "--root", root, "--ask-fd", "3", (char *)NULL);
	_exit(127);
}

int daemon_start(struct command *ask, uint32_t root)
{
	char path[PATH_MAX + 1], number[16];
	const char *self = own_path(path);
	int pair[2], status, err;
	pid_t pid;

	snprintf(number, sizeof(number), "%u", root);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			be_collector(pair[1], self, number);
		_exit(0);
	}
	err = pid < 0 ? -errno : 0;
	close(pair[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!err)
		err = command_send(pair[0], ask);
	if (!err)
		err = command_receive(pair[0], ask, ANSWER_MS);
	close(pair[0]);
	return err ? err : command_status(ask);
}
