/*
 * flight.c - a program for the flight recorder: threads that read one byte each at offset 0, 1, 2, ... of a sparse file,
 * and print at the end how far they came; so a report can be compared with what was done, call by call.
 *
 *   flight THREADS SECONDS PER_MS END     PER_MS: calls per ms and thread, 0: as fast as they can, and 250,000 at least
 *   flight STEPS MS steps N MS     steps of so many ms in NVTX ranges "step"; every Nth takes MS instead
 *   END: ok, exit3, segv, abort, kill, child-segv, child-kill, slow (a call of 200 ms in the middle), threads (new ones
 *   all the time)
 *   SIGTERM: that was long enough
 * Prints on stdout: "THREAD LAST ENDED FEW MANY", ENDED as CLOCK_MONOTONIC ns, FEW and MANY: calls of the last 0.8 and 2.5 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"

#define MANY 250000

static int fd, per_ms;
static volatile int64_t until;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* How many calls a thread had made at each tenth of a second. */
struct pace {
	int64_t tenths, made[1024];
};

static void note(struct pace *p, int64_t ns, int64_t made)
{
	while (p->tenths <= ns / 100000000)
		p->made[p->tenths++ & 1023] = made;
}

static int64_t made_before(const struct pace *p, int64_t tenths)
{
	return p->tenths > tenths ? p->made[(p->tenths - 1 - tenths) & 1023] : 0;
}

static void *work(void *arg)
{
	int64_t number = (intptr_t)arg, i, t = now(), begun = t;
	struct pace pace = {0};
	off_t base = (off_t)number << 36;
	char byte;

	for (i = 0; t < until || (!per_ms && i < MANY); i++) {
		if (pread(fd, &byte, 1, base + i) < 0)
			abort();
		if (i % 64)
			continue;
		t = now();
		note(&pace, t - begun, i);
		if (per_ms && i > (t - begun) / 1000000 * per_ms)
			usleep(1000);
	}
	note(&pace, now() - begun, i);
	printf("%lld %lld %lld %lld %lld\n", (long long)number, (long long)i - 1, (long long)now(),
	       (long long)(i - made_before(&pace, 8)), (long long)(i - made_before(&pace, 25)));
	fflush(stdout);
	return NULL;
}

static void *one_call(void *arg)
{
	char byte;

	if (pread(fd, &byte, 1, (off_t)1 << 40 | (intptr_t)arg) < 0)
		abort();
	return NULL;
}

/* Threads that make one call each, one after the other. */
static void many_threads(void)
{
	intptr_t i;
	pthread_t t;

	for (i = 0; now() < until; i++) {
		if (pthread_create(&t, NULL, one_call, (void *)i))
			abort();
		pthread_join(t, NULL);
		if (per_ms)
			usleep(1000u / (unsigned)per_ms);
	}
	printf("%lld %lld %lld\n", 1ll << 4, (long long)i - 1, (long long)now());
	fflush(stdout);
}

static void steps(char **argv)
{
	int cnt = atoi(argv[1]), ms = atoi(argv[2]), each = atoi(argv[4]), slow = atoi(argv[5]);

	if (!nvtx_load())
		exit(1);
	for (int i = 1; i <= cnt; i++) {
		push("step");
		usleep(1000u * (unsigned)(i % each ? ms : slow));
		pop();
	}
}

static void enough(int sig)
{
	(void)sig;
	until = 0;
}

static void end(const char *how)
{
	if (!strcmp(how, "exit3"))
		exit(3);
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/sightline-flight.XXXXXX";
	pthread_t thread[64];
	int threads, is_child, status;
	const char *how;

	if (argc < 5)
		return 2;
	if (argc > 5) {
		steps(argv);
		return 0;
	}
	threads = atoi(argv[1]);
	per_ms = atoi(argv[3]);
	how = argv[4];
	signal(SIGTERM, enough);
	until = now() + (int64_t)(atof(argv[2]) * 1e9);
	fd = mkstemp(name);
	unlink(name);
	is_child = !strncmp(how, "child-", 6);
	if (is_child) {
		pid_t pid = fork();

		if (pid) {
			waitpid(pid, &status, 0);
			sleep(1);
			return 0;
		}
		how += 6;
	}
	if (!strcmp(how, "threads")) {
		many_threads();
		return 0;
	}
	for (intptr_t i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	if (!strcmp(how, "slow")) {
		struct timespec half = {.tv_nsec = 200000000};

		usleep((useconds_t)(atof(argv[2]) * 5e5));
		nanosleep(&half, NULL);
	}
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	end(how);
	return 0;
}
