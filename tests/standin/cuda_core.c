/* cuda_core.c - the stand-in driver: the lock, handles, time, the observer, what may be called before cuInit. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/count.h"
#include "tests/standin/cuda_driver.h"

struct driver driver = {.next_context = 1, .next_stream = 13, .next_event = 1, .next_graph = 1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the observer ---- */

static const struct standin_observer *observer;
static uint32_t correlations;
static __thread struct {
	unsigned depth;
	uint32_t correlation;
	struct standin_activity *activities;
	size_t cnt, room;
} call;

int standin_observe(const struct standin_observer *o)
{
	const struct standin_observer *nobody = NULL;

	if (!o) {
		__atomic_store_n(&observer, NULL, __ATOMIC_RELEASE);
		return 0;
	}
	return __atomic_compare_exchange_n(&observer, &nobody, o, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED)
		       ? 0
		       : -1;
}

uint32_t standin_api(int is_exit, int is_driver, const char *name, uint32_t correlation, int result)
{
	const struct standin_observer *o = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);

	(void)correlation;
	if (!is_exit && !call.depth++)
		call.correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
	if (o && o->api)
		o->api(is_exit, is_driver, name, call.correlation, result);
	if (is_exit && call.depth)
		call.depth--;
	return call.correlation;
}

static void count(const struct standin_activity *a)
{
	static const int8_t numbers[] = {[STANDIN_KERNEL] = 1,
					 [STANDIN_MEMCPY] = 2,
					 [STANDIN_MEMSET] = 3,
					 [STANDIN_GRAPH] = 4};

	if (a->kind <= STANDIN_GRAPH && numbers[a->kind])
		standin_count_work((unsigned)numbers[a->kind] - 1, a->graph_node != 0);
}

uint32_t told_correlation(void)
{
	return call.correlation;
}

void tell(const struct standin_activity *a)
{
	if (standin_counting)
		count(a);
	if (!__atomic_load_n(&observer, __ATOMIC_RELAXED))
		return;
	if (call.cnt == call.room) {
		size_t room = call.room ? 2 * call.room : 16;
		void *more = realloc(call.activities, room * sizeof(*call.activities));

		if (!more)
			abort(); /* a test must not lose what it is about */
		call.activities = more;
		call.room = room;
	}
	call.activities[call.cnt] = *a;
	if (!a->correlation)
		call.activities[call.cnt].correlation = call.correlation;
	call.cnt++;
}

static void tell_all(void)
{
	const struct standin_observer *o = __atomic_load_n(&observer, __ATOMIC_ACQUIRE);
	size_t i;

	for (i = 0; i < call.cnt; i++)
		if (o && o->activity)
			o->activity(&call.activities[i]);
	call.cnt = 0;
	if (call.room > 4096) {
		free(call.activities);
		call.activities = NULL;
		call.room = 0;
	}
}

/* ---- a call ---- */

static void in_child(void)
{
	driver.forked |= driver.up; /* else the child may begin */
	pthread_mutex_init(&lock, NULL);
	__atomic_store_n(&observer, NULL, __ATOMIC_RELAXED);
	call.depth = 0;
	call.cnt = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void driver_lock(void)
{
	pthread_mutex_lock(&lock);
}

void driver_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

uint32_t enter(const char *name)
{
	uint32_t correlation = standin_api(0, 1, name, 0, 0);

	driver_lock();
	return correlation;
}

int leave(const char *name, uint32_t correlation, int result)
{
	driver_unlock();
	if (call.cnt)
		tell_all();
	standin_api(1, 1, name, correlation, result);
	return result;
}

int ready(void)
{
	return driver.up && !driver.forked ? CUDA_OK : CUDA_NOT_INITIALIZED;
}

/* ---- time ---- */

uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void wait_until(uint64_t when)
{
	uint64_t t = now();

	if (t >= when)
		return;
	driver_unlock();
	/* Asleep for most of it, awake at the end: GPUs are more punctual than timers. */
	while (t < when) {
		if (when - t > 150000) {
			uint64_t ns = when - t - 100000;
			struct timespec nap = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

			nanosleep(&nap, NULL);
		}
		t = now();
	}
	driver_lock();
}

/* ---- handles ---- */

static struct object **table;
static size_t table_size, object_cnt;

static size_t bucket(const void *address)
{
	return ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u >> 32 & (table_size - 1);
}

static void grow(void)
{
	size_t old_size = table_size, i;
	struct object **old = table, *o, *next;

	table_size = old_size ? 2 * old_size : 256;
	table = calloc(table_size, sizeof(*table));
	if (!table)
		abort();
	for (i = 0; i < old_size; i++)
		for (o = old[i]; o; o = next) {
			next = o->next;
			o->next = table[bucket(o)];
			table[bucket(o)] = o;
		}
	free(old);
}

void *object_make(enum object_kind kind, size_t bytes)
{
	struct object *o = calloc(1, bytes);

	if (!o)
		abort();
	if (object_cnt++ >= table_size)
		grow();
	o->kind = kind;
	o->next = table[bucket(o)];
	table[bucket(o)] = o;
	return o;
}

void *object_find(const void *handle, enum object_kind kind)
{
	struct object *o;

	if (!table_size)
		return NULL;
	for (o = table[bucket(handle)]; o; o = o->next)
		if (o == handle)
			return o->kind == kind ? o : NULL;
	return NULL;
}

void object_drop(void *object)
{
	struct object **o = &table[bucket(object)];

	while (*o != object)
		o = &(*o)->next;
	*o = (*o)->next;
	object_cnt--;
	free(object);
}

void standin_dump_contexts(void)
{
	driver_lock();
	for (size_t i = 0; i < table_size; i++)
		for (const struct object *o = table[i]; o; o = o->next) {
			const struct CUctx_st *c = (const void *)o;

			if (o->kind == OBJECT_CONTEXT)
				tell(&(struct standin_activity){.kind = STANDIN_CONTEXT,
								.start = now(),
								.device = (uint32_t)c->device,
								.context = c->id,
								.stream = c->null->id});
		}
	driver_unlock();
	tell_all();
}

/* ---- before cuInit ---- */

static uint32_t is_over; /* atomic */

int standin_driver_is_over(void)
{
	return __atomic_load_n(&is_over, __ATOMIC_ACQUIRE) != 0;
}

int standin_driver_is_up(void)
{
	return driver.up;
}

/* The real one destroys its contexts in a handler of exit(). */
static void end(void)
{
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

static void end_at_exit(void)
{
	atexit(end);
}

static int init(unsigned flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *devices = getenv("STANDIN_DEVICES");

	if (flags)
		return CUDA_INVALID_VALUE;
	if (driver.forked)
		return CUDA_NOT_INITIALIZED;
	driver.device_cnt = devices ? atoi(devices) : 1;
	if (driver.device_cnt > DEVICE_MAX)
		driver.device_cnt = DEVICE_MAX;
	if (driver.device_cnt <= 0)
		return CUDA_NO_DEVICE;
	pthread_once(&once, end_at_exit);
	driver.up = true;
	return CUDA_OK;
}

int cuInit(unsigned flags)
{
	return CALL_EARLY(init(flags));
}

static int version(int *v)
{
	const char *set = getenv("STANDIN_DRIVER_VERSION");

	if (!v)
		return CUDA_INVALID_VALUE;
	*v = set ? atoi(set) : DRIVER_VERSION;
	return CUDA_OK;
}

int cuDriverGetVersion(int *v)
{
	return CALL_EARLY(version(v));
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{CUDA_OK, "CUDA_SUCCESS", "no error"},
	{CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
	{CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_PEER_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
	 "peer access is already enabled"},
	{CUDA_PEER_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
	 "peer access has not been enabled"},
	{CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
	{CUDA_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
	 "the capture was not initiated in this stream"},
};

static int describe(int error, const char **text, bool name)
{
	size_t i;

	if (!text)
		return CUDA_INVALID_VALUE;
	*text = NULL;
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == error) {
			*text = name ? errors[i].name : errors[i].text;
			return CUDA_OK;
		}
	return CUDA_INVALID_VALUE;
}

int cuGetErrorName(int error, const char **text)
{
	return CALL_EARLY(describe(error, text, true));
}

int cuGetErrorString(int error, const char **text)
{
	return CALL_EARLY(describe(error, text, false));
}

static long refuse(void)
{
	return CUDA_NOT_SUPPORTED;
}

/*
 * The tables behind this one are not public; a program must do without (see the binding test). STANDIN_EXPORTS=1: there are
 * tables, whose functions all refuse. NVIDIA's libcupti then loads, and knows what needs no GPU (pm_sets.c).
 */
int cuGetExportTable(const void **exports, const void *id)
{
	static const void *made_up[256];

	(void)id;
	if (exports && getenv("STANDIN_EXPORTS")) {
		made_up[0] = (const void *)(uintptr_t)sizeof(made_up);
		for (size_t i = 1; i < sizeof(made_up) / sizeof(*made_up); i++)
			made_up[i] = (const void *)(uintptr_t)refuse;
		*exports = made_up;
		return CALL_EARLY(0);
	}
	if (exports)
		*exports = NULL;
	return CALL_EARLY(CUDA_NOT_SUPPORTED);
}

int cuGetProcAddress(const char *name, void **address, int version, uint64_t flags)
{
	return CALL_EARLY(proc_get(name, address, version, flags, NULL));
}

int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status)
{
	return CALL_EARLY(proc_get(name, address, version, flags, status));
}
