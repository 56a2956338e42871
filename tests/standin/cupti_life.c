/*
 * cupti_life.c - the stand-in for libcupti as the process begins with CUDA, as it forks, and as it ends: its objects are destroyed by handlers of exit(), registered
 * when it was loaded, as the driver's when it was initialized. What is called after that ends the program; of the real ones
 * it crashes, sometimes.
 */
#include "tests/standin/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t is_over; /* atomic */
uint32_t standin_flushes;

/* A driver of a test's own has none of this. */
static bool ask_driver(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*ask)(void) = driver ? (int (*)(void))dlsym(driver, name) : NULL;

	return ask && ask();
}

bool standin_is_too_new(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*get)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
	uint32_t v = standin_version(), major = v >= 100000 ? v / 10000 : v > 18 ? 12 : 11;
	int version = 0;

	return get && get(&version) == 0 && version > 0 && major > (uint32_t)version / 1000;
}

void standin_check_begin(void)
{
	if (standin_env("STANDIN_CUPTI_EARLY", 0) && ask_driver("standin_driver_is_up"))
		standin_wrong("cuptiSubscribe comes after cuInit");
}

void standin_check_end(const char *function)
{
	bool here = __atomic_load_n(&is_over, __ATOMIC_ACQUIRE);
	char what[128];

	/* A buffer may be on its way as the driver ends. */
	if (standin_delivers || (!here && !ask_driver("standin_driver_is_over")))
		return;
	snprintf(what, sizeof(what), "cupti%s called after the end of %s", function,
		 here ? "libcupti" : "libcuda");
	standin_wrong(what);
}

static void end(void)
{
	if (standin_owns())
		standin_stop();
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

/* A child that then uses CUDA waits for a lock that no thread of it holds. */
static void before_fork(void)
{
	if (standin_owns() && __atomic_load_n(&standin_flushes, __ATOMIC_SEQ_CST))
		standin_wrong("the process forks while cuptiActivityFlushAll is in progress");
}

__attribute__((constructor)) static void begin(void)
{
	atexit(end);
	pthread_atfork(before_fork, NULL, NULL);
}
