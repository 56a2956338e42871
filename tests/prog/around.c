/*
 * around.c - prints what surrounds a process: descriptors, folder, masks, limits, signals, session,
 * environment, threads, children. A tracer may change none of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void descriptors(void)
{
	char path[64], to[4096];
	int p[2];

	printf("numbers: %d", open("/dev/null", O_RDONLY));
	printf(" %d", dup(0));
	printf(" %d", socket(AF_UNIX, SOCK_STREAM, 0));
	printf(" %d", epoll_create1(0));
	printf(" %d", eventfd(0, 0));
	if (pipe(p) == 0)
		printf(" %d %d", p[0], p[1]);
	printf(" %d\n", fcntl(0, F_DUPFD, 100));
	for (int fd = 3; fd < 2000; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0)
			continue;
		to[n] = 0;
		to[strcspn(to, "[")] = 0; /* numbers of pipes and sockets differ from run to run */
		printf("fd %d -> %s flags %x %x\n", fd, to, (unsigned)fcntl(fd, F_GETFD),
		       (unsigned)fcntl(fd, F_GETFL));
	}
}

static void signals(void)
{
	struct sigaction sa;
	sigset_t set;

	for (int s = 1; s < NSIG; s++) {
		if (sigaction(s, NULL, &sa) < 0)
			continue;
		if (sa.sa_handler != SIG_DFL)
			printf("signal %d: %s\n", s,
			       sa.sa_handler == SIG_IGN ? "ignored" : "handled");
	}
	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int s = 1; s < NSIG; s++)
		if (sigismember(&set, s) == 1)
			printf("signal %d: blocked\n", s);
	sigpending(&set);
	for (int s = 1; s < NSIG; s++)
		if (sigismember(&set, s) == 1)
			printf("signal %d: pending\n", s);
}

static void limits(void)
{
	struct itimerval it;
	struct rlimit l;
	stack_t st;

	for (int r = 0; r < RLIMIT_NLIMITS; r++)
		if (getrlimit((__rlimit_resource_t)r, &l) == 0)
			printf("limit %d: %ld %ld\n", r, (long)l.rlim_cur, (long)l.rlim_max);
	for (int w = 0; w < 3; w++)
		if (getitimer((__itimer_which_t)w, &it) == 0)
			printf("timer %d: %ld\n", w, (long)it.it_value.tv_sec);
	sigaltstack(NULL, &st);
	printf("altstack %d\n", st.ss_flags);
	printf("nice %d dumpable %d no_new_privs %d deathsig ", getpriority(PRIO_PROCESS, 0),
	       prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	int sig = 0;
	prctl(PR_GET_PDEATHSIG, &sig);
	printf("%d subreaper ", sig);
	sig = 0;
	prctl(PR_GET_CHILD_SUBREAPER, &sig);
	printf("%d personality %x secure %lu\n", sig, (unsigned)personality(0xffffffff),
	       getauxval(AT_SECURE));
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void context(void)
{
	char cwd[4096], comm[17] = "";
	mode_t mask = umask(0);
	extern char **environ;

	umask(mask);
	prctl(PR_GET_NAME, comm);
	printf("cwd %s umask %o comm %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "none", mask, comm);
	printf("group %s session %s terminal %s\n", getpgrp() == getpid() ? "leader" : "member",
	       getsid(0) == getpid() ? "leader" : "member", ttyname(0) ? ttyname(0) : "none");
	printf("threads %d", threads());
	printf(" wait %d", wait(NULL));
	printf(" errno %d\n", errno);
	for (char **e = environ; *e; e++) {
		/* A program that was given LD_PRELOAD sees it, as under any other preload. */
		if (!strncmp(*e, "LD_PRELOAD=", 11) || !strncmp(*e, "SIGHTLINE_", 10))
			continue;
		printf("env %s\n", *e);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("argument %s\n", argv[i]);
	context();
	signals();
	limits();
	descriptors();
	return 0;
}
