/*
 * facts.c - questions to a libcupti and a driver that their documentation leaves open, or whose answer a release changed;
 * one a process, nothing of Sightline's in between. It prints lines of names and numbers.
 *
 *   facts version LIBCUPTI       the version of its API, and which bugs the shim knows of it (known_bad.def)
 *   facts times LIBCUPTI N       times of N kernels by CUPTI's default clock
 *   facts clock LIBCUPTI N       the same by a clock of the program's
 *   facts late LIBCUPTI N        as times, but a context is there before CUPTI is
 *   facts events LIBCUPTI N      SYNCHRONIZATION is enabled, CUDA_EVENT is not: records of it for N events
 *   facts zeroed LIBCUPTI        whether CUPTI still takes buffers for zeroed ones after cuptiUnsubscribe
 *   facts exit LIBCUPTI          flushes from a destructor
 *   facts addresses              functions that cuGetProcAddress gives at an address that is not exported
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/cupti/api.h"
#include "tests/standin/cuda_types.h"

#define FUNCTIONS(F)                                                                         \
	F(int, cuInit, (unsigned))                                                           \
	F(int, cuDriverGetVersion, (int *))                                                  \
	F(int, cuDevicePrimaryCtxRetain, (CUcontext *, int))                                 \
	F(int, cuCtxSetCurrent, (CUcontext))                                                 \
	F(int, cuCtxSynchronize, (void))                                                     \
	F(int, cuModuleLoadData, (CUmodule *, const void *))                                 \
	F(int, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                  \
	F(int, cuEventCreate, (CUevent *, unsigned))                                         \
	F(int, cuEventRecord, (CUevent, CUstream))                                           \
	F(int, cuEventSynchronize, (CUevent))                                                \
	F(int, cuLaunchKernel,                                                               \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	   CUstream, void **, void **))
#define BY_DLSYM "libcuda.so.1"
#include "tests/gpu/tally.h"

#define BUFFER_BYTES (1u << 20)
#define SECOND       1000000000u

static struct cupti cupti;
static void *library, *subscriber;
static clockid_t kernel_clock;
static uint64_t earliest;
static unsigned long kernel_cnt, zero_cnt, backwards_cnt, foreign_cnt, event_cnt;

static uint64_t at_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t own_clock(void)
{
	return at_clock(CLOCK_MONOTONIC);
}

static uint64_t field(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *max)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	if (*buffer)
		memset(*buffer, 0, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*max = 0;
}

#define COUNT(what) __atomic_add_fetch(&(what), 1, __ATOMIC_RELAXED)

static void count(const uint8_t *r)
{
	/* Start and end of a kernel, in every version (layout.def). */
	uint64_t start = field(r + 16, 8), end = field(r + 24, 8);

	if (field(r, 4) == CUPTI_KIND_CUDA_EVENT)
		COUNT(event_cnt);
	if (field(r, 4) != CUPTI_KIND_CONCURRENT_KERNEL)
		return;
	COUNT(kernel_cnt);
	if (!start || !end)
		COUNT(zero_cnt);
	else if (end < start)
		COUNT(backwards_cnt);
	else if (start < earliest || end > at_clock(kernel_clock) + SECOND)
		COUNT(foreign_cnt);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	uint8_t *r = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (cupti.ActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK)
		count(r);
	free(buffer);
}

static void callback(void *data, int domain, uint32_t id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	printf("cannot %s\n", what);
	fflush(stdout);
	_exit(1);
}

static void load(const char *path)
{
	library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	need(library != NULL, "load libcupti");
#define CUPTI(needed, name, parameters) \
	cupti.name = (int(*) parameters)dlsym(library, "cupti" #name);
#include "preload/cupti/functions.def"
#undef CUPTI
}

static void take(enum cupti_kind kind, bool with_clock)
{
	kernel_clock = with_clock ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	earliest = at_clock(kernel_clock) - SECOND;
	need(cupti.Subscribe(&subscriber, callback, NULL) == 0, "subscribe");
	if (with_clock)
		need(cupti.ActivityRegisterTimestampCallback &&
			     cupti.ActivityRegisterTimestampCallback(own_clock) == 0,
		     "register a clock");
	need(cupti.ActivityRegisterCallbacks(requested, completed) == 0, "register buffers");
	need(cupti.ActivityEnable((int)kind) == 0, "enable the kind");
}

static CUfunction begin(void)
{
	static const char image[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
				    ".visible .entry nothing_us1_()\n{ ret; }\n";
	CUcontext context;
	CUmodule module;
	CUfunction f;

	DO(cuInit, 0);
	DO(cuDevicePrimaryCtxRetain, &context, 0);
	DO(cuCtxSetCurrent, context);
	DO(cuModuleLoadData, &module, image);
	DO(cuModuleGetFunction, &f, module, "nothing_us1_");
	return f;
}

static void launch(CUfunction f, int cnt)
{
	for (int i = 1; i <= cnt; i++) {
		DO(cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		if (i % 1000 == 0 || i == cnt)
			DO(cuCtxSynchronize);
	}
}

static void times(const char *what, int cnt)
{
	bool is_late = !strcmp(what, "late"), with_clock = !strcmp(what, "clock");
	CUfunction f = NULL;

	if (is_late) {
		f = begin();
		launch(f, 1);
	}
	take(CUPTI_KIND_CONCURRENT_KERNEL, with_clock);
	if (!is_late)
		f = begin();
	launch(f, cnt);
	need(cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED) == 0, "flush");
	printf("kernels %lu\nmissing %ld\nzero %lu\nbackwards %lu\nforeign %lu\n", kernel_cnt,
	       cnt - (long)kernel_cnt, zero_cnt, backwards_cnt, foreign_cnt);
}

static void events(int cnt)
{
	CUevent event;

	take(CUPTI_KIND_SYNCHRONIZATION, false);
	begin();
	DO(cuEventCreate, &event, 0);
	for (int i = 0; i < cnt; i++)
		DO(cuEventRecord, event, NULL);
	DO(cuEventSynchronize, event);
	DO(cuCtxSynchronize);
	need(cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED) == 0, "flush");
	printf("events %d\nunasked %lu\n", cnt, event_cnt);
}

static void zeroed(void)
{
	int (*ask)(int, size_t *, void *);
	size_t bytes = 1;
	uint8_t yes = 1, after = 255;

	*(void **)&ask = dlsym(library, "cuptiActivityGetAttribute");
	take(CUPTI_KIND_CONCURRENT_KERNEL, false);
	need(ask && cupti.ActivitySetAttribute &&
		     cupti.ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED, &bytes, &yes) == 0,
	     "set the attribute, or ask for it");
	launch(begin(), 10);
	need(cupti.Unsubscribe(subscriber) == 0, "unsubscribe");
	need(ask(CUPTI_ATTRIBUTE_ZEROED, &bytes, &after) == 0, "ask for the attribute");
	printf("zeroed %u\n", after);
}

/* Exit handlers of CUPTI and the driver have run by then. */
static bool flushes_last;

__attribute__((destructor)) static void flush_last(void)
{
	if (!flushes_last)
		return;
	printf("flushed %d\n", cupti.ActivityFlushAll(0));
	fflush(stdout);
}

static void version(void)
{
	uint32_t v = 0;

	need(cupti.GetVersion(&v) == 0, "ask for the version");
	printf("version %u\n", v);
#define BAD(name, from, to, avoided, source) \
	if (v >= (from) && v <= (to))        \
		printf("known %s\n", #name);
#include "preload/cupti/known_bad.def"
}

/* ---- addresses ---- */

static const char *const names[] = {
#define GPU(name, ...) #name,
#include "preload/gpu/tables/cuda.def"
};
#define NAME_CNT (sizeof(names) / sizeof(*names))
static void *exported[NAME_CNT];

/* cuMemcpyHtoD_v2_ptds -> cuMemcpyHtoD */
static bool base_of(char *to, size_t size, const char *name)
{
	size_t len;

	snprintf(to, size, "%s", name);
	len = strlen(to);
	if (len > 5 && (!strcmp(to + len - 5, "_ptds") || !strcmp(to + len - 5, "_ptsz")))
		to[len -= 5] = 0;
	if (len > 3 && to[len - 3] == '_' && to[len - 2] == 'v')
		to[len - 3] = 0;
	return len < size;
}

static bool is_exported(const void *address)
{
	for (size_t i = 0; i < NAME_CNT; i++)
		if (exported[i] == address)
			return true;
	return false;
}

/* A name may stand for other functions from some version on: all of them. */
static unsigned ask_for(int (*get)(const char *, void **, int, uint64_t, int *), const char *base,
			unsigned *given)
{
	static const int versions[] = {
		2000,  2020,  3000,  3020,  4000,  4010,  5000,  5050,  6000,  6050,  7000,
		8000,  9000,  9020,  10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040,
		11060, 11070, 11080, 12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080,
		12090, 13000, 13010, 13020, 13030, 13040, 13050, 14000};
	unsigned others = 0;

	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++)
		for (uint64_t flags = 1; flags <= 2; flags++) {
			void *address = NULL;
			int status = 0;

			if (get(base, &address, versions[v], flags, &status) || !address)
				continue;
			++*given;
			others += !is_exported(address);
		}
	return others;
}

static void addresses(void)
{
	int (*get)(const char *, void **, int, uint64_t, int *);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	char base[128], last[128] = "";
	unsigned given = 0, others, there = 0;

	need(driver != NULL, "load the driver");
	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	need(get != NULL, "find cuGetProcAddress_v2");
	DO(cuInit, 0);
	for (size_t i = 0; i < NAME_CNT; i++) {
		exported[i] = dlsym(driver, names[i]);
		there += exported[i] != NULL;
	}
	/* The table is in order: the variants of a name lie side by side. */
	for (size_t i = 0; i < NAME_CNT; i++) {
		if (!base_of(base, sizeof(base), names[i]) || !strcmp(base, last))
			continue;
		strcpy(last, base);
		others = ask_for(get, base, &given);
		if (others)
			printf("other %s %u\n", base, others);
	}
	printf("names %zu\nexported %u\ngiven %u\n", NAME_CNT, there, given);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int cnt = argc > 3 ? atoi(argv[3]) : 10;

	if (!strcmp(what, "addresses")) {
		addresses();
		return 0;
	}
	load(argc > 2 ? argv[2] : NULL);
	if (!strcmp(what, "version")) {
		version();
	} else if (!strcmp(what, "events")) {
		events(cnt);
	} else if (!strcmp(what, "zeroed")) {
		zeroed();
	} else if (!strcmp(what, "exit")) {
		take(CUPTI_KIND_CONCURRENT_KERNEL, false);
		launch(begin(), 10);
		printf("flushed %d\n", cupti.ActivityFlushAll(0));
		fflush(stdout);
		flushes_last = true;
	} else {
		times(what, cnt);
	}
	return 0;
}
