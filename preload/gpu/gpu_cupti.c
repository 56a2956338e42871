/*
 * gpu_cupti.c - libtrace-cuda.so, which talks to CUPTI: loaded with the process's first call into CUDA, never in a
 * process without, nor in the child of one that had (CUPTI does not survive a fork).
 */
#include "preload/gpu/gpu_engine.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "preload/cupti/cupti.h"
#include "preload/wire/sys.h"

#define SOON_NS (SL_CUDA_SLACK_NS + 20000000u)
#define LOOK_NS 1000000000u
#define NEVER   (UINT64_MAX / 2) /* a time to which one can be added */

uint32_t sl_gpu_cupti_state; /* enum sl_gpu_cupti */
static struct sl_cuda_guest guest;
static uint32_t guest_pid;
static bool is_on; /* CUPTI delivers */
uint32_t sl_gpu_followed;
static uint32_t following; /* somebody is at it */

/* Called by CUPTI's threads, and by the program's while they are quiet: the ring is ready in both cases, or made so. */
static bool ring_is_ready(void)
{
	if (sl_proc.cookie < SL_COOKIE_FIRST)
		return false;
	return sl_tls.cookie == SL_COOKIE_QUIET ? sl_tls.chunk != NULL : sl_ready();
}

static void host_record(enum sl_gpu_record kind, const void *payload, size_t bytes)
{
	struct sl_call call = {0};
	unsigned words = 2 + (unsigned)(bytes / 8);
	uint64_t *w;

	if (!ring_is_ready() || !sl_begin_write())
		return;
	call.start = sl_ticks();
	w = sl_room(words, SL_HOOK_CNT, &call);
	if (w) {
		w = sl_put_head(w, (enum sl_hook)kind, words, &call, SL_SHAPE_GPU, 0);
		memcpy(w, payload, bytes);
		sl_commit(w + bytes / 8);
	}
	sl_end_write();
}

static uint32_t host_string(const char *text, size_t len)
{
	uint64_t id;

	if (!ring_is_ready())
		return 0;
	id = __atomic_add_fetch(&sl_global.arena->string_serial, 1, __ATOMIC_RELAXED);
	sl_meta(SL_META_STRING, sl_ticks(), &id, 1, text, len);
	return (uint32_t)id;
}

static const char *host_cupti(void)
{
	return sl_gpu_seen.cupti;
}

static void *host_load(const char *path, int flags)
{
	void *(*real)(const char *, int) = sl_get_real(SL_H_dlopen);

	return real ? real(path, flags) : NULL;
}

static void *host_symbol(void *handle, const char *name)
{
	void *(*real)(void *, const char *) = sl_get_real(SL_H_dlsym);

	return real ? real(handle, name) : NULL;
}

static const struct sl_cuda_host host_template = {
	.bytes = sizeof(struct sl_cuda_host),
	.wire_version = SL_WIRE_VERSION,
	.record = host_record,
	.string = host_string,
	.now = sl_mono_ns,
	.loaded_cupti = host_cupti,
	.load = host_load,
	.symbol = host_symbol,
};

static void say_missing(const char *why)
{
	static const char head[] = "nothing is known of what the GPU does: cannot load ";
	struct sl_gpu_status status = {.code = SL_GPU_STATUS_NO_LIBRARY};
	char text[512];
	size_t len = strnlen(why, sizeof(text) - sizeof(head));

	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + sizeof(head) - 1, why, len);
	status.text = host_string(text, sizeof(head) - 1 + len);
	host_record(SL_GPU_REC_STATUS, &status, sizeof(status));
}

static void load(void)
{
	static struct sl_cuda_host host;
	const char *slash = sl_global.path ? strrchr(sl_global.path, '/') : NULL;
	static const char name[] = "libtrace-cuda.so";
	uint32_t gate = __atomic_load_n(&sl_global.session->gate, __ATOMIC_ACQUIRE);
	char path[512];
	sl_cuda_start_fn *start;
	void *library;

	if (!slash || (size_t)(slash - sl_global.path) + 1 + sizeof(name) > sizeof(path))
		return;
	memcpy(path, sl_global.path, (size_t)(slash - sl_global.path) + 1);
	memcpy(path + (slash - sl_global.path) + 1, name, sizeof(name));
	library = host_load(path, RTLD_NOW | RTLD_LOCAL);
	start = library ? (sl_cuda_start_fn *)host_symbol(library, "sl_cuda_start") : NULL;
	if (!start) {
		say_missing(path);
		return;
	}
	host = host_template;
	host.flags = sl_global.session->cuda_flags;
	host.flush_ms = sl_global.session->cuda_flush_ms;
	host.recording = gate & 1;
	guest_pid = (uint32_t)sl_getpid();
	is_on = start(&host, &guest) == 0;
	__atomic_store_n(&sl_gpu_followed, gate, __ATOMIC_RELAXED);
}

/*
 * What other threads do before CUPTI listens would be lost: they wait. Not for ever: whoever loads may need a lock of
 * the loader that is held here.
 */
static void wait_until_loaded(void)
{
	struct timespec step = {0, 200000};

	if (sl_tls.cookie == SL_COOKIE_QUIET)
		return;
	for (int i = 0; i < 5000 && __atomic_load_n(&sl_gpu_cupti_state, __ATOMIC_ACQUIRE) ==
					    SL_GPU_CUPTI_LOADING;
	     i++)
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
}

void sl_gpu_start_cupti(void)
{
	uint32_t none = 0;
	uint64_t kept;
	int error = errno;

	if (!(sl_global.session->trace & SL_TRACE_CUDA) ||
	    sl_global.session->cuda_flags & SL_CUDA_NO_CUPTI || sl_global.restricted) {
		sl_gpu_cupti_state = SL_GPU_CUPTI_DONE;
		return;
	}
	if (!ring_is_ready())
		return;
	if (!__atomic_compare_exchange_n(&sl_gpu_cupti_state, &none, SL_GPU_CUPTI_LOADING, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		wait_until_loaded();
		return;
	}
	/* What CUPTI does now (files it opens, threads it starts) is not the program's doing. */
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	load();
	sl_set_cookie(kept);
	__atomic_store_n(&sl_gpu_cupti_state, SL_GPU_CUPTI_LOADED, __ATOMIC_RELEASE);
	/* It may have brought libraries. */
	sl_gpu_scan();
	errno = error;
}

/* What CUPTI opens and starts is not the program's doing. */
static void flush(bool final)
{
	int error = errno;
	uint64_t kept;

	if (!guest.flush || guest_pid != sl_proc.pid || !ring_is_ready())
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	guest.flush(final);
	sl_set_cookie(kept);
	errno = error;
}

void sl_gpu_flush(void)
{
	flush(false);
}

void sl_gpu_cupti_forked(void)
{
	/* Another thread of the parent may have been at it. */
	following = 0;
	if (sl_gpu_cupti_state == SL_GPU_CUPTI_LOADING)
		sl_gpu_cupti_state = SL_GPU_CUPTI_DONE;
}

/* True: this thread alone changes what CUPTI records. Not for ever: another one may be held up inside CUPTI. */
static bool begin_following(void)
{
	struct timespec step = {0, 200000};

	for (int i = 0; i < 2500; i++) {
		if (!__atomic_exchange_n(&following, 1, __ATOMIC_ACQUIRE))
			return true;
		sl_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
	}
	return false;
}

void sl_gpu_follow(void)
{
	const uint32_t *gate = &sl_global.session->gate;
	int error = errno;
	uint64_t kept;
	uint32_t to;

	if (__atomic_load_n(&sl_gpu_followed, __ATOMIC_RELAXED) ==
		    __atomic_load_n(gate, __ATOMIC_ACQUIRE) ||
	    sl_tls.busy || !ring_is_ready() || !begin_following())
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	to = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
	if (is_on && guest_pid == sl_proc.pid && to != sl_gpu_followed)
		guest.record(to & 1);
	__atomic_store_n(&sl_gpu_followed, to, __ATOMIC_RELEASE);
	sl_set_cookie(kept);
	__atomic_store_n(&following, 0, __ATOMIC_RELEASE);
	errno = error;
}

void sl_gpu_yield(void)
{
	uint64_t kept;

	if (!guest.yield || guest_pid != sl_proc.pid || !ring_is_ready())
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	guest.yield();
	sl_set_cookie(kept);
}

/* CUPTI must hand over what it has before the driver's own exit handler takes the context away. */
static void at_exit(void *unused)
{
	(void)unused;
	flush(true);
}

/* Until the gate changes or so long has passed. The collector wakes from its own mapping: not FUTEX_PRIVATE. */
static void wait_for_gate(uint64_t until)
{
	const struct sl_session *s = sl_global.session;
	uint64_t now = sl_mono_ns(), rest = until > now ? until - now : 0;
	struct timespec limit;

	/* Whether the session goes on is looked at now and then. */
	rest = rest < LOOK_NS ? rest : LOOK_NS;
	limit = (struct timespec){(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};

	if (rest)
		sl_sys4(SYS_futex, &s->gate, FUTEX_WAIT,
			__atomic_load_n(&sl_gpu_followed, __ATOMIC_RELAXED), &limit);
}

/*
 * A capture has ended: whoever completes the report waits to hear that everything from before has come. That can be
 * asked for a little later only; of ends that are close together the first is not put off and the last not forgotten.
 */
static void note_end(uint64_t ends[2])
{
	ends[ends[0] != NEVER] = sl_mono_ns() + SOON_NS;
}

/*
 * CUPTI's own worker hands over full buffers only. So this thread asks for the rest, flush_ms apart (0: it does not), and
 * when a capture has ended; and it has CUPTI record while the gate is open. The only one that is ever started in a
 * program, in those alone that use CUDA, where the driver has started several before.
 */
static void *worker(void *unused)
{
	uint32_t ms = sl_global.session->cuda_flush_ms, gate = sl_gpu_followed, now;
	uint64_t period = ms ? ms * (uint64_t)1000000 : NEVER, at, next;
	uint64_t ends[2] = {NEVER, NEVER};

	(void)unused;
	sl_sys2(SYS_prctl, PR_SET_NAME, "[Sightline]");
	if (!ring_is_ready())
		return NULL;
	sl_set_cookie(SL_COOKIE_QUIET);
	next = sl_mono_ns() + period;
	/* A capture that was over before this thread was there has ended, too. */
	if (!(gate & 1))
		note_end(ends);
	while (__atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) == SL_SESSION_ON &&
	       guest_pid == sl_proc.pid && !sl_global.restricted) {
		wait_for_gate(ends[0] < next ? ends[0] : next);
		sl_gpu_follow();
		now = __atomic_load_n(&sl_gpu_followed, __ATOMIC_RELAXED);
		/* It may begin and end between two looks. */
		if (gate != now && (gate & 1 || !(now & 1)))
			note_end(ends);
		gate = now;
		at = sl_mono_ns();
		if (at < ends[0] && at < next)
			continue;
		guest.flush(false);
		next = at + period;
		if (at >= ends[0]) {
			ends[0] = ends[1];
			ends[1] = NEVER;
		}
	}
	return NULL;
}

static void start_worker(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		sl_get_real(SL_H_pthread_create);
	uint64_t all = ~0ull, before;
	pthread_t thread;
	uint64_t kept;

	/* The program's signals are for its own threads. */
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	if (create)
		create(&thread, NULL, worker, NULL);
	sl_set_cookie(kept);
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all));
}

/* Handlers run last come, first served: ours must come after the driver's, hence after the first call. */
extern int __cxa_atexit(void (*function)(void *), void *arg, void *dso);

void sl_gpu_after_first_call(void)
{
	const struct sl_session *s = sl_global.session;
	uint32_t loaded = SL_GPU_CUPTI_LOADED;

	if (!__atomic_compare_exchange_n(&sl_gpu_cupti_state, &loaded, SL_GPU_CUPTI_DONE, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
	    !is_on)
		return;
	__cxa_atexit(at_exit, NULL, NULL);
	/* Some kinds can be enabled only now. */
	flush(false);
	/* Where buffers go as they are full and the gate stays open, every call looks at the gate: that is enough. */
	if (s->cuda_flush_ms || s->capture_by || !(s->gate & 1))
		start_worker();
}
