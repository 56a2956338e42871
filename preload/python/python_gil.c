/*
 * python_gil.c - finds the condition variables of Python's global interpreter lock, and records waits, takes and releases.
 *
 * A thread's slot has its state, also while nothing is recorded: so the collector knows the holder when a capture starts,
 * and cuts the range when it ends (collector/decode/nvtx/nvtx_gil.c). A record has a time and the event.
 */
#include "preload/python/python_gil.h"

#include <errno.h>
#include <pthread.h>

#include "preload/nvtx/nvtx.h"
#include "preload/base/object.h"
#include "preload/python/python.h"
#include "preload/python/python_api.h"

#define GILS_MAX 64u

/* CPython's structure: cond, mutex, switch_cond, switch_mutex. */
#define TO_SWITCH (sizeof(pthread_cond_t) + sizeof(pthread_mutex_t))

enum {
	HOLD_RECORDED = 1, /* the take has a record */
	WAIT_RECORDED = 2,
};

uint32_t sl_gil_cnt;
/* Addresses of the first condition variables, 0: free. The index is the lock's number. */
static uintptr_t gil[GILS_MAX];

/* ---- records ---- */

static void put(enum sl_nvtx kind, uint64_t start, unsigned number)
{
	unsigned words = number ? 3 : 2;
	struct sl_call call = {.start = start};
	uint64_t *w;

	if (!sl_begin_write())
		return;
	w = sl_room(words, SL_NO_CALL(kind == SL_NVTX_GIL_DROP ? SL_LOST_NVTX_END : SL_LOST_NVTX),
		    &call);
	if (w) {
		w[0] = start;
		w[1] = (uint64_t)sl_head(kind, words, 0, SL_SHAPE_NVTX, 0) << 32;
		if (number)
			w[2] = number;
		sl_commit(w + words);
	}
	sl_end_write();
}

/* The number of the lock that @cond belongs to, and which of its two it is. */
SL_HOT bool find(const void *cond, unsigned *number, bool *is_switch)
{
	uint32_t cnt = __atomic_load_n(&sl_gil_cnt, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < cnt; i++) {
		uintptr_t off = (uintptr_t)cond - __atomic_load_n(&gil[i], __ATOMIC_RELAXED);

		if (sl_likely(off == 0 || off == TO_SWITCH)) {
			*number = i;
			*is_switch = off != 0;
			return true;
		}
	}
	return false;
}

static void record_take(unsigned number, uint64_t now)
{
	struct sl_slot *s = sl_tls.slot;
	bool is_open = sl_tls.gate & 1;

	if (s->gil_wait && is_open && !(s->gil_recorded & WAIT_RECORDED)) {
		put(SL_NVTX_GIL_WAIT, s->gil_wait, number);
		s->gil_recorded |= WAIT_RECORDED;
	}
	if (is_open || s->gil_recorded & WAIT_RECORDED) {
		put(SL_NVTX_GIL_TAKE, now, number);
		s->gil_recorded = HOLD_RECORDED;
	} else {
		s->gil_recorded = 0;
	}
	s->gil_wait = 0;
	s->gil_gate = sl_tls.gate;
	/* Read by the collector at any time, for threads without records. */
	__atomic_store_n(&s->gil_since, now, __ATOMIC_RELEASE);
}

static void record_drop(unsigned number, uint64_t now)
{
	struct sl_slot *s = sl_tls.slot;
	uint64_t since = s->gil_since;
	uint32_t recorded = s->gil_recorded;

	__atomic_store_n(&s->gil_since, 0, __ATOMIC_RELEASE);
	s->gil_recorded = 0;
	if (!since)
		return;
	/* Taken while nothing was recorded, and held into a recorded period or across one. */
	if (!(recorded & HOLD_RECORDED) && (sl_tls.gate & 1 || sl_tls.gate != s->gil_gate)) {
		put(SL_NVTX_GIL_TAKE, since, number);
		recorded = HOLD_RECORDED;
	}
	if (recorded & HOLD_RECORDED)
		put(SL_NVTX_GIL_DROP, now, number);
}

/*
 * The time of a take. The processor must not read it before the mutex is taken: else the range would begin before that of
 * the previous holder ended.
 */
SL_HOT uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
	return sl_ticks();
}

void sl_gil_signals(const void *cond)
{
	unsigned number;
	bool is_switch;

	if (!find(cond, &number, &is_switch) || !sl_ready())
		return;
	if (is_switch)
		record_take(number, ticks_now());
	else
		record_drop(number, sl_ticks());
}

void sl_gil_waits(const void *cond)
{
	struct sl_slot *s;
	unsigned number;
	bool is_switch;

	if (!find(cond, &number, &is_switch) || is_switch || !sl_ready())
		return;
	s = sl_tls.slot;
	if (!s->gil_wait)
		s->gil_wait = sl_ticks();
	if (sl_tls.gate & 1 && !(s->gil_recorded & WAIT_RECORDED)) {
		put(SL_NVTX_GIL_WAIT, s->gil_wait, number);
		s->gil_recorded |= WAIT_RECORDED;
	}
}

void sl_gil_end(void)
{
	if (sl_gil_is_known() && sl_ready() && sl_tls.slot->gil_since)
		record_drop(0, sl_ticks());
}

/* ---- finding the locks ---- */

struct code {
	const void *at;
	bool is_python;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct code *c = arg;
	struct sl_object o;

	(void)size;
	if (!sl_object_contains(info, c->at))
		return 0;
	c->is_python = sl_object_open(&o, info) && sl_object_find(&o, "_PyRuntime");
	return 1;
}

/* Whether the code at @at is CPython's. */
static bool is_python(const void *at)
{
	struct code c = {.at = at};

	dl_iterate_phdr(find_code, &c);
	return c.is_python;
}

/* Records the names of the ranges; once per arena. False: not possible now. */
static bool record_names(void)
{
	struct sl_arena *a = sl_global.arena;
	struct sl_nvtx_string *hold, *wait;
	struct sl_nvtx_domain *d;

	if (__atomic_load_n(&a->gil_domain, __ATOMIC_ACQUIRE))
		return true;
	d = sl_nvtx_domain_new(sl_nvtx_chars("GIL Trace"));
	hold = d ? sl_nvtx_string_new(d, sl_nvtx_chars("Holding GIL")) : NULL;
	wait = d ? sl_nvtx_string_new(d, sl_nvtx_chars("Waiting for GIL")) : NULL;
	if (!hold || !wait)
		return false;
	a->gil_hold = sl_nvtx_string_id(hold, hold);
	a->gil_wait = sl_nvtx_string_id(wait, wait);
	/* Release: a reader of the domain also reads the strings. */
	__atomic_store_n(&a->gil_domain, d->id, __ATOMIC_RELEASE);
	return true;
}

static void add_lock(uintptr_t cond)
{
	uint32_t cnt = __atomic_load_n(&sl_gil_cnt, __ATOMIC_RELAXED), i = 0;

	/* Locks are created one at a time: with the first one held, or before there is a second thread. */
	while (i < cnt && gil[i] && gil[i] != cond)
		i++;
	if (i == GILS_MAX || !record_names())
		return;
	__atomic_store_n(&gil[i], cond, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire in find(). */
	if (i == cnt)
		__atomic_store_n(&sl_gil_cnt, cnt + 1, __ATOMIC_RELEASE);
}

static bool is_enabled(void)
{
	return sl_ready() && sl_global.session->trace & SL_TRACE_PYTHON_GIL;
}

/*
 * No hooks: they have no rows. The exports have the version of today's ABI of condition variables (libtrace.map).
 */
SL_WRAPPER(int, pthread_cond_init, (void *cond, const void *attr))
{
	static int (*real)(void *, const void *);
	static __thread uintptr_t last __attribute__((tls_model("initial-exec")));

	if (sl_unlikely(!real))
		real = (int (*)(void *, const void *))sl_object_next("pthread_cond_init");
	if (sl_unlikely(!real))
		return ENOSYS;
	/* The two of a lock are initialized one after the other. */
	if (is_enabled() && is_python(__builtin_return_address(0))) {
		if (last && (uintptr_t)cond - last == TO_SWITCH)
			add_lock(last);
		last = (uintptr_t)cond;
	}
	return real(cond, attr);
}

SL_WRAPPER(int, pthread_cond_destroy, (void *cond))
{
	static int (*real)(void *);
	unsigned number;
	bool is_switch;

	if (sl_unlikely(!real))
		real = (int (*)(void *))sl_object_next("pthread_cond_destroy");
	if (sl_unlikely(!real))
		return ENOSYS;
	/* Destroying the lock ends its last hold. */
	if (sl_gil_is_known() && find(cond, &number, &is_switch) && !is_switch) {
		sl_gil_signals(cond);
		__atomic_store_n(&gil[number], 0, __ATOMIC_RELAXED);
	}
	return real(cond);
}
