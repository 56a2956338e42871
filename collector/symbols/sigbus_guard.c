/* sigbus_guard.c - the handler, and the ranges it covers. */
#include "collector/symbols/sigbus_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only grows: the handler of another thread may be in it. What has @to 0 is free. */
static struct covered {
	struct covered *next;
	uintptr_t from, to;
} * covered;
static _Thread_local sigjmp_buf *escape; /* NULL: this thread is not in bus_error_try() */
static struct sigaction before;

static bool put_zeros(uintptr_t at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	/* Pairs with bus_error_cover(), both. */
	for (struct covered *c = __atomic_load_n(&covered, __ATOMIC_ACQUIRE); c; c = c->next)
		if (at < __atomic_load_n(&c->to, __ATOMIC_ACQUIRE) &&
		    at >= __atomic_load_n(&c->from, __ATOMIC_RELAXED))
			return mmap((void *)(at & ~(page - 1)), page, PROT_READ,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	return false;
}

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (escape)
		siglongjmp(*escape, 1);
	if (put_zeros((uintptr_t)info->si_addr))
		return;
	sigaction(sig, &before, NULL); /* not ours: it comes again */
}

static bool is_ours(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_bus_error;
}

/*
 * Each time: others take the signal, too, and give it back as it was before us. @before is written before the handler
 * that reads it is there; the lock makes it known to threads that find the handler there already.
 */
static void install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_NODEFER},
			 now;

	pthread_mutex_lock(&lock);
	if (!sigaction(SIGBUS, NULL, &now) && !is_ours(&now)) {
		before = now;
		sigaction(SIGBUS, &action, NULL);
	}
	pthread_mutex_unlock(&lock);
}

bool bus_error_try(void (*work)(void *), void *of)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		escape = NULL;
		return false;
	}
	install();
	escape = &here;
	work(of);
	escape = NULL;
	return true;
}

bool bus_error_cover(const void *data, size_t size)
{
	struct covered *c = covered;

	while (c && c->to)
		c = c->next;
	install();
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return false;
		c->next = covered;
		__atomic_store_n(&covered, c, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&c->from, (uintptr_t)data, __ATOMIC_RELAXED);
	__atomic_store_n(&c->to, (uintptr_t)data + size, __ATOMIC_RELEASE);
	return true;
}

void bus_error_uncover_all(void)
{
	/* Relaxed: what reads this memory has ended before. */
	for (struct covered *c = covered; c; c = c->next)
		__atomic_store_n(&c->to, 0, __ATOMIC_RELAXED);
}
