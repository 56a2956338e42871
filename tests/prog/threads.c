/*
 * threads.c HOW [N] - threads that come and go in every way while they do I/O. Prints only what does
 * not depend on chance; "calls N" is the number of reads of /dev/zero that all of them made.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int zero;
static long calls;
static volatile int stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;

static void one_read(void)
{
	char c;

	if (read(zero, &c, 1) != 1)
		abort();
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

static pthread_t start(void *(*body)(void *), void *arg)
{
	pthread_attr_t at;
	pthread_t t;
	int err;

	pthread_attr_init(&at);
	pthread_attr_setstacksize(&at, 1 << 16);
	err = pthread_create(&t, &at, body, arg);
	if (err) {
		printf("pthread_create: %s\n", strerror(err));
		exit(1);
	}
	return t;
}

static void *leaves(void *arg)
{
	one_read();
	if (arg)
		pthread_exit(arg);
	return (void *)2;
}

static void on_key(void *value)
{
	(void)value;
	one_read();
}

static pthread_key_t key;
static void *with_key(void *arg)
{
	pthread_setspecific(key, (void *)1);
	one_read();
	return arg;
}

static void clean(void *arg)
{
	one_read();
	if (arg)
		pthread_mutex_unlock(arg);
}

static void *in_read(void *arg)
{
	char c;
	struct iovec v = {&c, 1};

	pthread_cleanup_push(clean, NULL);
	pthread_barrier_wait(&barrier);
	/* Not read(): whether a call that never returned is in a report is another question. */
	if (readv(*(int *)arg, &v, 1) != 1)
		puts("readv ended");
	pthread_cleanup_pop(1);
	return NULL;
}

static void *in_cond(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, &mutex);
	pthread_barrier_wait(&barrier);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *alive(void *arg)
{
	(void)arg;
	one_read();
	pthread_barrier_wait(&barrier);
	one_read();
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *hammers(void *arg)
{
	(void)arg;
	while (!stop)
		one_read();
	return NULL;
}

static void joined(pthread_t t)
{
	void *r;

	pthread_join(t, &r);
	printf("ended with %ld\n", r == PTHREAD_CANCELED ? -1L : (long)r);
}

static void cancels(void)
{
	pthread_t t;
	int p[2];

	if (pipe(p) < 0)
		exit(1);
	pthread_barrier_init(&barrier, NULL, 2);
	t = start(in_read, &p[0]);
	pthread_barrier_wait(&barrier);
	usleep(20000);
	pthread_cancel(t);
	joined(t);
	t = start(in_cond, NULL);
	pthread_barrier_wait(&barrier);
	usleep(20000);
	pthread_cancel(t);
	joined(t);
	if (pthread_mutex_trylock(&mutex) != 0)
		puts("the mutex is still locked");
}

/* N threads at once; all are there when the barrier opens. */
static void at_once(int n)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t));

	pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		t[i] = start(alive, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

/* Forks while other threads are in the middle of calls; each child makes calls of its own. */
static void forks(int n)
{
	pthread_t t[4];
	int bad = 0, status;

	for (int i = 0; i < 4; i++)
		t[i] = start(hammers, NULL);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (int k = 0; k < 10; k++)
				one_read();
			_exit(11);
		}
		if (waitpid(pid, &status, 0) != pid || status != 11 << 8)
			bad++;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d children, %d bad\n", n, bad);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 10;

	zero = open("/dev/zero", O_RDONLY);
	if (!strcmp(how, "exit")) {
		joined(start(leaves, (void *)5));
		joined(start(leaves, NULL));
	} else if (!strcmp(how, "main_exit")) {
		start(with_key, (void *)1);
		pthread_exit(NULL);
	} else if (!strcmp(how, "key")) {
		pthread_key_create(&key, on_key);
		for (int i = 0; i < n; i++)
			joined(start(with_key, (void *)(long)i));
	} else if (!strcmp(how, "cancel")) {
		cancels();
	} else if (!strcmp(how, "at_once")) {
		at_once(n);
	} else if (!strcmp(how, "sequence")) {
		for (int i = 0; i < n; i++)
			pthread_join(start(leaves, NULL), NULL);
	} else if (!strcmp(how, "fork")) {
		forks(n);
		return 0;
	}
	printf("calls %ld\n", calls);
	return 0;
}
