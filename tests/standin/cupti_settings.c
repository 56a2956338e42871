/*
 * cupti_settings.c - the stand-in for libcupti: settings, which are the process's, no matter by which client, and the interface
 * for several clients (CUDA 13.2), of which it has no more than is needed to find both interfaces in use.
 */
#include "tests/standin/cupti.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FAIL(...)                                         \
	do {                                              \
		int result_ = standin_fails(__VA_ARGS__); \
		if (result_)                              \
			return result_;                   \
	} while (0)

enum {
	INVALID_PARAMETER = 1,
	SIZE_NOT_SUFFICIENT = 10,
	NOT_IMPLEMENTED = 11,
	PER_THREAD_BUFFERS = 9,
	SINCE_PER_THREAD = 21, /* CUDA 12.3 */
	SINCE_SECOND = 130200,
};

static int thread_ids;
static uint8_t zeroed, per_thread = 1, event_times;
static bool is_second;

bool standin_zeroed(void)
{
	return __atomic_load_n(&zeroed, __ATOMIC_RELAXED);
}

bool standin_event_times(void)
{
	return __atomic_load_n(&event_times, __ATOMIC_RELAXED) || standin_version() < 130000;
}

bool standin_is_second(void)
{
	return is_second;
}

/* By default pthread_self(), cut to 32 bits. */
uint32_t standin_thread(void)
{
	return thread_ids == CUPTI_THREAD_ID_SYSTEM ? (uint32_t)syscall(SYS_gettid)
						    : (uint32_t)(uintptr_t)pthread_self();
}

void standin_settings_reset(void)
{
	thread_ids = 0;
	zeroed = event_times = 0;
	per_thread = 1;
}

static uint8_t *attribute_at(int attribute)
{
	if (attribute == CUPTI_ATTRIBUTE_ZEROED)
		return &zeroed;
	if (attribute == PER_THREAD_BUFFERS && standin_version() >= SINCE_PER_THREAD)
		return &per_thread;
	return NULL;
}

EXPORT int cuptiActivityGetAttribute(int attribute, size_t *bytes, void *value)
{
	const uint8_t *at = attribute_at(attribute);

	FAIL("ActivityGetAttribute", attribute);
	if (!at || !bytes || !value)
		return INVALID_PARAMETER;
	if (*bytes < 1)
		return SIZE_NOT_SUFFICIENT;
	*bytes = 1;
	*(uint8_t *)value = *at;
	return 0;
}

EXPORT int cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value)
{
	uint8_t *at = attribute_at(attribute);

	FAIL("ActivitySetAttribute", attribute);
	if (!at || !bytes || *bytes < 1 || !value)
		return INVALID_PARAMETER;
	/* "Undefined behavior", by its header. */
	if (attribute == PER_THREAD_BUFFERS && standin_any_enabled() && *at != *(uint8_t *)value)
		standin_wrong("buffers per thread were changed while kinds are enabled");
	*at = *(uint8_t *)value;
	return 0;
}

EXPORT int cuptiSetThreadIdType(int type)
{
	FAIL("SetThreadIdType", type);
	thread_ids = type;
	return 0;
}

EXPORT int cuptiGetThreadIdType(int *type)
{
	FAIL("GetThreadIdType", 0);
	*type = thread_ids;
	return 0;
}

EXPORT int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t on)
{
	FAIL("ActivityEnableCudaEventDeviceTimestamps", on);
	event_times = on;
	return 0;
}

/* ---- several clients ---- */

static int second(void)
{
	if (standin_version() < SINCE_SECOND)
		return NOT_IMPLEMENTED;
	if (standin_any_enabled())
		standin_wrong("both interfaces are in use");
	is_second = true;
	return 0;
}

EXPORT int cuptiActivityEnable_v2(void *subscriber, int kind, void *config)
{
	(void)config;
	FAIL("ActivityEnable_v2", kind);
	return subscriber ? second() : INVALID_PARAMETER;
}

EXPORT int cuptiActivityRegisterCallbacks_v2(void *subscriber, void *requested, void *completed)
{
	FAIL("ActivityRegisterCallbacks_v2", 0);
	return subscriber && requested && completed ? second() : INVALID_PARAMETER;
}
