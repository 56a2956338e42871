/*
 * pair_host.c - what makes programs slow on the CPU side, one thing each, and the same work done well:
 *
 *   pair_host PROBLEM bad|good
 *
 * `sightline analyze` must name the problem in the report of the first and find nothing of the kind in that of the
 * second. The two are so far apart that a busy machine does not blur them. Files are made in the current folder.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	KIB = 1 << 10,
	MIB = 1 << 20
};

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Uses a CPU for so long, not counting the time that others have it. */
static void compute(unsigned us)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000ull;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void nap(unsigned us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static int make_file(const char *path, size_t bytes)
{
	char *p = malloc(bytes);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	CHECK(p && fd >= 0);
	memset(p, 'x', bytes);
	CHECK(write(fd, p, bytes) == (ssize_t)bytes);
	free(p);
	return fd;
}

static void run_threads(int cnt, void *(*function)(void *))
{
	pthread_t threads[64];
	int i;

	for (i = 0; i < cnt; i++)
		CHECK(!pthread_create(&threads[i], NULL, function, (void *)(intptr_t)i));
	for (i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
}

/* ---- a file read in crumbs, or in pieces of a sensible size ---- */

static void reads(int bad)
{
	size_t size = 4 * MIB, piece = bad ? 64 : MIB, at;
	char *p = malloc(size);
	int fd = make_file("data.bin", size), round;

	CHECK(p);
	for (round = 0; round < 12; round++)
		for (at = 0; at < size; at += piece)
			CHECK(pread(fd, p + at, piece, (off_t)at) == (ssize_t)piece);
	close(fd);
	free(p);
	compute(50000);
}

/* ---- a journal that is sent to the disk after each line, or once ---- */

static void syncs(int bad)
{
	int fd = open("journal", O_WRONLY | O_CREAT | O_TRUNC, 0644), i;

	CHECK(fd >= 0);
	for (i = 0; i < 1000; i++) {
		CHECK(write(fd, "a line of the journal\n", 22) == 22);
		if (bad)
			CHECK(!fsync(fd));
	}
	CHECK(!fsync(fd));
	close(fd);
	compute(50000);
}

/* ---- work that needs no lock, with it and without ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int locks_bad;
static unsigned long total;

static void *locker(void *unused)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (locks_bad)
			pthread_mutex_lock(&lock);
		nap(500);
		if (!locks_bad)
			pthread_mutex_lock(&lock);
		total++;
		pthread_mutex_unlock(&lock);
		sched_yield(); /* or the lock would hardly change hands */
	}
	return unused;
}

static void locks(int bad)
{
	locks_bad = bad;
	run_threads(4, locker);
}

/* ---- more threads that compute than processors, or one ---- */

static void *spinner(void *unused)
{
	compute(25000);
	return unused;
}

static void crowd(int bad)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (bad)
		run_threads(cpus > 8 ? 64 : (int)cpus * 8, spinner);
	else
		run_threads(1, spinner);
}

/* ---- a file that is not in memory any more, and one that is ---- */

static void cold(int bad)
{
	enum {
		FILE_BYTES = 48 * MIB,
		PIECE = 128 * KIB
	};
	char *p = malloc(PIECE);
	int fd = make_file("data.bin", FILE_BYTES), round;
	off_t at;

	CHECK(p);
	CHECK(!fsync(fd));
	for (round = 0; round < 3; round++) {
		if (bad) {
			CHECK(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
			CHECK(!posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
		}
		for (at = 0; at < FILE_BYTES; at += PIECE)
			CHECK(pread(fd, p, PIECE, at) == PIECE);
	}
	close(fd);
	free(p);
	compute(50000);
}

/* ---- threads that meet after each step, one of which has most of the work ---- */

enum {
	WORKERS = 2,
	STEPS = 10
};
static pthread_barrier_t barrier;
static int uneven;

static void *worker(void *data)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		compute(!uneven ? 10000 : data ? 1000 : 19000);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void imbalance(int bad)
{
	uneven = bad;
	CHECK(!pthread_barrier_init(&barrier, NULL, WORKERS));
	run_threads(WORKERS, worker);
}

/* ---- a program started for every item ---- */

static void processes(int bad)
{
	int i, n = bad ? 250 : 1;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	}
	if (!bad)
		compute(50000);
}

/* ---- a thread for every item ---- */

static void *item(void *unused)
{
	compute(5);
	return unused;
}

static void threads(int bad)
{
	int i;

	for (i = 0; i < 3200; i += 32)
		if (bad)
			run_threads(32, item);
	for (i = 0; i < 3200 && !bad; i++)
		item(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int bad);
	} problems[] = {
		{"reads", reads},         {"syncs", syncs},     {"locks", locks},
		{"crowd", crowd},         {"cold", cold},       {"imbalance", imbalance},
		{"processes", processes}, {"threads", threads},
	};
	size_t i;

	if (argc == 3 && (!strcmp(argv[2], "bad") || !strcmp(argv[2], "good")))
		for (i = 0; i < sizeof(problems) / sizeof(*problems); i++)
			if (!strcmp(argv[1], problems[i].name)) {
				problems[i].run(!strcmp(argv[2], "bad"));
				return 0;
			}
	fprintf(stderr, "usage: pair_host PROBLEM bad|good\n");
	return 2;
}
