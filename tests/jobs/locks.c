/* Locks, condition variables, memory, pipes: locks KIND bad|good. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "../pairs/pair.h"

static bool bad;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t slots;
static atomic_int ready;

static void team(unsigned n, void *(*run)(void *))
{
	pthread_t t[8];

	for (unsigned i = 0; i < n; i++)
		pthread_create(&t[i], NULL, run, (void *)(intptr_t)i);
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static unsigned compute(unsigned n)
{
	volatile unsigned x = 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u; /* CULPRIT compute */
	return x;
}

/* A request to a store, under the lock of the cache. */
static void *held(void *arg)
{
	for (int i = 0; i < 8; i++) {
		pthread_mutex_lock(&lock);
		if (bad)
			wait_ms(20); /* CULPRIT held */
		pthread_mutex_unlock(&lock);
		if (!bad)
			wait_ms(20);
	}
	return arg;
}

static void *producer(void *arg)
{
	for (int i = 0; i < 10; i++) {
		compute(bad ? 15000000 : 15000);
		pthread_mutex_lock(&lock);
		ready++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void consumer(void)
{
	pthread_t t;

	pthread_create(&t, NULL, producer, NULL);
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		while (ready <= i)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(t, NULL);
}

/* A report under the read lock; the writer waits for it. */
static void *report(void *arg)
{
	for (int i = 0; i < 6; i++) {
		pthread_rwlock_rdlock(&rw);
		ready = 1;
		if (bad)
			wait_ms(80); /* CULPRIT report */
		pthread_rwlock_unlock(&rw);
		wait_ms(2);
	}
	return arg;
}

static void writer(void)
{
	pthread_t t;

	pthread_create(&t, NULL, report, NULL);
	while (!ready)
		sched_yield();
	for (int i = 0; i < 6; i++) {
		pthread_rwlock_wrlock(&rw);
		pthread_rwlock_unlock(&rw);
		wait_ms(5);
	}
	pthread_join(t, NULL);
}

/* As many at a time as there are slots. */
static void *slot(void *arg)
{
	for (int i = 0; i < 3; i++) {
		sem_wait(&slots);
		wait_ms(30); /* CULPRIT slot */
		sem_post(&slots);
	}
	return arg;
}

/* Asks again after a while, although the lock is free much earlier. */
static void *tries(void *arg)
{
	for (int i = 0; i < 20; i++) {
		while (pthread_mutex_trylock(&lock))
			wait_ms(bad ? 100 : 1); /* CULPRIT tries */
		wait_ms(2);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

/* Rank 0 has most of the work. */
static void *uneven(void *arg)
{
	for (int i = 0; i < 4; i++) {
		compute((intptr_t)arg == 0 && bad ? 50000000 : 100000);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void *sleeper(void *arg)
{
	wait_ms(60); /* CULPRIT serial */
	return arg;
}

/* Starts a thread, waits for its end, starts the next. */
static void serial(void)
{
	if (!bad) {
		team(8, sleeper);
		return;
	}
	for (int i = 0; i < 8; i++)
		team(1, sleeper);
}

/* A buffer for each frame, given back to the kernel at once. */
static void frames(void)
{
	size_t size = 48 << 20;
	char *kept = malloc(size);

	for (int i = 0; i < 8; i++) {
		char *p = bad ? malloc(size) : kept;

		if (bad || !i)
			memset(p, i, size); /* CULPRIT frames */
		__asm__ volatile("" : : "r"(p) : "memory");
		if (bad)
			free(p);
	}
	free(kept);
}

/* A pipe to a child that filters, byte by byte. */
static void bytes(void)
{
	static char text[600000];
	int ends[2];
	size_t step = bad ? 1 : sizeof(text);

	if (pipe(ends))
		exit(1);
	if (!fork()) {
		close(ends[1]);
		while (read(ends[0], text, sizeof(text)) > 0)
			;
		_exit(0);
	}
	for (size_t at = 0; at < sizeof(text); at += step)
		if (write(ends[1], text + at, step) < 0) /* CULPRIT bytes */
			exit(1);
	close(ends[1]);
	wait(NULL);
}

/* The child is asked one thing at a time, and computes for each. */
static void asked(void)
{
	int s[2];
	char c = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		exit(1);
	if (!fork()) {
		close(s[0]);
		while (read(s[1], &c, 1) == 1) {
			wait_ms(bad ? 30 : 1); /* CULPRIT asked */
			if (write(s[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(s[1]);
	for (int i = 0; i < 15; i++)
		if (write(s[0], &c, 1) != 1 || read(s[0], &c, 1) != 1)
			exit(1);
	close(s[0]);
	wait(NULL);
}

static int event;

static void *notifier(void *arg)
{
	uint64_t one = 1;

	for (int i = 0; i < 10; i++) {
		wait_ms(bad ? 40 : 1); /* CULPRIT notifier */
		if (write(event, &one, sizeof(one)) < 0)
			exit(1);
	}
	return arg;
}

static void events(void)
{
	struct pollfd p = {.events = POLLIN};
	uint64_t all = 0, n;
	pthread_t t;

	p.fd = event = eventfd(0, EFD_NONBLOCK);
	pthread_create(&t, NULL, notifier, NULL);
	while (all < 10)
		if (poll(&p, 1, 1000) == 1 && read(event, &n, sizeof(n)) == sizeof(n))
			all += n;
	pthread_join(t, NULL);
}

/* A shell for each name. */
static void shells(void)
{
	char line[64];

	for (int i = 0; i < (bad ? 400 : 1); i++) {
		FILE *f = popen("echo a", "r"); /* CULPRIT shells */

		if (!f || !fgets(line, sizeof(line), f)) /* CULPRIT shells */
			exit(1);
		pclose(f); /* CULPRIT shells */
	}
}

/* Waits for a flag without giving up the CPU. */
static void *spins(void *arg)
{
	if ((intptr_t)arg == 0) {
		wait_ms(bad ? 400 : 5); /* CULPRIT spins */
		ready = 1;
	}
	while (!ready)
		sched_yield();
	return arg;
}

/* The log is a stream without a buffer. */
static void prints(void)
{
	FILE *f = fopen("log", "w");

	if (!f)
		exit(1);
	if (bad)
		setvbuf(f, NULL, _IONBF, 0);
	for (int i = 0; i < 250000; i++)
		fprintf(f, "%d %s %d\n", i, "message", i * 3); /* CULPRIT prints */
	fclose(f);
}

static const struct {
	const char *name;
	void (*run)(void);
	unsigned threads;
	void *(*thread)(void *);
} kinds[] = {
	{"held", NULL, 4, held},     {"producer", consumer, 0, NULL}, {"report", writer, 0, NULL},
	{"slot", NULL, 6, slot},     {"tries", NULL, 3, tries},       {"uneven", NULL, 3, uneven},
	{"serial", serial, 0, NULL}, {"frames", frames, 0, NULL},     {"bytes", bytes, 0, NULL},
	{"asked", asked, 0, NULL},   {"events", events, 0, NULL},     {"shells", shells, 0, NULL},
	{"spins", NULL, 2, spins},   {"prints", prints, 0, NULL}};

int main(int argc, char **argv)
{
	bad = is_bad(argc - 1, argv + 1);
	sem_init(&slots, 0, bad ? 1 : 6);
	pthread_barrier_init(&barrier, NULL, 3);
	for (unsigned i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, argv[1]))
			continue;
		if (kinds[i].run)
			kinds[i].run();
		else
			team(kinds[i].threads, kinds[i].thread);
		puts("done");
		return 0;
	}
	return 2;
}
