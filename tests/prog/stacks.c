/*
 * stacks.c - sleeps, called from distinct places. Each argument is a step:
 *
 *   a b     a call from one place, from another
 *   t       four threads, a and b ten times in each
 *   f       a child: a, b and a place of its own
 *   x       this program anew, with the arguments that follow
 *   done=FILE   makes the file; await=FILE: until there is one, without a call that has a stack
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

static __attribute__((noinline)) void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		usleep(100);
	sink++;
}

void place_a(void);
void place_b(void);

__attribute__((noinline)) void place_a(void)
{
	deep(5);
	sink++;
}

__attribute__((noinline)) void place_b(void)
{
	deep(5);
	sink++;
}

static __attribute__((noinline)) void place_of_child(void)
{
	deep(3);
	sink++;
}

static void *thread(void *arg)
{
	for (int i = 0; i < 10; i++) {
		place_a();
		place_b();
	}
	return arg;
}

static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void child(void)
{
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	place_a();
	place_b();
	place_of_child();
	_exit(0);
}

static void step(char **argv)
{
	if (strcmp(*argv, "a") == 0)
		place_a();
	else if (strcmp(*argv, "b") == 0)
		place_b();
	else if (strcmp(*argv, "t") == 0)
		threads();
	else if (strcmp(*argv, "f") == 0)
		child();
	else if (strncmp(*argv, "done=", 5) == 0)
		close(open(*argv + 5, O_CREAT | O_WRONLY, 0600));
	else if (strncmp(*argv, "await=", 6) == 0)
		while (access(*argv + 6, F_OK) < 0)
			sched_yield();
	else if (strcmp(*argv, "x") == 0)
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		step(argv + i);
	return 0;
}
