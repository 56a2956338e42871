/*
 * cupti_host.h - what tests of libtrace-cuda.so share: a host that keeps the records it gets, a driver whose behaviour
 * the test sets, and a process per test, since CUPTI's state is the process's. Include it first.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/cupti/cupti.h"
#include "preload/wire/session.h"
#include "preload/wire/wire.h"
#include "tests/standin/cupti.h"

/* A failed check ends the test's process, with what and where. */
#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)
static inline void check_equal(uint64_t got, uint64_t want, const char *what, const char *file,
			       int line)
{
	if (got == want)
		return;
	fprintf(stderr, "%s:%d: %s is %#lx, not %#lx\n", file, line, what, (unsigned long)got,
		(unsigned long)want);
	_exit(1);
}
#define CHECK_EQUAL(got, want) \
	check_equal((uint64_t)(got), (uint64_t)(want), #got, __FILE__, __LINE__)

/* ---- the host ---- */

struct told {
	enum sl_gpu_record kind;
	int thread;
	union {
		struct sl_gpu_api api;
		struct sl_gpu_kernel kernel;
		struct sl_gpu_memcpy copy;
		struct sl_gpu_memset set;
		struct sl_gpu_sync sync;
		struct sl_gpu_event event;
		struct sl_gpu_graph graph;
		struct sl_gpu_memory memory;
		struct sl_gpu_pool pool;
		struct sl_gpu_overhead overhead;
		struct sl_gpu_jit jit;
		struct sl_gpu_um um;
		struct sl_gpu_device device;
		struct sl_gpu_context context;
		struct sl_gpu_stream stream;
		struct sl_gpu_node node;
		struct sl_gpu_flushed flushed;
		struct sl_gpu_status status;
	};
};
#define TEXTS 65536u

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static struct told *told;
static size_t told_cnt, told_room;
static struct {
	char *text;
	int thread;
} texts[TEXTS];
static uint32_t text_cnt;

static inline int this_thread(void)
{
	return (int)syscall(SYS_gettid);
}

static inline void host_record(enum sl_gpu_record kind, const void *payload, size_t bytes)
{
	CHECK(bytes % 8 == 0 && bytes <= sizeof(*told) - offsetof(struct told, api));
	pthread_mutex_lock(&host_lock);
	if (told_cnt == told_room) {
		told_room = told_room ? 2 * told_room : 1024;
		told = realloc(told, told_room * sizeof(*told));
		CHECK(told);
	}
	memset(&told[told_cnt], 0, sizeof(*told));
	told[told_cnt].kind = kind;
	told[told_cnt].thread = this_thread();
	memcpy(&told[told_cnt++].api, payload, bytes);
	pthread_mutex_unlock(&host_lock);
}

static inline uint32_t host_string(const char *text, size_t len)
{
	uint32_t id;

	pthread_mutex_lock(&host_lock);
	id = ++text_cnt;
	CHECK(id < TEXTS);
	texts[id].text = strndup(text, len);
	texts[id].thread = this_thread();
	pthread_mutex_unlock(&host_lock);
	return id;
}

static inline uint64_t host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *host_loaded;

static inline const char *host_loaded_cupti(void)
{
	return host_loaded;
}

static inline void *host_load(const char *path, int flags)
{
	return dlopen(path, flags);
}

static inline void *host_symbol(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static struct sl_cuda_host host = {.bytes = sizeof(host),
				   .wire_version = SL_WIRE_VERSION,
				   .flush_ms = 1000,
				   .recording = 1,
				   .record = host_record,
				   .string = host_string,
				   .now = host_now,
				   .loaded_cupti = host_loaded_cupti,
				   .load = host_load,
				   .symbol = host_symbol};
static struct sl_cuda_guest cuda;

/* ---- the driver ---- */

static const struct standin_observer *observer;
int standin_observe(const struct standin_observer *o);
__attribute__((visibility("default"))) int standin_observe(const struct standin_observer *o)
{
	if (o && observer)
		return -1;
	observer = o;
	return 0;
}

static uint32_t driver_calls;

/* A launch through the runtime, as the stand-in driver reports it: the runtime's call, the driver's inside, the work. */
static inline uint32_t launch_at(const char *name, uint64_t begin, uint64_t end)
{
	uint32_t id = __atomic_add_fetch(&driver_calls, 1, __ATOMIC_RELAXED);
	struct standin_activity a = {.kind = STANDIN_KERNEL,
				     .start = begin,
				     .end = end,
				     .correlation = id,
				     .context = 1,
				     .stream = 7,
				     .name = name,
				     .grid = {4, 2, 1},
				     .block = {128, 1, 1},
				     .shared = 64,
				     .registers = 24};

	CHECK(observer);
	observer->api(0, 0, "cudaLaunchKernel", id, 0);
	observer->api(0, 1, "cuLaunchKernel", id, 0);
	observer->activity(&a);
	observer->api(1, 1, "cuLaunchKernel", id, 0);
	observer->api(1, 0, "cudaLaunchKernel", id, 0);
	return id;
}

static inline uint32_t launch(const char *name)
{
	uint64_t now = host_now();

	return launch_at(name, now - 5000, now);
}

/* ---- a test ---- */

static char build[4096]; /* the folder of what was built: this is tests/unit/NAME in it */

static inline void find_build(void)
{
	ssize_t len = readlink("/proc/self/exe", build, sizeof(build) - 1);

	CHECK(len > 0);
	build[len] = 0;
	for (int i = 0; i < 3; i++)
		*strrchr(build, '/') = 0;
}

static void (*emit)(const struct standin_emit *e);

/* libcupti as the test wants it: "so.13", or a path, or NULL for none. Returns what sl_cuda_start does. */
static inline int start(const char *cupti, uint32_t flags)
{
	sl_cuda_start_fn *fn;
	char path[4200];
	void *lib;

	find_build();
	if (cupti && *cupti != '/') {
		snprintf(path, sizeof(path), "%s/tests/standin/libcupti.%s", build, cupti);
		cupti = path;
	}
	if (cupti)
		setenv("SIGHTLINE_CUPTI", cupti, 1);
	lib = cupti ? dlopen(cupti, RTLD_NOW | RTLD_LOCAL) : NULL;
	emit = lib ? (void (*)(const struct standin_emit *))dlsym(lib, "standin_cupti_emit") : NULL;
	snprintf(path, sizeof(path), "%s/libtrace-cuda.so", build);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(lib);
	fn = (sl_cuda_start_fn *)dlsym(lib, "sl_cuda_start");
	CHECK(fn);
	host.flags = flags;
	return fn(&host, &cuda);
}

static inline size_t count(enum sl_gpu_record kind)
{
	size_t n = 0;

	pthread_mutex_lock(&host_lock);
	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == kind;
	pthread_mutex_unlock(&host_lock);
	return n;
}

/* The first, or the last, or the only one of a kind. */
static inline const struct told *first(enum sl_gpu_record kind)
{
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == kind)
			return &told[i];
	return NULL;
}
static inline const struct told *last(enum sl_gpu_record kind)
{
	for (size_t i = told_cnt; i--;)
		if (told[i].kind == kind)
			return &told[i];
	return NULL;
}
static inline const struct told *only(enum sl_gpu_record kind)
{
	CHECK_EQUAL(count(kind), 1);
	return first(kind);
}

/* A text must have been emitted by the thread that refers to it. */
static inline const char *text_of(const struct told *t, uint32_t id)
{
	CHECK(id <= text_cnt);
	CHECK(!id || texts[id].thread == t->thread);
	return id ? texts[id].text : "";
}

static inline const struct told *status(enum sl_gpu_status_code code)
{
	const struct told *found = NULL;

	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_STATUS && told[i].status.code == code) {
			CHECK(!found); /* emitted once */
			found = &told[i];
		}
	if (!found)
		for (size_t i = 0; i < told_cnt; i++)
			if (told[i].kind == SL_GPU_REC_STATUS)
				fprintf(stderr, "status %u: %s\n", told[i].status.code,
					text_of(&told[i], told[i].status.text));
	CHECK(found);
	return found;
}
static inline bool status_has(enum sl_gpu_status_code code, const char *what)
{
	const struct told *t = status(code);

	return strstr(text_of(t, t->status.text), what) != NULL;
}

/* A bug of the loaded version was avoided, and the report has a note. */
static inline bool has_avoided(const char *what)
{
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_STATUS &&
		    told[i].status.code == SL_GPU_STATUS_AVOIDED &&
		    strstr(text_of(&told[i], told[i].status.text), what))
			return true;
	return false;
}

/* Status records that are no news of a CUPTI that works. */
static inline size_t problems(void)
{
	size_t n = 0;

	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == SL_GPU_REC_STATUS && told[i].status.code != SL_GPU_STATUS_ON &&
		     told[i].status.code != SL_GPU_STATUS_AVOIDED;
	return n;
}

/* Status records with a text in theirs. */
static inline size_t status_count(const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == SL_GPU_REC_STATUS &&
		     strstr(text_of(&told[i], told[i].status.text), what);
	return n;
}

/* Notes of bugs that were avoided. */
static inline uint32_t avoided(void)
{
	uint32_t n = 0;

	for (size_t i = 0; i < told_cnt; i++)
		n += told[i].kind == SL_GPU_REC_STATUS &&
		     told[i].status.code == SL_GPU_STATUS_AVOIDED;
	return n;
}

/* Runs a test in a process of its own. */
static inline void apart(void (*test)(void))
{
	int how;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		/* cmocka's handler would go on with the next test in here. */
		for (const int *sig = (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, 0};
		     *sig; sig++)
			signal(*sig, SIG_DFL);
		alarm(120);
		test();
		fflush(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(how, 0);
}
#define APART(name)                         \
	static void name(void **state)      \
	{                                   \
		(void)state;                \
		apart(name##_in_a_process); \
	}
