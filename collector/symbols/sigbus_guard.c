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
struct covered {
	struct covered *next;
	uintptr_t from, to;
	bool (*fill)(void *of, uintptr_t address); /* NULL: with zeros */
	void *of;
};
static struct covered *covered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local sigjmp_buf *escape; /* NULL: this thread is not in bus_error_try() */
static struct sigaction before_bus, before_segv;

static const struct covered *find(uintptr_t at)
{
	/* Pairs with cover(), all three. */
	for (const struct covered *c = __atomic_load_n(&covered, __ATOMIC_ACQUIRE); c; c = c->next)
		if (at < __atomic_load_n(&c->to, __ATOMIC_ACQUIRE) &&
		    at >= __atomic_load_n(&c->from, __ATOMIC_RELAXED))
			return c;
	return NULL;
}

static bool put_zeros(uintptr_t at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	return mmap((void *)(at & ~(page - 1)), page, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	const struct covered *c;

	(void)context;
	if (escape)
		siglongjmp(*escape, 1);
	c = find(at);
	if (c && !c->fill && put_zeros(at))
		return;
	sigaction(sig, &before_bus, NULL); /* not ours: it comes again */
}

static void on_no_access(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	const struct covered *c = find(at);

	(void)context;
	if (c && c->fill && c->fill(c->of, at))
		return;
	sigaction(sig, &before_segv, NULL); /* as above */
}

/*
 * Each time: others take the signal, too, and give it back as it was before us. @before is written before the handler
 * that reads it is there; the lock makes it known to threads that find the handler there already.
 */
static void install(int sig, void (*handler)(int, siginfo_t *, void *), struct sigaction *before)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER},
			 now;

	pthread_mutex_lock(&lock);
	if (!sigaction(sig, NULL, &now) &&
	    !(now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler)) {
		*before = now;
		sigaction(sig, &action, NULL);
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
	install(SIGBUS, on_bus_error, &before_bus);
	escape = &here;
	work(of);
	escape = NULL;
	return true;
}

static bool cover(const struct covered *what)
{
	struct covered *c;

	pthread_mutex_lock(&lock);
	for (c = covered; c && c->to; c = c->next)
		;
	if (!c && (c = calloc(1, sizeof(*c)))) {
		c->next = covered;
		__atomic_store_n(&covered, c, __ATOMIC_RELEASE);
	}
	if (c) {
		c->fill = what->fill;
		c->of = what->of;
		__atomic_store_n(&c->from, what->from, __ATOMIC_RELAXED);
		__atomic_store_n(&c->to, what->to, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return c;
}

bool bus_error_cover(const void *data, size_t size)
{
	struct covered what = {.from = (uintptr_t)data, .to = (uintptr_t)data + size};

	install(SIGBUS, on_bus_error, &before_bus);
	return cover(&what);
}

void bus_error_uncover_all(void)
{
	/* Relaxed: what reads this memory has ended before. */
	pthread_mutex_lock(&lock);
	for (struct covered *c = covered; c; c = c->next)
		if (!c->fill)
			__atomic_store_n(&c->to, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

bool bus_error_fill(const void *data, size_t size, bool (*fill)(void *of, uintptr_t address),
		    void *of)
{
	struct covered what = {
		.from = (uintptr_t)data, .to = (uintptr_t)data + size, .fill = fill, .of = of};

	install(SIGSEGV, on_no_access, &before_segv);
	return cover(&what);
}

void bus_error_fill_end(const void *data)
{
	pthread_mutex_lock(&lock);
	for (struct covered *c = covered; c; c = c->next)
		if (c->fill && c->from == (uintptr_t)data)
			__atomic_store_n(&c->to, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}
