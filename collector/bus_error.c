/* bus_error.c - see bus_error.h. */
#include "collector/bus_error.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct covered {
	struct covered *next;
	uintptr_t from, to;
} * covered;                             /* only grows while the handler may read it */
static _Thread_local sigjmp_buf *escape; /* NULL: this thread is not in bus_error_try() */
static struct sigaction before;

static bool put_zeros(uintptr_t at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (const struct covered *c = covered; c; c = c->next)
		if (at >= c->from && at < c->to)
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

/* Each time: others take the signal, too, and give it back as it was before us. */
static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_NODEFER},
			 now;

	if (sigaction(SIGBUS, NULL, &now) || is_ours(&now) || sigaction(SIGBUS, &action, &now))
		return;
	if (!is_ours(&now)) /* another thread was faster */
		before = now;
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
	struct covered *c = malloc(sizeof(*c));

	if (!c)
		return false;
	*c = (struct covered){covered, (uintptr_t)data, (uintptr_t)data + size};
	install();
	covered = c;
	return true;
}

void bus_error_uncover_all(void)
{
	struct covered *c;

	while ((c = covered)) {
		covered = c->next;
		free(c);
	}
}
