/*
 * handler.c MS - for so many milliseconds, a 1 kHz timer's handler reads and writes while main does the
 * same. Prints, last, "read N write M": every call made, each of which a report must hold or count.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int in, out;
static volatile long reads, writes, in_handler, busy_errno;

static void once(void)
{
	char c[16];

	if (read(in, c, sizeof(c)) == sizeof(c))
		__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	if (write(out, c, sizeof(c)) == sizeof(c))
		__atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
}

static void tick(int sig)
{
	(void)sig;
	in_handler++;
	once();
}

int main(int argc, char **argv)
{
	struct itimerval it = {{0, 1000}, {0, 1000}}, off = {0};
	struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
	struct timespec a, b;

	in = open("/dev/zero", O_RDONLY);
	out = open("/dev/null", O_WRONLY);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; i < 100; i++)
			once();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 <
		 (argc > 1 ? atoi(argv[1]) : 500));
	setitimer(ITIMER_REAL, &off, NULL);
	if (in_handler < 10)
		return 1;
	printf("read %ld write %ld\n", reads, writes);
	return 0;
}
