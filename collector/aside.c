/* aside.c - see aside.h. */
#include "collector/aside.h"

#include <signal.h>

static void *run(void *of)
{
	const struct aside *a = of;

	a->run(a->of);
	return NULL;
}

void aside_begin(struct aside *a, void (*what)(void *of), void *of)
{
	sigset_t all, before;

	a->run = what;
	a->of = of;
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
