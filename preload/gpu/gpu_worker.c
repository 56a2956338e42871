/*
 * gpu_worker.c - CUPTI from its first call to the end of the process: flushes it, makes it follow the gate, releases it,
 * keeps it quiet during a fork, and stops it.
 *
 * Once the process ends, CUPTI, the driver and the runtime destroy what they consist of: after the last flush nothing may
 * call CUPTI. So each use of it is counted, and the end waits for those in progress and forbids others. The last flush is
 * the worker's: the thread that ends the process may hold locks that CUPTI needs (in a signal handler), and can give up
 * waiting.
 */
#include "preload/gpu/gpu_engine.h"
#include "preload/gpu/gpu_guest.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "preload/wire/sys.h"

#define SOON_NS  (SL_CUDA_SLACK_NS + 20000000u)
#define FIRST_NS 100000000u
#define LOOK_NS  1000000000u
#define NEVER    (UINT64_MAX / 2) /* a time to which a period can be added */
#define LOOK     0x80000000u      /* in sl_gpu_cupti_gate, so that it differs from the gate */

/* Bounds for the wait of a thread of the program, in milliseconds. */
#define FORK_MS  500u
#define USERS_MS 500u
#define END_MS   2000u
#define EXIT_MS  10000u

/* Bounds for the wait for the lock below, in naps. A client that did not get CUPTI would get errors. */
#define NAPS       2500
#define NAPS_YIELD 40000

static uint32_t users; /* atomic: threads inside of the guest */
static uint32_t holds; /* atomic: forks in progress; with ENDED */
#define ENDED 0x80000000u
static uint32_t following; /* a lock: a thread is in sl_gpu_follow_gate() */
static uint32_t begun;     /* atomic: CUPTI has had a buffer */
/* Requests to the worker: their number so far, and that of the last one it has served. */
static uint32_t asked, served;
static uint32_t ending;  /* atomic: a thread ends the process */
static uint32_t is_over; /* atomic: the last flush is done */
static uint32_t worker_runs;

static void nap(void)
{
	struct timespec step = {0, 200000};

	sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
}

/* Sequentially consistent: a thread that ends or forks sets @holds and reads @users, in this order; here it is reversed. */
static bool begin_use(void)
{
	if (sl_gpu_guest.pid != sl_proc.pid)
		return false;
	__atomic_add_fetch(&users, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&holds, __ATOMIC_SEQ_CST))
		return true;
	__atomic_sub_fetch(&users, 1, __ATOMIC_RELEASE);
	return false;
}

static void end_use(void)
{
	__atomic_sub_fetch(&users, 1, __ATOMIC_RELEASE);
}

/* False: a thread is still inside of the guest. After a filter for system calls there is no waiting. */
static bool wait_for_users(unsigned ms)
{
	uint64_t until = sl_mono_ns() + ms * UINT64_C(1000000);

	while (__atomic_load_n(&users, __ATOMIC_SEQ_CST)) {
		if (sl_global.seccomp || sl_mono_ns() > until)
			return false;
		nap();
	}
	return true;
}

static void flush(bool all)
{
	int error = errno;
	uint64_t kept;

	if (!sl_gpu_guest.call.flush || !sl_gpu_ring_is_ready() || !begin_use())
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	sl_gpu_guest.call.flush(all);
	sl_set_cookie(kept);
	end_use();
	errno = error;
}

void sl_gpu_flush(void)
{
	flush(false);
}

/* ---- fork: the child gets CUPTI's locks as they are, and must not get them taken by a flush ---- */

bool sl_gpu_before_fork(void)
{
	if (!sl_gpu_guest.is_on || sl_gpu_guest.pid != sl_proc.pid || sl_global.seccomp ||
	    sl_tls.cookie == SL_COOKIE_VFORK || sl_tls.cookie == SL_COOKIE_QUIET)
		return false;
	__atomic_add_fetch(&holds, 1, __ATOMIC_SEQ_CST);
	wait_for_users(FORK_MS);
	return true;
}

void sl_gpu_after_fork(void)
{
	__atomic_sub_fetch(&holds, 1, __ATOMIC_RELEASE);
}

void sl_gpu_cupti_forked(void)
{
	/* Another thread of the parent may have held the lock. */
	following = 0;
	users = holds = 0;
	sl_gpu_owner_forked();
	if (sl_gpu_cupti_state == SL_GPU_CUPTI_LOADING)
		sl_gpu_cupti_state = SL_GPU_CUPTI_DONE;
}

/* ---- the gate ---- */

/* Takes the lock. Bounded: another thread may be blocked inside CUPTI. */
static bool begin_following(int naps)
{
	for (int i = 0; i < naps; i++) {
		if (!__atomic_exchange_n(&following, 1, __ATOMIC_ACQUIRE))
			return true;
		nap();
	}
	return false;
}

static bool is_behind(void)
{
	return __atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED) !=
		       __atomic_load_n(&sl_global.session->gate, __ATOMIC_ACQUIRE) ||
	       (sl_gpu_client_has_ended() && !sl_gpu_cupti_runs());
}

/* The program has ended its use of CUPTI. With the lock. */
static void take_back(void)
{
	if (sl_gpu_client_has_ended() && sl_gpu_owner_start())
		sl_gpu_owner_started(sl_gpu_guest.call.resume(sl_gpu_client()));
}

void sl_gpu_follow_gate(void)
{
	const uint32_t *gate = &sl_global.session->gate;
	int error = errno;
	uint64_t kept;
	uint32_t to;

	if (!is_behind() || sl_tls.busy || !sl_gpu_ring_is_ready() || !begin_following(NAPS))
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	to = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
	if (!sl_gpu_guest.is_on || !is_behind() || sl_gpu_guest.pid != sl_proc.pid ||
	    __atomic_load_n(&holds, __ATOMIC_RELAXED) & ENDED) {
		__atomic_store_n(&sl_gpu_cupti_gate, to, __ATOMIC_RELEASE);
	} else if (begin_use()) {
		if (to != (sl_gpu_cupti_gate & ~LOOK))
			sl_gpu_guest.call.record(to & 1);
		take_back();
		__atomic_store_n(&sl_gpu_cupti_gate, to, __ATOMIC_RELEASE);
		end_use();
	}
	sl_set_cookie(kept);
	__atomic_store_n(&following, 0, __ATOMIC_RELEASE);
	errno = error;
}

/* By the worker alone: CUPTI may block. Calls that begin to be recorded wait for it, at the lock. */
static void rest(void)
{
	if (!sl_gpu_guest.is_on || !begin_following(NAPS))
		return;
	if (begin_use()) {
		sl_gpu_guest.call.rest();
		end_use();
	}
	__atomic_store_n(&following, 0, __ATOMIC_RELEASE);
}

void sl_gpu_look_soon(void)
{
	if (sl_gpu_guest.is_on && sl_gpu_guest.pid == sl_proc.pid)
		__atomic_or_fetch(&sl_gpu_cupti_gate, LOOK, __ATOMIC_RELEASE);
}

/* ---- the program's use of CUPTI ---- */

/* Waits while another thread forks. */
static bool begin_use_soon(void)
{
	uint64_t until = sl_mono_ns() + FORK_MS * UINT64_C(1000000);

	while (!begin_use()) {
		if (sl_gpu_guest.pid != sl_proc.pid || sl_global.seccomp || sl_mono_ns() > until ||
		    __atomic_load_n(&holds, __ATOMIC_RELAXED) & ENDED)
			return false;
		nap();
	}
	return true;
}

void sl_gpu_yield(void)
{
	uint64_t kept;

	if (!sl_gpu_owner_is_shim() || sl_gpu_guest.pid != sl_proc.pid ||
	    sl_tls.cookie == SL_COOKIE_QUIET)
		return;
	/* Lent without a record, where this thread has no ring. */
	sl_gpu_ring_is_ready();
	if (!begin_following(NAPS_YIELD))
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	if (begin_use_soon()) {
		if (sl_gpu_owner_lend()) {
			sl_gpu_guest.call.yield(sl_gpu_client());
			sl_gpu_owner_lent();
		}
		end_use();
	}
	sl_set_cookie(kept);
	__atomic_store_n(&following, 0, __ATOMIC_RELEASE);
}

bool sl_gpu_take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	return sl_gpu_guest.is_on &&
	       sl_gpu_guest.call.completed(context, stream, buffer, bytes, valid);
}

bool sl_gpu_owns_buffer(const uint8_t *buffer)
{
	return sl_gpu_guest.is_on && sl_gpu_guest.call.owns(buffer);
}

bool sl_gpu_keep_attribute(int attribute, size_t bytes, const void *value)
{
	return sl_gpu_cupti_runs() && sl_gpu_guest.call.attribute(attribute, bytes, value);
}

/* ---- the end ---- */

/* CUPTI is not used again. A thread that stays inside of it prevents the last flush. */
static void deliver_last(void)
{
	uint64_t kept;

	__atomic_or_fetch(&holds, ENDED, __ATOMIC_SEQ_CST);
	if (sl_gpu_ring_is_ready() && wait_for_users(USERS_MS)) {
		kept = sl_set_cookie(SL_COOKIE_QUIET);
		sl_gpu_guest.call.flush(true);
		sl_gpu_guest.call.end();
		sl_set_cookie(kept);
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

static void deliver(enum sl_gpu_end how)
{
	if (how == SL_GPU_END_EXEC)
		flush(true);
	else
		deliver_last();
}

/* Wakes the worker wherever it waits. It may be just about to wait: to be repeated. */
static void wake_worker(void)
{
	sl_sys3(SYS_futex, &sl_global.session->gate, FUTEX_WAKE, INT32_MAX);
}

static void serve(uint32_t request)
{
	deliver(__atomic_load_n(&ending, __ATOMIC_ACQUIRE) ? SL_GPU_END_EXIT : SL_GPU_END_EXEC);
	__atomic_store_n(&served, request, __ATOMIC_RELEASE);
}

static void ask_worker(unsigned ms)
{
	uint32_t request = __atomic_add_fetch(&asked, 1, __ATOMIC_ACQ_REL);
	uint64_t until = sl_mono_ns() + ms * UINT64_C(1000000);

	while ((int32_t)(__atomic_load_n(&served, __ATOMIC_ACQUIRE) - request) < 0 &&
	       __atomic_load_n(&worker_runs, __ATOMIC_ACQUIRE) && sl_mono_ns() < until) {
		wake_worker();
		nap();
	}
}

/* The only sign of a signal handler, which may have interrupted the allocator. */
static bool some_signal_is_blocked(void)
{
	uint64_t blocked = 0;

	sl_sys4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked));
	return blocked != 0;
}

/* Not in a child that shares its parent's memory, nor in what CUPTI itself calls. */
static bool is_own_end(enum sl_gpu_end how)
{
	if (!sl_gpu_guest.is_on || sl_gpu_guest.pid != sl_proc.pid ||
	    sl_tls.cookie == SL_COOKIE_VFORK || sl_tls.cookie == SL_COOKIE_QUIET)
		return false;
	if (sl_global.seccomp)
		return how == SL_GPU_END_EXIT;
	return (uint32_t)sl_getpid() == sl_gpu_guest.pid;
}

/* Another thread has begun to end the process, and would not come to its end. */
static void wait_for_end(unsigned ms)
{
	uint64_t until = sl_mono_ns() + ms * UINT64_C(1000000);

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) && sl_mono_ns() < until)
		nap();
}

void sl_gpu_end(enum sl_gpu_end how)
{
	unsigned ms = how == SL_GPU_END_EXIT ? EXIT_MS : END_MS;
	int error = errno;

	if (!is_own_end(how) || __atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		return;
	if (how != SL_GPU_END_EXEC && __atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL)) {
		if (!sl_global.seccomp)
			wait_for_end(ms);
	} else if (__atomic_load_n(&worker_runs, __ATOMIC_ACQUIRE) && !sl_global.seccomp) {
		ask_worker(ms);
	} else if (how == SL_GPU_END_EXIT || !some_signal_is_blocked()) {
		deliver(how);
	}
	errno = error;
}

/* ---- the worker ---- */

void sl_gpu_work_begun(void)
{
	/* The worker waits for the gate, for up to a whole period. */
	if (!__atomic_exchange_n(&begun, 1, __ATOMIC_RELEASE) && !sl_global.seccomp)
		wake_worker();
}

/* Waits until the gate changes, at most @until. The collector wakes from its own mapping: not FUTEX_PRIVATE. */
static void wait_for_gate(uint64_t until)
{
	const struct sl_session *s = sl_global.session;
	uint64_t now = sl_mono_ns(), rest = until > now ? until - now : 0;
	struct timespec limit;

	/* Bounded, to notice the end of the session. */
	rest = rest < LOOK_NS ? rest : LOOK_NS;
	limit = (struct timespec){(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};

	if (rest)
		sl_sys4(SYS_futex, &s->gate, FUTEX_WAIT,
			__atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED), &limit);
}

/* Times of the flushes that are due. */
struct due {
	uint64_t period, next;
	/*
	 * A capture has ended: the collector waits for the FLUSHED record, which needs a flush SOON_NS later. Of ends in quick
	 * succession, the first is not postponed and the last not dropped.
	 */
	uint64_t ends[2];
	bool is_early; /* the first work gets a flush soon, as many processes live no longer than a period */
};

static void add_capture_end(struct due *d)
{
	d->ends[d->ends[0] != NEVER] = sl_mono_ns() + SOON_NS;
}

static void add_first(struct due *d)
{
	uint64_t soon = sl_mono_ns() + FIRST_NS;

	if (d->is_early || d->period == NEVER || !__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		return;
	d->is_early = true;
	d->next = soon < d->next ? soon : d->next;
}

static void flush_what_is_due(struct due *d)
{
	uint64_t at = sl_mono_ns();

	if (at < d->ends[0] && at < d->next)
		return;
	/* During a fork: later. */
	if (__atomic_load_n(&holds, __ATOMIC_RELAXED)) {
		nap();
		return;
	}
	rest();
	flush(false);
	d->next = at + d->period;
	if (at >= d->ends[0]) {
		d->ends[0] = d->ends[1];
		d->ends[1] = NEVER;
	}
}

static void run(void)
{
	uint32_t ms = sl_global.session->cuda_flush_ms, gate = sl_gpu_cupti_gate, now, request;
	struct due d = {.period = ms ? ms * UINT64_C(1000000) : NEVER, .ends = {NEVER, NEVER}};

	d.next = sl_mono_ns() + d.period;
	/* A capture may have ended before this thread started. */
	if (!(gate & 1))
		add_capture_end(&d);
	while (__atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) == SL_SESSION_ON &&
	       sl_gpu_guest.pid == sl_proc.pid && !sl_global.seccomp) {
		request = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
		if (request != served) {
			serve(request);
			continue;
		}
		if (__atomic_load_n(&holds, __ATOMIC_RELAXED) & ENDED)
			return;
		add_first(&d);
		wait_for_gate(d.ends[0] < d.next ? d.ends[0] : d.next);
		sl_gpu_follow_gate();
		now = __atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED);
		/* A capture may begin and end between two iterations. */
		if (gate != now && (gate & 1 || !(now & 1)))
			add_capture_end(&d);
		gate = now;
		if (asked == served)
			flush_what_is_due(&d);
	}
}

/*
 * CUPTI's own worker delivers full buffers only. This thread flushes the others every flush_ms (0: never) and after the
 * end of a capture, and makes CUPTI follow the gate. It is the only thread that the shim starts, in programs that use
 * CUDA, where the driver has threads as well.
 */
static void *worker(void *unused)
{
	(void)unused;
	sl_sys2(SYS_prctl, PR_SET_NAME, "[Sightline]");
	if (sl_gpu_ring_is_ready()) {
		sl_set_cookie(SL_COOKIE_QUIET);
		run();
	}
	__atomic_store_n(&worker_runs, 0, __ATOMIC_RELEASE);
	return NULL;
}

void sl_gpu_start_worker(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		sl_get_real(SL_H_pthread_create);
	uint64_t all = ~0ull, before;
	pthread_t thread;
	uint64_t kept;

	/* The program's signals must be handled by its own threads. */
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	worker_runs = 1;
	if (!create || create(&thread, NULL, worker, NULL) != 0)
		worker_runs = 0;
	sl_set_cookie(kept);
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all));
}
