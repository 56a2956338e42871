/* sched_opening.c - opens context switches in a thread. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/kernel/sched/sched.h"

struct sched_opening {
	pthread_t thread;
	struct sched_ask ask;
	struct sched *sched;
	char why[512];
};

static void *run(void *arg)
{
	struct sched_opening *o = arg;

	o->sched = sched_open_for(&o->ask, o->why, sizeof(o->why));
	return NULL;
}

struct sched_opening *sched_open_begin(const struct sched_ask *ask)
{
	struct sched_opening *o = calloc(1, sizeof(*o));
	sigset_t all, before;
	int err;

	if (!o)
		return NULL;
	o->ask = *ask;
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&o->thread, NULL, run, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return o;
	free(o);
	return NULL;
}

struct sched *sched_open_end(struct sched_opening *o, char *why, size_t why_len)
{
	struct sched *sched;

	pthread_join(o->thread, NULL);
	sched = o->sched;
	snprintf(why, why_len, "%s", o->why);
	free(o);
	return sched;
}
