/*
 * footprint.c HOW [FILE [N [THREADS]]] - what a tracer costs a program in memory. Prints "HOW VmSize VmRSS VmLck" in KiB.
 *
 *   idle      nothing but that
 *   current   mlockall(MCL_CURRENT)
 *   future    mlockall(MCL_CURRENT | MCL_FUTURE), then N preads
 *   syscall   as future, by syscall()
 *   threads   THREADS threads, all of them alive at once, N preads each
 *   fork      N preads while another thread forks 20 children, each of which makes N / 20
 *   burst     N preads while the parent process, the tracer, is stopped
 *   space     half of N preads, then the same without address space for more mappings
 *   core      aborts
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHILDREN = 20,
	STACK = 64 << 10
};

static int file = -1;
static long n;
static pthread_barrier_t barrier;

static long status_kb(const char *field)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			kb = atol(line + strlen(field));
	if (f)
		fclose(f);
	return kb;
}

static void *work(void *cnt)
{
	char byte;

	for (long i = *(long *)cnt; i; i--)
		if (pread(file, &byte, 1, 0) != 1)
			abort();
	return NULL;
}

static void *meet_and_work(void *cnt)
{
	work(cnt);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads(long cnt)
{
	pthread_t *t = calloc((size_t)cnt, sizeof(*t));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_barrier_init(&barrier, NULL, (unsigned)cnt);
	for (long i = 0; i < cnt; i++)
		if (pthread_create(&t[i], &small, meet_and_work, &n))
			abort();
	for (long i = 0; i < cnt; i++)
		pthread_join(t[i], NULL);
	free(t);
}

static void forks(void)
{
	long part = n / CHILDREN;
	pthread_t t;

	if (pthread_create(&t, NULL, work, &n))
		abort();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			work(&part);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			abort();
	}
	pthread_join(t, NULL);
}

static void space(void)
{
	struct rlimit l = {(rlim_t)status_kb("VmSize:") << 10, RLIM_INFINITY};
	long half = n / 2;

	setrlimit(RLIMIT_AS, &l);
	work(&half);
	work(&half);
}

static void lock(int flags, int by_syscall)
{
	if (by_syscall ? syscall(SYS_mlockall, flags) : mlockall(flags))
		exit(77);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (argc > 2)
		file = open(argv[2], O_RDONLY);
	n = argc > 3 ? atol(argv[3]) : 0;
	if (!strcmp(how, "current"))
		lock(MCL_CURRENT, 0);
	else if (!strcmp(how, "future") || !strcmp(how, "syscall"))
		lock(MCL_CURRENT | MCL_FUTURE, !strcmp(how, "syscall"));
	else if (!strcmp(how, "threads"))
		threads(argc > 4 ? atol(argv[4]) : 1);
	else if (!strcmp(how, "fork"))
		forks();
	else if (!strcmp(how, "space"))
		space();
	else if (!strcmp(how, "burst"))
		kill(getppid(), SIGSTOP);
	else if (!strcmp(how, "core"))
		abort();
	if (!strcmp(how, "burst") || !strcmp(how, "future") || !strcmp(how, "syscall"))
		work(&n);
	if (!strcmp(how, "burst"))
		kill(getppid(), SIGCONT);
	printf("%s %ld %ld %ld\n", how, status_kb("VmSize:"), status_kb("VmRSS:"),
	       status_kb("VmLck:"));
	return 0;
}
