/*
 * truth_sync.c - locks: the counts of every function are exact, contended or not.
 *
 * Counts do not depend on which thread wins: each thread makes a fixed number of calls. They are written as
 * totals ("count NAME N"), for a report holds uncontended calls as totals or as rows.
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "tests/prog/truth.h"

enum {
	THREADS = 4,
	ROUNDS = 500
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem;
static int turn;

static void count(const char *name, long n)
{
	char line[100];

	raw_write(1, line, (unsigned long)sprintf(line, "%s %ld\n", name, n));
}

static void *hammer(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		turn++;
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		if (i % 10 == 0) {
			pthread_rwlock_wrlock(&rwlock);
			pthread_rwlock_unlock(&rwlock);
		}
		sem_wait(&sem);
		sem_post(&sem);
		if (pthread_spin_lock(&spin) == 0)
			pthread_spin_unlock(&spin);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* The other thread has been seen asleep, or it has had two seconds to get there. */
static void until_asleep(const volatile int *tid)
{
	char path[64], text[512], *at;

	for (int i = 0; i < 1000; i++, raw_sleep_ms(2)) {
		int fd;
		long n;

		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *tid);
		fd = *tid ? raw_open(path, O_RDONLY, 0) : -1;
		if (fd < 0)
			continue;
		n = raw3(SYS_read, fd, text, sizeof(text) - 1);
		raw_close(fd);
		text[n > 0 ? n : 0] = 0;
		at = strrchr(text, ')');
		if (at && at[1] == ' ' && at[2] == 'S')
			return;
	}
}

/* A lock that is surely contended: held for 20 ms while the other thread waits. */
static volatile int waiter;

static void *waits(void *arg)
{
	(void)arg;
	waiter = (int)raw3(SYS_gettid, 0, 0, 0);
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return NULL;
}

/* Two threads in turn: pthread_cond_wait's number varies, so only signals are counted. */
static void *pong(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != 1)
			pthread_cond_wait(&cond, &mutex);
		turn = 0;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void ping(void)
{
	pthread_t t;

	turn = 0;
	pthread_create(&t, NULL, pong, NULL);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		turn = 1;
		pthread_cond_signal(&cond);
		while (turn != 0)
			pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
	}
	pthread_join(t, NULL);
}

static void timeouts(void)
{
	struct timespec past = {1, 0};
	sem_t none;

	sem_init(&none, 0, 0);
	pthread_mutex_lock(&mutex);
	if (pthread_cond_timedwait(&cond, &mutex, &past) != ETIMEDOUT)
		raw_puts(2, "timedwait is wrong\n");
	if (pthread_mutex_trylock(&mutex) != EBUSY)
		raw_puts(2, "trylock is wrong\n");
	pthread_mutex_unlock(&mutex);
	if (sem_trywait(&none) != -1 || sem_timedwait(&none, &past) != -1 || errno != ETIMEDOUT)
		raw_puts(2, "sem is wrong\n");
	pthread_cond_broadcast(&cond);
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, hammer, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (turn != THREADS * ROUNDS)
		raw_puts(2, "the mutex does not exclude\n");
	pthread_mutex_lock(&held);
	pthread_create(&t[0], NULL, waits, NULL);
	until_asleep(&waiter);
	raw_sleep_ms(20);
	pthread_mutex_unlock(&held);
	pthread_join(t[0], NULL);
	ping();
	timeouts();

	count("pthread_mutex_lock", THREADS * ROUNDS + 2 + 200 + 1);
	count("pthread_mutex_trylock", 1);
	count("pthread_rwlock_rdlock", THREADS * ROUNDS);
	count("pthread_rwlock_wrlock", THREADS * ROUNDS / 10);
	count("pthread_barrier_wait", 2 * (THREADS + 1));
	count("pthread_cond_signal", 200);
	count("pthread_cond_broadcast", 1);
	count("pthread_cond_timedwait", 1);
	count("pthread_create", THREADS + 2);
	count("pthread_join", THREADS + 2);
	count("sem_wait", THREADS * ROUNDS);
	count("sem_trywait", 1);
	count("sem_timedwait", 1);
	count("pthread_spin_lock", THREADS * ROUNDS);
	return 0;
}
