/* task.c - see task.h. */
#include "collector/base/task.h"

#include <signal.h>
#include <sys/resource.h>

#define FEW_DESCRIPTORS 256

static void *run(void *of)
{
	const struct aside *a = of;

	a->run(a->of);
	return NULL;
}

/*
 * Both would take from what is not enough for both, and the one that is not needed may be the faster: it has to wait. A
 * thread alone takes 8 MiB of addresses for its stack, and up to 128 MiB for its heap.
 */
static bool is_room_short(void)
{
	struct rlimit memory, files;

	return getrlimit(RLIMIT_AS, &memory) || memory.rlim_cur != RLIM_INFINITY ||
	       getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur < FEW_DESCRIPTORS;
}

void aside_begin(struct aside *a, void (*what)(void *of), void *of)
{
	sigset_t all, before;

	*a = (struct aside){.run = what, .of = of};
	if (is_room_short())
		return;
	/* Signals are for the main thread; but not those that say what this one did. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	a->has_thread = pthread_create(&a->thread, NULL, run, a) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void aside_end(struct aside *a)
{
	if (a->has_thread)
		pthread_join(a->thread, NULL);
	else
		a->run(a->of);
}
