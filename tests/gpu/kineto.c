/*
 * kineto.c old|new STEPS - a program that traces the GPU itself by the calls that PyTorch's Kineto makes, in its order:
 * old ones (before August 2026) subscribe first, and for good; new ones never do. STEPS, a letter each:
 *
 *   w  work
 *   p  a profile: warm-up, work, end; its buffers are full of old bytes, as those of an allocator are
 *   u  the same, and what was recorded is never fetched
 *   t  ends its use of CUPTI for good: TEARDOWN_CUPTI=1, which finalizes it at the end of a call
 *   s  waits until a client that has not fetched its records counts as ended
 *
 * The records of each profile must be the same, traced or not. Own declarations of what it needs of CUPTI.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern int cudaMalloc(void **p, size_t bytes);
extern int cudaFree(void *p);
extern int cudaMemsetAsync(void *p, int value, size_t bytes, void *stream);
extern int cudaDeviceSynchronize(void);

#define FUNCTIONS(F)                                                              \
	F(cuptiGetVersion, (uint32_t * version))                                  \
	F(cuptiSubscribe, (void **subscriber, void *callback, void *data))        \
	F(cuptiUnsubscribe, (void *subscriber))                                   \
	F(cuptiEnableCallback, (uint32_t on, void *who, int domain, uint32_t id)) \
	F(cuptiEnableDomain, (uint32_t on, void *who, int domain))                \
	F(cuptiFinalize, (void))                                                  \
	F(cuptiActivityRegisterTimestampCallback, (uint64_t(*now)(void)))         \
	F(cuptiActivityRegisterCallbacks, (void *requested, void *completed))     \
	F(cuptiActivityEnable, (int kind))                                        \
	F(cuptiActivityDisable, (int kind))                                       \
	F(cuptiActivityEnableRuntimeApi, (uint32_t id, uint8_t on))               \
	F(cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t on))             \
	F(cuptiActivityFlushAll, (uint32_t forced))                               \
	F(cuptiActivitySetAttribute, (int attribute, size_t *bytes, void *value)) \
	F(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, uint8_t * *record))
#ifdef LINKED
#define DECLARE(name, parameters) extern int name parameters;
FUNCTIONS(DECLARE)
#else
#define DECLARE(name, parameters) static int(*name) parameters;
FUNCTIONS(DECLARE)
#endif

enum {
	BUFFER = 1 << 20,
	BUFFERS = 256,
	FILLS = 10,
	KIND_MEMSET = 2,
	KIND_RUNTIME = 4,
	CALL_EXIT = 1,
};
static const int kinds[] = {1, KIND_MEMSET, 10, KIND_RUNTIME, 38, 17};
#define KIND_CNT ((int)(sizeof(kinds) / sizeof(*kinds)))

static bool is_old;
static uint32_t version;
static void *subscriber;
static int errors, strangers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint8_t *data;
	size_t valid;
	bool is_out, is_ready;
} buffers[BUFFERS];

static void expect(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %d\n", what, result);
	errors++;
}
#define CALL(name, ...) expect(name(__VA_ARGS__), #name)

static uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 3;
#endif
}

static void requested(uint8_t **data, size_t *bytes, size_t *max_records)
{
	pthread_mutex_lock(&lock);
	*data = NULL;
	*bytes = *max_records = 0;
	for (int i = 0; i < BUFFERS && !*data; i++) {
		if (buffers[i].is_out || buffers[i].is_ready)
			continue;
		if (!buffers[i].data)
			buffers[i].data = aligned_alloc(8, BUFFER);
		memset(buffers[i].data, 0xaa, BUFFER);
		buffers[i].is_out = true;
		*data = buffers[i].data;
		*bytes = BUFFER;
	}
	pthread_mutex_unlock(&lock);
}

static void completed(void *context, uint32_t stream, uint8_t *data, size_t bytes, size_t valid)
{
	int i;

	(void)context;
	(void)stream;
	(void)bytes;
	pthread_mutex_lock(&lock);
	for (i = 0; i < BUFFERS && !(buffers[i].is_out && buffers[i].data == data); i++)
		;
	if (i < BUFFERS) {
		buffers[i].is_out = false;
		buffers[i].is_ready = true;
		buffers[i].valid = valid;
	} else {
		strangers++;
	}
	pthread_mutex_unlock(&lock);
}

static bool any_is_out(void)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS; i++)
		any |= buffers[i].is_out;
	pthread_mutex_unlock(&lock);
	return any;
}

static void drop(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS; i++)
		buffers[i].is_ready = false;
	pthread_mutex_unlock(&lock);
}

/* ---- the end of its use of CUPTI ---- */

static pthread_cond_t is_torn_down = PTHREAD_COND_INITIALIZER;
static int tearing_down;

static void callback(void *data, int domain, unsigned id, const void *info)
{
	(void)data;
	(void)id;
	if (!__atomic_load_n(&tearing_down, __ATOMIC_ACQUIRE) || domain != 2 ||
	    *(const int *)info != CALL_EXIT)
		return;
	CALL(cuptiUnsubscribe, subscriber);
	CALL(cuptiFinalize);
	subscriber = NULL;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&tearing_down, 0, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&is_torn_down);
	pthread_mutex_unlock(&lock);
}

static void subscribe(void)
{
	CALL(cuptiSubscribe, &subscriber, (void *)callback, NULL);
	CALL(cuptiEnableCallback, 1, subscriber, 3, 1);
}

static void *tear_down(void *unused)
{
	(void)unused;
	if (!subscriber)
		subscribe();
	CALL(cuptiEnableDomain, 1, subscriber, 2);
	CALL(cuptiEnableDomain, 1, subscriber, 1);
	CALL(cuptiActivityFlushAll, 1);
	__atomic_store_n(&tearing_down, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&lock);
	while (__atomic_load_n(&tearing_down, __ATOMIC_ACQUIRE))
		pthread_cond_wait(&is_torn_down, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ---- the program ---- */

static void work(size_t bytes)
{
	void *p;
	int rc = cudaMalloc(&p, bytes);

	for (int i = 0; i < FILLS; i++)
		rc |= cudaMemsetAsync(p, 1, bytes, NULL);
	rc |= cudaDeviceSynchronize();
	rc |= cudaFree(p);
	expect(rc, "work");
}

static void end_for_good(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, tear_down, NULL);
	while (!__atomic_load_n(&tearing_down, __ATOMIC_ACQUIRE))
		usleep(100);
	while (__atomic_load_n(&tearing_down, __ATOMIC_ACQUIRE))
		expect(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	pthread_join(thread, NULL);
	printf("torn down\n");
}

struct seen {
	int fills, calls, others, untimely, dirty, of_others;
};

static uint64_t word(const uint8_t *record, unsigned at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, record + at, bytes);
	return value;
}

static void read_record(const uint8_t *record, uint64_t from, uint64_t to, struct seen *s)
{
	uint64_t start = 0;

	switch (word(record, 0, 4)) {
	case KIND_MEMSET:
		s->fills++;
		start = word(record, 16, 8);
		/* Fields that are 0 here: flags, channel. */
		s->dirty += word(record, 48, 2) || word(record, 76, 4) || word(record, 80, 4);
		break;
	case KIND_RUNTIME:
		s->calls++;
		start = word(record, 8, 8);
		s->of_others += word(record, 28, 4) != (uint32_t)(uintptr_t)pthread_self();
		break;
	default:
		s->others++;
		return;
	}
	/* The clock's rate is not CUPTI's: within some seconds. */
	s->untimely += start + 40000000000u < from || start > to + 40000000000u;
}

static void read_all(uint64_t from, uint64_t to)
{
	struct seen s = {0};

	for (int i = 0; i < BUFFERS; i++) {
		uint8_t *record = NULL;

		while (buffers[i].is_ready &&
		       !cuptiActivityGetNextRecord(buffers[i].data, buffers[i].valid, &record))
			read_record(record, from, to, &s);
	}
	drop();
	printf("profile: %d fills, %d calls, %d others; %d untimely, %d with old bytes, %d of "
	       "another "
	       "thread, %d strange buffers\n",
	       s.fills, s.calls, s.others, s.untimely, s.dirty, s.of_others, strangers);
}

static void set_per_thread(uint8_t on)
{
	size_t bytes = 1;

	if (version >= 21)
		CALL(cuptiActivitySetAttribute, 9, &bytes, &on);
}

static void profile(size_t bytes, bool is_fetched)
{
	uint64_t from = ticks();

	if (is_old && !subscriber)
		subscribe();
	CALL(cuptiActivityRegisterTimestampCallback, ticks);
	if (getenv("KINETO_PER_THREAD"))
		set_per_thread(1);
	CALL(cuptiActivityRegisterCallbacks, (void *)requested, (void *)completed);
	for (int i = 0; i < KIND_CNT; i++) {
		if (kinds[i] == 38 && version >= 130000)
			CALL(cuptiActivityEnableCudaEventDeviceTimestamps, 1);
		CALL(cuptiActivityEnable, kinds[i]);
		if (kinds[i] == KIND_RUNTIME && version >= 23)
			CALL(cuptiActivityEnableRuntimeApi, 17, 0);
	}
	/* Warm-up. */
	work(bytes);
	CALL(cuptiActivityFlushAll, 0);
	drop();
	work(bytes);
	expect(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	for (int i = 0; i < KIND_CNT; i++)
		CALL(cuptiActivityDisable, kinds[i]);
	if (!is_fetched)
		return;
	if (any_is_out()) {
		CALL(cuptiActivityFlushAll, 1);
		set_per_thread(0);
	}
	read_all(from, ticks());
}

int main(int argc, char **argv)
{
#ifndef LINKED
	void *library = dlopen(getenv("RIVAL_CUPTI"), RTLD_NOW | RTLD_LOCAL);

#define FIND(name, parameters) *(void **)&name = dlsym(library, #name);
	if (!library || argc < 3)
		return 2;
	FUNCTIONS(FIND)
#endif
	if (argc < 3)
		return 2;
	is_old = strcmp(argv[1], "old") == 0;
	CALL(cuptiGetVersion, &version);
	for (size_t i = 0; argv[2][i]; i++) {
		size_t bytes = 4096 * (i + 1);

		switch (argv[2][i]) {
		case 'w':
			work(bytes);
			break;
		case 'p':
			profile(bytes, true);
			break;
		case 'u':
			profile(bytes, false);
			break;
		case 't':
			end_for_good();
			break;
		case 's':
			usleep(2200000);
			break;
		}
	}
	printf("%d errors\n", errors);
	return errors != 0;
}
