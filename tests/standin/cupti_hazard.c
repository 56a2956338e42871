/*
 * cupti_hazard.c - the stand-in for libcupti: what depends on when kinds are enabled and disabled, relative to the program's
 * graphs and launches.
 */
#include "tests/standin/cupti.h"

#include <string.h>
#include <time.h>

#define HANG_MS 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t late[4096]; /* graphs that were instantiated while CUPTI did not trace graphs */
static size_t late_cnt;
static uint32_t launching; /* atomic: threads inside of a launch */
static __thread uint32_t own;

static bool is_late(uint32_t exec)
{
	for (size_t i = late_cnt; i > 0; i--)
		if (late[i - 1] == exec)
			return true;
	return false;
}

void standin_instantiated(uint32_t exec)
{
	pthread_mutex_lock(&lock);
	if (!standin_enabled(CUPTI_KIND_GRAPH_TRACE) && !is_late(exec)) {
		if (late_cnt == sizeof(late) / sizeof(*late))
			standin_wrong("more graphs than it has room for");
		late[late_cnt++] = exec;
	}
	pthread_mutex_unlock(&lock);
}

bool standin_graph_is_traced(uint32_t exec)
{
	bool yes;

	if (standin_enabled(CUPTI_KIND_GRAPH_TRACE) && standin_lies(LIE_GRAPH_LEVEL))
		standin_wrong("a graph is launched, traced as a whole: this version crashes");
	pthread_mutex_lock(&lock);
	yes = !standin_lies(LIE_GRAPH_LATE) || !is_late(exec);
	pthread_mutex_unlock(&lock);
	return yes;
}

void standin_launching(bool is_exit, const char *name)
{
	if (!strstr(name, "Launch"))
		return;
	/* One that began before this library was there. */
	if (is_exit && !own)
		return;
	own += is_exit ? -1u : 1;
	__atomic_add_fetch(&launching, is_exit ? -1u : 1, __ATOMIC_RELAXED);
}

void standin_disabling(int kind)
{
	const struct timespec step = {0, 1000000};

	if (kind != CUPTI_KIND_CONCURRENT_KERNEL || !standin_enabled(kind) ||
	    !standin_lies(LIE_DISABLE_HANGS))
		return;
	for (int ms = 0; __atomic_load_n(&launching, __ATOMIC_RELAXED) > own; ms++) {
		if (ms == HANG_MS)
			standin_wrong("kernels are disabled during a launch: this version hangs");
		nanosleep(&step, NULL);
	}
}
