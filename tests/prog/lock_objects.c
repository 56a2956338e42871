/*
 * lock_objects.c [shared] - one thread waits for each kind of lock that another one has, in turn. Prints for each call that had to
 * wait: its function, the thread, the address of the object, the thread that had it (0: not known). shared: the mutex and the
 * rwlock are those of several processes.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/raw.h"

static pthread_mutex_t mutex, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int shared;

static int self(void)
{
	return (int)raw3(SYS_gettid, 0, 0, 0);
}

static void note(const char *name, const void *object, int owner)
{
	char line[128];

	raw_write(1, line,
		  (unsigned long)sprintf(line, "%s %d %lu %d\n", name, self(),
					 (unsigned long)object, owner));
}

static struct timespec soon(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	t.tv_sec += 60;
	return t;
}

static void *wait_for_each(void *arg)
{
	int owner = shared ? 0 : *(int *)arg;
	struct timespec t = soon(CLOCK_REALTIME);

	note("pthread_mutex_lock", &mutex, owner);
	if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex))
		abort();
	note("pthread_rwlock_rdlock", &rwlock, owner);
	if (pthread_rwlock_rdlock(&rwlock) || pthread_rwlock_unlock(&rwlock))
		abort();
	note("pthread_spin_lock", (const void *)&spin, 0);
	if (pthread_spin_lock(&spin) || pthread_spin_unlock(&spin))
		abort();
	note("sem_wait", &sem, 0);
	if (sem_wait(&sem))
		abort();
	pthread_mutex_lock(&outer);
	note("pthread_cond_timedwait", &cond, 0);
	if (pthread_cond_timedwait(&cond, &outer, &t))
		abort();
	pthread_mutex_unlock(&outer);
	note("flockfile", stderr, 0);
	flockfile(stderr);
	funlockfile(stderr);
	note("pthread_barrier_wait", &barrier, 0);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* Until the other thread waits; it has no other signal that it does. */
static void pause_for_it(void)
{
	raw_sleep_ms(30);
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t mutex_kind;
	pthread_rwlockattr_t rwlock_kind;
	pthread_t thread;
	int me = self();

	shared = argc > 1 && strcmp(argv[1], "shared") == 0;
	pthread_mutexattr_init(&mutex_kind);
	pthread_mutexattr_setpshared(&mutex_kind, shared);
	pthread_mutex_init(&mutex, &mutex_kind);
	pthread_rwlockattr_init(&rwlock_kind);
	pthread_rwlockattr_setpshared(&rwlock_kind, shared);
	pthread_rwlock_init(&rwlock, &rwlock_kind);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_mutex_lock(&mutex) || pthread_rwlock_wrlock(&rwlock) ||
	    pthread_spin_lock(&spin))
		abort();
	flockfile(stderr);
	if (pthread_create(&thread, NULL, wait_for_each, &me))
		abort();
	pause_for_it();
	pthread_mutex_unlock(&mutex);
	pause_for_it();
	pthread_rwlock_unlock(&rwlock);
	pause_for_it();
	pthread_spin_unlock(&spin);
	pause_for_it();
	sem_post(&sem);
	pause_for_it();
	pthread_mutex_lock(&outer);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&outer);
	pause_for_it();
	funlockfile(stderr);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	return 0;
}
