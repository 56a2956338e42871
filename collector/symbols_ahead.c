/*
 * symbols_ahead.c - modules are opened before they are asked, by a thread.
 *
 * To open one means to put its symbols in order and to unpack its debug information, which takes a tenth of a second
 * for the C library of a distribution. While the program runs there is mostly a CPU for that; at the end there is
 * somebody who waits: so it is no nicer than others, for what it has begun is waited for, and rings fill meanwhile.
 */
#include "collector/symbols_internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define WAITING_MAX 1024u
#define STACK_BYTES (1u << 20)

struct symbols_reader {
	struct symbols *symbols;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_ended;
	struct symbols_module
		*waiting[WAITING_MAX]; /* a ring; what does not fit is opened when it is asked */
	unsigned first, cnt;
};

static void *run(void *of)
{
	struct symbols_reader *r = of;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct symbols_module *m;

		while (!r->cnt && !r->is_ended)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->is_ended)
			break;
		m = r->waiting[r->first++ % WAITING_MAX];
		r->cnt--;
		pthread_mutex_unlock(&r->lock);
		if (m)
			symbols_module_open(r->symbols, m);
		else
			symbols_kernel_read(r->symbols);
		pthread_mutex_lock(&r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static bool start(struct symbols_reader *r)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	bool is_started;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/* Signals are for the main thread; but not those that say what this one did. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = pthread_create(&r->thread, &attributes, run, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return is_started;
}

static struct symbols_reader *reader_new(struct symbols *s)
{
	struct symbols_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->symbols = s;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	if (start(r))
		return r;
	free(r);
	return NULL;
}

void symbols_ahead(struct symbols *s, struct symbols_module *m)
{
	struct symbols_reader **reader = symbols_reader(s), *r = *reader;

	if (!r && !(r = *reader = reader_new(s)))
		return;
	pthread_mutex_lock(&r->lock);
	if (r->cnt < WAITING_MAX) {
		r->waiting[(r->first + r->cnt++) % WAITING_MAX] = m;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

void symbols_settle(struct symbols *s)
{
	struct symbols_reader **reader = symbols_reader(s), *r = *reader;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_ended = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
	*reader = NULL;
}
