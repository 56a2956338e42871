/*
 * probe.c LIBCUPTI - what a libcupti does, printed line by line, without anything of Sightline's in between: which functions
 * and kinds it has, when it asks for buffers and gives them back, on which threads, and what stands in them. For what the
 * documentation leaves open, and for readers of the results of a machine that is not there any more.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cupti/api.h"
#include "tests/standin/cuda_types.h"

#define BYTES 65536u

static struct cupti cupti;
static uint64_t zero;
static unsigned clock_calls;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t counted_now(void)
{
	__atomic_add_fetch(&clock_calls, 1, __ATOMIC_RELAXED);
	return now();
}

#define SAY(...)                                                                              \
	do {                                                                                  \
		printf("%10.3f ms %ld: ", (double)(now() - zero) / 1e6, syscall(SYS_gettid)); \
		printf(__VA_ARGS__);                                                          \
		putchar('\n');                                                                \
		fflush(stdout);                                                               \
	} while (0)
#define DID(name, ...)                                                \
	do {                                                          \
		int did_ = cupti.name ? cupti.name(__VA_ARGS__) : -1; \
		SAY("cupti" #name "(%s): %d", #__VA_ARGS__, did_);    \
	} while (0)

static double ms(uint64_t t)
{
	return t ? (double)(int64_t)(t - zero) / 1e6 : 0;
}

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *max)
{
	*buffer = aligned_alloc(8, BYTES);
	memset(*buffer, 0, BYTES);
	*bytes = BYTES;
	*max = 0;
	SAY("buffer %p requested", (void *)*buffer);
}

/* Start, end and correlation are where layout.def has them for calls and kernels; of others, the kind alone. */
static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	uint8_t *r = NULL;
	const char *name;
	int cnt = 0;

	(void)context;
	(void)stream;
	(void)bytes;
	SAY("buffer %p completed, %zu bytes", (void *)buffer, valid);
	while (cupti.ActivityGetNextRecord(buffer, valid, &r) == CUPTI_OK && cnt++ < 60) {
		uint32_t kind = (uint32_t)number(r, 4);

		if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) {
			name = "?";
			cupti.GetCallbackName(kind == CUPTI_KIND_DRIVER ? CUPTI_DOMAIN_DRIVER
									: CUPTI_DOMAIN_RUNTIME,
					      (uint32_t)number(r + 4, 4), &name);
			printf("  call %s, correlation %u, thread %u, %.3f to %.3f ms\n", name,
			       (unsigned)number(r + 32, 4), (unsigned)number(r + 28, 4),
			       ms(number(r + 8, 8)), ms(number(r + 16, 8)));
		} else if (kind == CUPTI_KIND_CONCURRENT_KERNEL) {
			printf("  kernel %s, correlation %u, %.3f to %.3f ms\n",
			       (const char *)(uintptr_t)number(r + 104, 8),
			       (unsigned)number(r + 92, 4), ms(number(r + 16, 8)),
			       ms(number(r + 24, 8)));
		} else {
			printf("  kind %u\n", kind);
		}
	}
	fflush(stdout);
	free(buffer);
}

static void callback(void *data, int domain, uint32_t id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static void prepare(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *subscriber = NULL;
	uint32_t version = 0;
	size_t bytes = 1;
	uint8_t yes = 1;

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
#define CUPTI(needed, name, parameters)                                \
	cupti.name = (int(*) parameters)dlsym(library, "cupti" #name); \
	if (!cupti.name)                                               \
		printf("no cupti%s%s\n", #name, (needed) ? ", which is needed" : "");
#include "preload/cupti/functions.def"
#undef CUPTI
	DID(GetVersion, &version);
	printf("version %u of CUPTI's API\n", version);
	DID(Subscribe, &subscriber, callback, NULL);
	DID(SetThreadIdType, CUPTI_THREAD_ID_SYSTEM);
	DID(ActivityRegisterTimestampCallback, counted_now);
	DID(ActivitySetAttribute, CUPTI_ATTRIBUTE_ZEROED, &bytes, &yes);
	DID(ActivityRegisterCallbacks, requested, completed);
	printf("before cuInit:\n");
#define KIND(name, number, since, shape, flag) \
	if ((flag) == 0 && version >= (since)) \
		DID(ActivityEnable, CUPTI_KIND_##name);
#include "preload/cupti/layout.def"
	DID(ActivityEnableAndDump, CUPTI_KIND_DEVICE);
}

/* They wait for the given time; the names are for the stand-in. */
#define SPIN(name)                                   \
	".visible .entry " name "(.param .u64 ns)\n" \
	"{ .reg .pred %more; .reg .b64 %t<4>;\n"     \
	"  ld.param.u64 %t0, [ns];\n"                \
	"  mov.u64 %t1, %globaltimer;\n"             \
	"again:\n"                                   \
	"  mov.u64 %t2, %globaltimer;\n"             \
	"  sub.u64 %t3, %t2, %t1;\n"                 \
	"  setp.lt.u64 %more, %t3, %t0;\n"           \
	"  @%more bra again;\n"                      \
	"  ret; }\n"
static const char image[] = ".version 6.3\n.target sm_75\n.address_size 64\n" SPIN("short_us1000_")
	SPIN("long_us200000_");

#define DRIVER(name, parameters, ...)                                            \
	do {                                                                     \
		int(*name) parameters = (int(*) parameters)dlsym(driver, #name); \
		int result_ = name ? name(__VA_ARGS__) : -1;                     \
		SAY(#name ": %d", result_);                                      \
		if (result_)                                                     \
			exit(1);                                                 \
	} while (0)

static void launch(void *driver, CUfunction f, uint64_t ns)
{
	void *arguments[] = {&ns};

	DRIVER(cuLaunchKernel,
	       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		CUstream, void **, void **),
	       f, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
}

/* A runtime's call and the driver's inside of it: do they have one id? */
static void runtime(void)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
	int (*allocate)(void **, size_t), (*set)(void *, int, size_t);
	void *library = NULL, *p = NULL;
	int result;

	for (int i = 0; i < 3 && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	allocate = library ? (int (*)(void **, size_t))dlsym(library, "cudaMalloc") : NULL;
	set = library ? (int (*)(void *, int, size_t))dlsym(library, "cudaMemset") : NULL;
	result = allocate ? allocate(&p, 4096) : -1;
	SAY("cudaMalloc: %d", result);
	result = set && p ? set(p, 0, 4096) : -1;
	SAY("cudaMemset: %d", result);
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	CUcontext context;
	CUmodule module;
	CUfunction f, g;
	size_t dropped = 0;
	int i;

	zero = now();
	if (argc < 2 || !driver) {
		printf("probe LIBCUPTI%s\n", driver ? "" : ": no driver");
		return 1;
	}
	prepare(argv[1]);
	DRIVER(cuInit, (unsigned), 0);
	DRIVER(cuDevicePrimaryCtxRetain, (CUcontext *, int), &context, 0);
	DRIVER(cuCtxSetCurrent, (CUcontext), context);
	DRIVER(cuModuleLoadData, (CUmodule *, const void *), &module, image);
	DRIVER(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &f, module,
	       "short_us1000_");
	DRIVER(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &g, module,
	       "long_us200000_");
	for (i = 0; i < 3; i++)
		launch(driver, f, 1000000);
	DRIVER(cuCtxSynchronize, (void), );
	DID(ActivityFlushAll, 0);
	SAY("nothing runs: is there a buffer now?");
	runtime();
	launch(driver, f, 1000000);
	DRIVER(cuCtxSynchronize, (void), );
	launch(driver, g, 200000000);
	usleep(20000);
	SAY("a kernel runs: what comes before it in its buffer is kept back?");
	DID(ActivityFlushAll, 0);
	DRIVER(cuCtxSynchronize, (void), );
	DID(ActivityFlushAll, 0);
	launch(driver, g, 200000000);
	usleep(20000);
	SAY("a kernel runs: a forced flush");
	DID(ActivityFlushAll, CUPTI_FLUSH_FORCED);
	DRIVER(cuCtxSynchronize, (void), );
	DID(ActivityFlushAll, CUPTI_FLUSH_FORCED);
	DID(ActivityGetNumDroppedRecords, NULL, 0, &dropped);
	printf("%zu records dropped, the clock was asked %u times\n", dropped, clock_calls);
	return 0;
}
