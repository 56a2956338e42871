/*
 * jumps.c HOW - control leaves a call by other ways than return: longjmp out of a signal handler that
 * interrupted read(), coroutines that switch in the middle of things, fork handlers that do I/O.
 * Prints "reads N": reads of /dev/zero that returned.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int zero;
static long reads;
static sigjmp_buf out;

static void one_read(void)
{
	char c[8];

	if (read(zero, c, 8) != 8)
		abort();
	reads++;
}

static void leap(int sig)
{
	siglongjmp(out, sig);
}

static void from_handler(void)
{
	struct itimerval it = {{0, 0}, {0, 5000}};
	int p[2];
	char c;

	if (pipe(p) < 0)
		exit(1);
	signal(SIGALRM, leap);
	for (volatile int i = 0; i < 50; i++) {
		one_read();
		setitimer(ITIMER_REAL, &it, NULL);
		if (sigsetjmp(out, 1) == 0 && read(p[0], &c, 1) != -99)
			puts("the read returned");
		one_read();
	}
}

static ucontext_t main_ctx, ctx[4];

static void coroutine(int n)
{
	for (int i = 0; i < 100; i++) {
		one_read();
		swapcontext(&ctx[n], &ctx[(n + 1) % 4]);
	}
}

static void coroutines(void)
{
	for (int i = 0; i < 4; i++) {
		getcontext(&ctx[i]);
		ctx[i].uc_stack.ss_sp = malloc(65536);
		ctx[i].uc_stack.ss_size = 65536;
		ctx[i].uc_link = &main_ctx;
		makecontext(&ctx[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&main_ctx, &ctx[0]);
}

static void at_fork(void)
{
	pid_t pid;
	int status;

	pthread_atfork(one_read, one_read, one_read);
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			one_read();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			printf("child %x\n", (unsigned)status);
	}
}

/* A blocked call that a handler interrupts, with and without SA_RESTART. */
static void nothing(int sig)
{
	(void)sig;
	one_read();
}

static void interrupted(void)
{
	struct sigaction sa = {.sa_handler = nothing};
	struct itimerval it = {{0, 0}, {0, 5000}};
	int p[2];
	char c;

	if (pipe(p) < 0)
		exit(1);
	sigaction(SIGALRM, &sa, NULL);
	for (int i = 0; i < 10; i++) {
		setitimer(ITIMER_REAL, &it, NULL);
		printf("read %zd ", read(p[0], &c, 1));
		perror("");
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	zero = open("/dev/zero", O_RDONLY);
	if (!strcmp(how, "longjmp"))
		from_handler();
	else if (!strcmp(how, "coroutines"))
		coroutines();
	else if (!strcmp(how, "atfork"))
		at_fork();
	else if (!strcmp(how, "eintr"))
		interrupted();
	printf("reads %ld\n", reads);
	return 0;
}
