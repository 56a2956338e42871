/* leave.c HOW [NUMBER] - ends in the way named: exit, _exit, quick_exit, return, abort, raise, crash. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void last_words(void)
{
	puts("exit handler");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	atexit(last_words);
	printf("leaving by %s\n", how);
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(n);
	if (!strcmp(how, "_exit"))
		_exit(n);
	if (!strcmp(how, "quick_exit"))
		quick_exit(n);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "raise")) {
		signal(n, SIG_DFL);
		raise(n);
		return 99;
	}
	if (!strcmp(how, "crash"))
		*(volatile int *)8 = 1;
	return n;
}
