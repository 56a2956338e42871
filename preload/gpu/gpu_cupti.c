/*
 * gpu_cupti.c - host of libtrace-cuda.so, which uses CUPTI: loads it before the process's first CUDA call and writes its
 * records. Not in a forked child of a process with CUPTI, which does not survive a fork.
 */
#include "preload/gpu/gpu_engine.h"
#include "preload/gpu/gpu_guest.h"

#include <dlfcn.h>
#include <string.h>

#include "preload/wire/sys.h"

uint32_t sl_gpu_cupti_state; /* enum sl_gpu_cupti */
struct sl_gpu_guest sl_gpu_guest;
uint32_t sl_gpu_is_initialized;
uint32_t sl_gpu_cupti_gate;

/* Called by CUPTI's threads, and by the program's with SL_COOKIE_QUIET; prepares the ring where necessary. */
bool sl_gpu_ring_is_ready(void)
{
	if (sl_proc.cookie < SL_COOKIE_FIRST)
		return false;
	return sl_tls.cookie == SL_COOKIE_QUIET ? sl_tls.chunk != NULL : sl_ready();
}

void sl_gpu_put_record(unsigned kind, const void *payload, size_t bytes)
{
	struct sl_call call = {0};
	unsigned words = 2 + (unsigned)(bytes / 8);
	uint64_t *w;

	if (!sl_gpu_ring_is_ready() || !sl_begin_write())
		return;
	call.start = sl_ticks();
	w = sl_room(words, SL_NO_CALL(SL_LOST_GPU), &call);
	if (w) {
		w = sl_put_head(w, (enum sl_hook)kind, words, &call, SL_SHAPE_GPU, 0);
		memcpy(w, payload, bytes);
		sl_commit(w + bytes / 8);
	}
	sl_end_write();
}

static void host_record(enum sl_gpu_record kind, const void *payload, size_t bytes)
{
	sl_gpu_put_record(kind, payload, bytes);
}

static uint32_t host_string(const char *text, size_t len)
{
	uint64_t id;

	if (!sl_gpu_ring_is_ready())
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
	.begun = sl_gpu_work_begun,
	.loaded_cupti = host_cupti,
	.completed = sl_gpu_client_buffer,
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
	bool is_free;

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
	host.has_runtime = sl_gpu_seen.bound >> SL_GPU_cudart & 1;
	is_free = sl_gpu_owner_start();
	host.client = is_free ? NULL : sl_gpu_client();
	sl_gpu_guest.pid = (uint32_t)sl_getpid();
	sl_gpu_guest.is_on = start(&host, &sl_gpu_guest.call) == 0;
	__atomic_store_n(&sl_gpu_cupti_gate, gate, __ATOMIC_RELAXED);
	if (is_free)
		sl_gpu_owner_started(sl_gpu_guest.is_on);
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
	if (!sl_gpu_ring_is_ready())
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
	/* A client has waited for too long. */
	if (sl_gpu_has_client())
		sl_gpu_yield();
	errno = error;
}

/*
 * Exit handlers run in reverse order: registered after the first call, at_exit() runs before the driver's handler. Of two
 * registrations the first to run counts.
 */
extern int __cxa_atexit(void (*function)(void *), void *arg, void *dso);

static void at_exit(void *unused)
{
	(void)unused;
	sl_gpu_end(SL_GPU_END_EXIT);
}

/* A process that only counts GPUs gets no worker. */
void sl_gpu_after_init(void)
{
	if (__atomic_load_n(&sl_gpu_cupti_state, __ATOMIC_ACQUIRE) >= SL_GPU_CUPTI_LOADED &&
	    sl_gpu_guest.is_on && !__atomic_exchange_n(&sl_gpu_is_initialized, 1, __ATOMIC_ACQ_REL))
		__cxa_atexit(at_exit, NULL, NULL);
}

void sl_gpu_after_first_call(void)
{
	const struct sl_session *s = sl_global.session;
	uint32_t loaded = SL_GPU_CUPTI_LOADED;

	if (!__atomic_compare_exchange_n(&sl_gpu_cupti_state, &loaded, SL_GPU_CUPTI_DONE, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
	    !sl_gpu_guest.is_on)
		return;
	__cxa_atexit(at_exit, NULL, NULL);
	/* Some activity kinds can be enabled only now. */
	sl_gpu_flush();
	/* Without flushes and captures no worker is needed: each call checks the gate. */
	if (s->cuda_flush_ms || s->capture_by || !(s->gate & 1))
		sl_gpu_start_worker();
}
