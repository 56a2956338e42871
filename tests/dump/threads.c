/* 64 threads that sleep, wait for locks, read pipes, sort and compute, in calls of many depths. Prints "ready" when all have begun. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int ends[2];
static volatile unsigned sum;

static void nap(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static unsigned deep(unsigned n, volatile char *room)
{
	char more[64];
	unsigned below;

	memset(more, (int)n, sizeof(more));
	if (n) {
		below = deep(n - 1, more);
		return below + (unsigned)more[n % sizeof(more)] + (unsigned)room[0];
	}
	nap(100000);
	return (unsigned)more[5];
}

/* A frame whose size only the program knows. */
__attribute__((noinline)) static unsigned grows(unsigned n)
{
	char *room = __builtin_alloca(n * 16 + 16);

	memset(room, 1, n * 16 + 16);
	nap(50000);
	return (unsigned)room[n];
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 7)
		nap(20000);
	return *(const int *)a - *(const int *)b;
}

static void sorts(void)
{
	int list[64];

	for (int i = 0; i < 64; i++)
		list[i] = (i * 37) % 64;
	qsort(list, 64, sizeof(*list), compare);
	sum += (unsigned)list[3];
}

static void locks(void)
{
	pthread_mutex_lock(&lock);
	nap(1000);
	pthread_mutex_unlock(&lock);
}

static void waits(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec = (until.tv_nsec + 3000000) % 1000000000;
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&cond, &lock, &until);
	pthread_mutex_unlock(&lock);
}

static void takes(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	sem_timedwait(&sem, &until);
}

static void polls(void)
{
	struct pollfd p = {ends[0], POLLIN, 0};

	poll(&p, 1, 2);
}

static void *run(void *arg)
{
	size_t i = (size_t)arg;
	char room[2] = "";

	for (;;) {
		if (i % 8 == 0)
			sum += deep((unsigned)i / 2, room);
		else if (i % 8 == 1)
			sum += grows((unsigned)i);
		else if (i % 8 == 2)
			sorts();
		else if (i % 8 == 3)
			locks();
		else if (i % 8 == 4)
			waits();
		else if (i % 8 == 5)
			takes();
		else if (i % 8 == 6)
			polls();
		else
			nap(1000000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	if (pipe(ends))
		return 1;
	sem_init(&sem, 0, 0);
	for (size_t i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, run, (void *)i))
			return 1;
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i++)
		sum += i * 2654435761U;
}
