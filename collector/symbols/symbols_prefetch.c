/*
 * symbols_prefetch.c - a thread that looks up addresses of stacks while the program runs.
 *
 * Opening a module sorts its symbols and decompresses its debug information, hundredths of a second for the libraries of a
 * distribution; an address takes some hundred thousandths. The thread has normal priority: symbols_settle() waits for the
 * lookup that runs, and rings fill meanwhile.
 */
#include "collector/symbols/symbols_internal.h"
#include "collector/base/budget.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define WAITING_MAX 16384u
#define STACK_BYTES (1u << 20)
#define LOOK_MS     50
#define GRACE_LOOKS 40u /* after a signal: a file that is only large is through by then */
#define BATCH       32u /* addresses between two readings of the process's size, a file in /proc */

struct symbols_reader {
	struct symbols *symbols;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_ended, is_left, is_through;
	unsigned first, cnt;
	/* A ring: an address that does not fit is looked up on request. */
	struct waiting {
		struct symbols_module *module; /* NULL: of the kernel */
		uint64_t address;
	} waiting[WAITING_MAX];
};

static void reader_free(struct symbols_reader *r)
{
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	*symbols_reader(r->symbols) = NULL;
	free(r);
}

/* Takes the next addresses; 0: the end. */
static unsigned take(struct symbols_reader *r, struct waiting *batch)
{
	unsigned cnt = 0;

	while (!r->cnt && !r->is_ended)
		pthread_cond_wait(&r->changed, &r->lock);
	while (!r->is_ended && r->cnt && cnt < BATCH) {
		batch[cnt++] = r->waiting[r->first++ % WAITING_MAX];
		r->cnt--;
	}
	return cnt;
}

/* False: the end came first. */
static bool know(struct symbols_reader *r, const struct waiting *w)
{
	/* Pairs with the store in end(). */
	if (__atomic_load_n(&r->is_ended, __ATOMIC_RELAXED))
		return false;
	if (w->module)
		symbols_know(r->symbols, w->module, w->address);
	else
		symbols_kernel_know(r->symbols, w->address);
	return true;
}

static void *run(void *of)
{
	struct symbols_reader *r = of;
	struct symbols *left = NULL;
	struct waiting batch[BATCH];
	unsigned cnt;

	pthread_mutex_lock(&r->lock);
	while ((cnt = take(r, batch)) > 0) {
		pthread_mutex_unlock(&r->lock);
		budget_symbols_begin();
		for (unsigned i = 0; i < cnt && know(r, &batch[i]); i++)
			;
		budget_symbols_end();
		pthread_mutex_lock(&r->lock);
	}
	r->is_through = true;
	if (r->is_left)
		left = r->symbols;
	pthread_mutex_unlock(&r->lock);
	if (left) {
		reader_free(r);
		symbols_close(left);
	}
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
	/* Signals are for the main thread; but not those that report a fault of this thread. */
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

void symbols_prefetch(struct symbols *s, struct symbols_module *m, uint64_t address)
{
	struct symbols_reader **reader = symbols_reader(s), *r = *reader;

	if (!r && !(r = *reader = reader_new(s)))
		return;
	pthread_mutex_lock(&r->lock);
	if (r->cnt < WAITING_MAX) {
		r->waiting[(r->first + r->cnt++) % WAITING_MAX] =
			(struct waiting){.module = m, .address = address};
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

/* False: it is through, and is not to be left. */
static bool end(struct symbols_reader *r, bool is_left)
{
	pthread_t thread = r->thread;

	pthread_mutex_lock(&r->lock);
	/* Pairs with the load in know(), which has no lock. */
	__atomic_store_n(&r->is_ended, true, __ATOMIC_RELAXED);
	is_left = is_left && !r->is_through;
	r->is_left = is_left;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock); /* one that was left may be gone from here on */
	if (is_left)
		pthread_detach(thread);
	return is_left;
}

static bool join_for(pthread_t thread, unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

bool symbols_settle(struct symbols *s)
{
	struct symbols_reader *r = *symbols_reader(s);
	unsigned looks = 0;

	/* Pairs with the loads where a server is asked (symbols_debuginfod.c). */
	__atomic_store_n(&symbols_server(s)->is_waited_for, true, __ATOMIC_RELAXED);
	if (!r)
		return true;
	end(r, false);
	while (!join_for(r->thread, LOOK_MS)) {
		looks += symbols_is_interrupted(symbols_server(s));
		if (looks > GRACE_LOOKS && end(r, true))
			return false;
	}
	reader_free(r);
	return true;
}

bool symbols_leave(struct symbols *s)
{
	struct symbols_reader *r = *symbols_reader(s);

	if (!r)
		return false;
	/* As above. */
	__atomic_store_n(&symbols_server(s)->left_ms, 0, __ATOMIC_RELAXED);
	return end(r, true);
}
