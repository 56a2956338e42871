/*
 * sample_faults.c - what programs do to themselves while their CPU samples are taken. Ends with 3.
 *
 *   sample_faults forks    six threads start fifteen children each, all busy
 *   sample_faults threads NUMBER  so many threads, eight at a time, each busy for a moment
 *   sample_faults execs    becomes itself a hundred times
 *   sample_faults closes   closes every descriptor, also those it does not know
 *   sample_faults strict   allows itself read, write and exit only, and is busy
 *   sample_faults busy     is busy for long
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void turn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

static __attribute__((noinline)) void spin(double seconds)
{
	for (double end = cpu() + seconds; cpu() < end;)
		turn(20000);
	sink++;
}

static void *forks(void *arg)
{
	(void)arg;
	for (int i = 0; i < 15; i++) {
		pid_t child = fork();

		if (child == 0) {
			spin(0.006);
			_exit(0);
		}
		spin(0.001);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	return NULL;
}

static void *brief(void *arg)
{
	(void)arg;
	spin(0.004);
	return NULL;
}

static void threads(unsigned cnt, unsigned at_once, void *(*run)(void *))
{
	pthread_t t[8];

	for (unsigned i = 0; i < cnt; i += at_once) {
		for (unsigned k = 0; k < at_once; k++)
			if (pthread_create(&t[k], NULL, run, NULL))
				exit(1);
		for (unsigned k = 0; k < at_once; k++)
			pthread_join(t[k], NULL);
	}
}

static void strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(77);
	for (int i = 0; i < 300; i++) {
		turn(1000000);
		if (write(1, ".", 1) != 1)
			break;
	}
	syscall(SYS_exit, 3);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int left = argc > 2 ? atoi(argv[2]) : 100;
	char number[16];

	if (!strcmp(what, "forks")) {
		threads(6, 6, forks);
	} else if (!strcmp(what, "threads")) {
		threads((unsigned)left, 8, brief);
	} else if (!strcmp(what, "execs")) {
		spin(0.003);
		snprintf(number, sizeof(number), "%d", left - 1);
		if (left > 1)
			execl(argv[0], argv[0], what, number, (char *)NULL);
	} else if (!strcmp(what, "closes")) {
		syscall(SYS_close_range, 0, ~0u, 0);
		spin(0.3);
	} else if (!strcmp(what, "strict")) {
		strict();
	} else if (!strcmp(what, "busy")) {
		spin(20);
	} else {
		return 1;
	}
	return 3;
}
