/*
 * left.c - calls that do not return.
 *
 *   left jump N     N calls of poll(), each left by siglongjmp() from a signal handler
 *   left nested N   N calls of fread(), whose stream calls access(), and leaves fread() by longjmp()
 *   left stack      a signal handler on a stack of its own, above that of the program, makes calls: all of them return
 *   left exit       a signal handler calls exit() during poll()
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static jmp_buf out;

static void jump(int sig)
{
	siglongjmp(back, sig);
}

static void leave(int sig)
{
	(void)sig;
	exit(0);
}

static void look(int sig)
{
	(void)sig;
	(void)!access("/", F_OK);
}

static void in(long us, void (*handler)(int), int flags)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
	struct itimerval timer = {.it_value = {.tv_usec = us}};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static ssize_t read_nothing(void *cookie, char *to, size_t len)
{
	(void)cookie;
	(void)to;
	(void)len;
	(void)!access("/", F_OK);
	longjmp(out, 1);
}

static void jumps(int cnt)
{
	for (volatile int i = 0; i < cnt; i++) {
		if (sigsetjmp(back, 1))
			continue;
		in(1000, jump, 0);
		poll(NULL, 0, -1);
	}
}

static void nested(int cnt)
{
	FILE *f = fopencookie(NULL, "r", (cookie_io_functions_t){.read = read_nothing});
	char c;

	for (volatile int i = 0; i < cnt; i++)
		if (!setjmp(out))
			(void)!fread(&c, 1, 1, f);
}

/* The program's part runs on the lower one of two stacks, the handler on the upper one. */
static ucontext_t main_context, low;
static char stacks[2][256 << 10];

static void wait_there(void)
{
	in(20000, look, SA_ONSTACK);
	poll(NULL, 0, 100);
}

static void upper_stack(void)
{
	stack_t upper = {.ss_sp = stacks[1], .ss_size = sizeof(stacks[1])};

	sigaltstack(&upper, NULL);
	getcontext(&low);
	low.uc_stack.ss_sp = stacks[0];
	low.uc_stack.ss_size = sizeof(stacks[0]);
	low.uc_link = &main_context;
	makecontext(&low, wait_there, 0);
	swapcontext(&main_context, &low);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int cnt = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "jump"))
		jumps(cnt);
	if (!strcmp(what, "nested"))
		nested(cnt);
	if (!strcmp(what, "stack"))
		upper_stack();
	if (!strcmp(what, "exit")) {
		in(1000, leave, 0);
		poll(NULL, 0, -1);
	}
	return 0;
}
