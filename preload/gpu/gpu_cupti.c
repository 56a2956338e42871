/*
 * gpu_cupti.c - host of libtrace-cuda.so, which uses CUPTI: loads it before the process's first CUDA call, writes its
 * records, starts and stops and flushes it. Not in a forked child of a process with CUPTI, which does not survive a fork.
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
#define NEVER   (UINT64_MAX / 2) /* a time to which a period can be added */

uint32_t sl_gpu_cupti_state; /* enum sl_gpu_cupti */
static struct sl_cuda_guest guest;
static uint32_t guest_pid;
static bool is_on; /* CUPTI delivers */
uint32_t sl_gpu_cupti_gate;
static uint32_t following; /* a lock: a thread is in sl_gpu_follow_gate() */

/* Called by CUPTI's threads, and by the program's with SL_COOKIE_QUIET; prepares the ring where necessary. */
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

static void record_missing(const char *why)
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
		record_missing(path);
		return;
	}
	host = host_template;
	host.flags = sl_global.session->cuda_flags;
	host.flush_ms = sl_global.session->cuda_flush_ms;
	host.recording = gate & 1;
	guest_pid = (uint32_t)sl_getpid();
	is_on = start(&host, &guest) == 0;
	__atomic_store_n(&sl_gpu_cupti_gate, gate, __ATOMIC_RELAXED);
}

/*
 * Activity of other threads before CUPTI is enabled would be lost: they wait. Bounded: the loading thread may need the
 * loader's lock, which this thread may hold.
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
	    sl_global.session->cuda_flags & SL_CUDA_NO_CUPTI || sl_global.seccomp) {
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
	/* Files that CUPTI opens and threads that it starts are not recorded. */
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	load();
	sl_set_cookie(kept);
	__atomic_store_n(&sl_gpu_cupti_state, SL_GPU_CUPTI_LOADED, __ATOMIC_RELEASE);
	/* CUPTI may have loaded libraries. */
	sl_gpu_scan();
	errno = error;
}

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
	/* Another thread of the parent may have held the lock. */
	following = 0;
	if (sl_gpu_cupti_state == SL_GPU_CUPTI_LOADING)
		sl_gpu_cupti_state = SL_GPU_CUPTI_DONE;
}

/* Takes the lock. Bounded: another thread may be blocked inside CUPTI. */
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

void sl_gpu_follow_gate(void)
{
	const uint32_t *gate = &sl_global.session->gate;
	int error = errno;
	uint64_t kept;
	uint32_t to;

	if (__atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED) ==
		    __atomic_load_n(gate, __ATOMIC_ACQUIRE) ||
	    sl_tls.busy || !ring_is_ready() || !begin_following())
		return;
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	to = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
	if (is_on && guest_pid == sl_proc.pid && to != sl_gpu_cupti_gate)
		guest.record(to & 1);
	__atomic_store_n(&sl_gpu_cupti_gate, to, __ATOMIC_RELEASE);
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

/* CUPTI must be flushed before the driver's own exit handler destroys the context. */
static void at_exit(void *unused)
{
	(void)unused;
	flush(true);
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

/*
 * A capture has ended: the collector waits for the FLUSHED record, which needs a flush SOON_NS later. Of ends in quick
 * succession, the first is not postponed and the last not dropped.
 */
static void add_capture_end(uint64_t ends[2])
{
	ends[ends[0] != NEVER] = sl_mono_ns() + SOON_NS;
}

/*
 * CUPTI's own worker delivers full buffers only. This thread flushes the others every flush_ms (0: never) and after the
 * end of a capture, and makes CUPTI follow the gate. It is the only thread that the shim starts, in programs that use
 * CUDA, where the driver has threads as well.
 */
static void *worker(void *unused)
{
	uint32_t ms = sl_global.session->cuda_flush_ms, gate = sl_gpu_cupti_gate, now;
	uint64_t period = ms ? ms * (uint64_t)1000000 : NEVER, at, next;
	uint64_t ends[2] = {NEVER, NEVER};

	(void)unused;
	sl_sys2(SYS_prctl, PR_SET_NAME, "[Sightline]");
	if (!ring_is_ready())
		return NULL;
	sl_set_cookie(SL_COOKIE_QUIET);
	next = sl_mono_ns() + period;
	/* A capture may have ended before this thread started. */
	if (!(gate & 1))
		add_capture_end(ends);
	while (__atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) == SL_SESSION_ON &&
	       guest_pid == sl_proc.pid && !sl_global.seccomp) {
		wait_for_gate(ends[0] < next ? ends[0] : next);
		sl_gpu_follow_gate();
		now = __atomic_load_n(&sl_gpu_cupti_gate, __ATOMIC_RELAXED);
		/* A capture may begin and end between two iterations. */
		if (gate != now && (gate & 1 || !(now & 1)))
			add_capture_end(ends);
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

	/* The program's signals must be handled by its own threads. */
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	kept = sl_set_cookie(SL_COOKIE_QUIET);
	if (create)
		create(&thread, NULL, worker, NULL);
	sl_set_cookie(kept);
	sl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all));
}

/* Exit handlers run in reverse order: registered after the first call, at_exit() runs before the driver's handler. */
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
	/* Some activity kinds can be enabled only now. */
	flush(false);
	/* Without flushes and captures no worker is needed: each call checks the gate. */
	if (s->cuda_flush_ms || s->capture_by || !(s->gate & 1))
		start_worker();
}
