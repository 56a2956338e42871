/* cupti.c - the stand-in for libcupti: the functions that CUPTI exports. */
#include "tests/standin/cupti_pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FAIL(...)                                         \
	do {                                              \
		int result_ = standin_fails(__VA_ARGS__); \
		if (result_)                              \
			return result_;                   \
	} while (0)

#ifndef STANDIN_CUPTI_API
#define STANDIN_CUPTI_API 130001
#endif

enum {
	INVALID_PARAMETER = 1,
	INVALID_OPERATION = 7,
	MAX_LIMIT_REACHED = 12,
	INVALID_KIND = 21,
};

static int owner;
static char taken_by[64];
static struct {
	cupti_callback *call;
	void *data;
	uint32_t resources; /* bit per callback id */
	uint32_t domains;   /* bit per domain of calls */
} subscriber;

uint64_t standin_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t standin_env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

void standin_wrong(const char *what)
{
	fprintf(stderr, "stand-in CUPTI: %s\n", what);
	abort();
}

uint32_t standin_version(void)
{
	static uint32_t version;

	if (!version)
		version = (uint32_t)standin_env("STANDIN_CUPTI_VERSION", STANDIN_CUPTI_API);
	return version;
}

bool standin_owns(void)
{
	return !owner || owner == getpid();
}

/* The real one hangs there. */
void standin_check_child(const char *function)
{
	char what[128];

	if (!owner)
		owner = getpid();
	if (owner == getpid())
		return;
	snprintf(what, sizeof(what), "cupti%s called in a forked child", function);
	standin_wrong(what);
}

/* STANDIN_CUPTI_FAIL: "ActivityEnable:52=21,Subscribe=35" */
int standin_fails(const char *function, int argument)
{
	const char *list = getenv("STANDIN_CUPTI_FAIL");
	size_t len = strlen(function);

	standin_check_child(function);
	standin_check_end(function);
	for (; list && *list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
		if (strncmp(list, function, len))
			continue;
		if (list[len] == '=')
			return atoi(list + len + 1);
		if (list[len] == ':' && atoi(list + len + 1) == argument && strchr(list, '='))
			return atoi(strchr(list, '=') + 1);
	}
	return 0;
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
	*version = standin_version();
	return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
	static const struct {
		int result;
		const char *text;
	} known[] = {
		{0, "CUPTI_SUCCESS"},
		{15, "CUPTI_ERROR_NOT_INITIALIZED"},
		{21, "CUPTI_ERROR_INVALID_KIND"},
		{35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
		{39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
		{43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED"},
		{999, "CUPTI_ERROR_UNKNOWN"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].result == result) {
			*text = known[i].text;
			return 0;
		}
	return INVALID_PARAMETER;
}

/* ---- subscribers ---- */

static int subscribe(void **handle, cupti_callback *call, void *data, const char *name)
{
	if (!handle)
		return INVALID_PARAMETER;
	if (standin_is_too_new())
		return CUPTI_NOT_INITIALIZED;
	if (!standin_attach())
		return CUPTI_UNKNOWN;
	if (!*taken_by && getenv("STANDIN_CUPTI_TAKEN"))
		snprintf(taken_by, sizeof(taken_by), "%s", getenv("STANDIN_CUPTI_TAKEN"));
	if (*taken_by)
		return CUPTI_TAKEN;
	snprintf(taken_by, sizeof(taken_by), "CUPTI for %.50s", name);
	subscriber.call = call;
	subscriber.data = data;
	*handle = &subscriber;
	if (standin_is_shim((void *)call))
		usleep((useconds_t)standin_env("STANDIN_CUPTI_SLOW_SUBSCRIBE", 0) * 1000);
	return 0;
}

EXPORT int cuptiSubscribe(void **handle, cupti_callback *call, void *data)
{
	standin_check_begin();
	FAIL("Subscribe", 0);
	return subscribe(handle, call, data, "");
}

EXPORT int cuptiSubscribe_v2(void **handle, cupti_callback *call, void *data,
			     struct cupti_subscriber *names)
{
	int result;

	FAIL("Subscribe_v2", 0);
	if (names && names->bytes < sizeof(*names))
		return INVALID_PARAMETER;
	result = subscribe(handle, call, data, names && names->name ? names->name : "");
	if (result == CUPTI_TAKEN && names && names->taken_by)
		snprintf(names->taken_by, names->taken_bytes, "%s", taken_by);
	return result;
}

EXPORT int cuptiUnsubscribe(void *handle)
{
	FAIL("Unsubscribe", 0);
	if (handle != &subscriber || !subscriber.call)
		return INVALID_PARAMETER;
	memset(&subscriber, 0, sizeof(subscriber));
	*taken_by = 0;
	return 0;
}

EXPORT int cuptiEnableCallback(uint32_t on, void *handle, int domain, uint32_t id)
{
	FAIL("EnableCallback", (int)id);
	if (handle != &subscriber || !subscriber.call || domain != CUPTI_DOMAIN_RESOURCE || id > 31)
		return INVALID_PARAMETER;
	subscriber.resources = (subscriber.resources & ~(1u << id)) | (on ? 1u : 0) << id;
	return 0;
}

/* Of other domains than calls and resources nothing is called. */
EXPORT int cuptiEnableDomain(uint32_t on, void *handle, int domain)
{
	FAIL("EnableDomain", domain);
	if (handle != &subscriber || !subscriber.call || domain < CUPTI_DOMAIN_DRIVER || domain > 6)
		return INVALID_PARAMETER;
	subscriber.domains = (subscriber.domains & ~(1u << domain)) | (on ? 1u : 0) << domain;
	if (domain == CUPTI_DOMAIN_RESOURCE)
		subscriber.resources = on ? ~0u : 0;
	return 0;
}

static __thread int in_exit;

void standin_call_event(int is_exit, int is_driver, const char *name)
{
	const struct {
		int site;
		const char *name;
		const void *unused[8];
	} data = {is_exit, name, {NULL}};
	int domain = is_driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;

	if (!subscriber.call || !(subscriber.domains >> domain & 1))
		return;
	in_exit = is_exit;
	subscriber.call(subscriber.data, domain, 0, &data);
	in_exit = 0;
}

EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	FAIL("GetCallbackName", (int)id);
	*name = standin_call_name(domain, id);
	return *name ? 0 : INVALID_PARAMETER;
}

void standin_resource(uint32_t id, const struct cupti_resource_data *data)
{
	if (subscriber.call && subscriber.resources >> id & 1)
		subscriber.call(subscriber.data, CUPTI_DOMAIN_RESOURCE, id, data);
}

/* ---- activities ---- */

/* Kinds came with versions, too. */
static bool known_kind(int kind)
{
#define KIND(name, number, version, shape, flag)                \
	if (kind == (number) && standin_version() >= (version)) \
		return true;
#include "tests/standin/cupti_layout.def"
	return false;
}

/* Calls that are left out of their kinds; a kind that is enabled brings all of them back. */
static uint8_t left_out[2][1024];

static int enable_api(int is_driver, uint32_t id, uint8_t on)
{
	if (standin_version() < 23)
		return 11;
	if (id >= sizeof(left_out[0]))
		return INVALID_PARAMETER;
	left_out[is_driver][id] = !on;
	return 0;
}

bool standin_left_out(int is_driver, uint32_t id)
{
	return id < sizeof(left_out[0]) && left_out[is_driver][id];
}

static void couple(int kind, bool on)
{
	if (!standin_lies(LIE_COUPLED_KINDS))
		return;
	if (kind == CUPTI_KIND_SYNCHRONIZATION)
		standin_enable(CUPTI_KIND_CUDA_EVENT, on);
	else if (kind == CUPTI_KIND_CUDA_EVENT)
		standin_enable(CUPTI_KIND_SYNCHRONIZATION, on);
}

/* Bit per device with counters for unified memory. */
static uint64_t um_devices;

static void check_um(void)
{
	uint64_t cnt = standin_env("STANDIN_CUPTI_UM", 0);

	if (cnt && um_devices != (1ull << cnt) - 1)
		standin_wrong("counters of unified memory are not those of all devices");
}

EXPORT int cuptiActivityEnable(int kind)
{
	FAIL("ActivityEnable", kind);
	if (kind == CUPTI_KIND_UNIFIED_MEMORY_COUNTER)
		check_um();
	if (!known_kind(kind))
		return INVALID_KIND;
	if (!standin_attach())
		return CUPTI_NOT_INITIALIZED;
	if (standin_is_second())
		standin_wrong("both interfaces are in use");
	if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER)
		memset(left_out[kind == CUPTI_KIND_DRIVER], 0, sizeof(left_out[0]));
	if (standin_enable(kind, true) && kind == CUPTI_KIND_DEVICE)
		standin_dump_device();
	couple(kind, true);
	return 0;
}

EXPORT int cuptiActivityEnableAndDump(int kind)
{
	bool is_news;
	int result;

	FAIL("ActivityEnableAndDump", kind);
	if (standin_version() < 17)
		return 11;
	is_news = !standin_enabled(kind);
	result = cuptiActivityEnable(kind);
	if (!result && is_news && kind == CUPTI_KIND_CONTEXT)
		standin_dump_contexts_made();
	return result;
}

EXPORT int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on)
{
	FAIL("ActivityEnableRuntimeApi", (int)id);
	return enable_api(0, id, on);
}

EXPORT int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on)
{
	FAIL("ActivityEnableDriverApi", (int)id);
	return enable_api(1, id, on);
}

EXPORT int cuptiActivityDisable(int kind)
{
	FAIL("ActivityDisable", kind);
	if (!known_kind(kind))
		return INVALID_KIND;
	standin_disabling(kind);
	standin_enable(kind, false);
	couple(kind, false);
	return 0;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_buffer_requested *requested,
					  cupti_buffer_completed *completed)
{
	FAIL("ActivityRegisterCallbacks", 0);
	if (!requested || !completed)
		return INVALID_PARAMETER;
	if (standin_is_second())
		standin_wrong("both interfaces are in use");
	standin_requested = requested;
	standin_completed = completed;
	return 0;
}

static size_t record_bytes(uint32_t kind)
{
	size_t size = 0;
	const char *of = NULL;

#define KIND(name, number, version, shape, flag) \
	if (kind == (number))                    \
		of = #shape;
#include "tests/standin/cupti_layout.def"
#define STRUCT(shape, version, bytes, name)                              \
	if (of && !strcmp(of, #shape) && standin_version() >= (version)) \
		size = bytes;
#include "tests/standin/cupti_layout.def"
	return size ? size + standin_env("STANDIN_CUPTI_SHIFT", 0) : 0;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	uint8_t *next = *record ? *record : buffer;
	uint32_t kind;

	standin_check_end("ActivityGetNextRecord");
	if (!buffer)
		return INVALID_PARAMETER;
	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next += record_bytes(kind);
	}
	if (next >= buffer + valid)
		return MAX_LIMIT_REACHED;
	memcpy(&kind, next, sizeof(kind));
	if (!record_bytes(kind) || next + record_bytes(kind) > buffer + valid)
		return INVALID_KIND;
	*record = next;
	return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	FAIL("ActivityGetNumDroppedRecords", 0);
	*dropped = standin_dropped();
	return 0;
}

EXPORT int cuptiActivityFlushAll(uint32_t forced)
{
	int result;

	FAIL("ActivityFlushAll", 0);
	/* Where the GPU was never used the real one has been seen to hang. */
	if (!standin_used)
		standin_wrong("flushed before there was anything");
	if (!standin_requested)
		return INVALID_OPERATION;
	__atomic_add_fetch(&standin_flushes, 1, __ATOMIC_SEQ_CST);
	usleep((useconds_t)standin_env("STANDIN_CUPTI_FLUSH", 0) * 1000);
	result = standin_flush(forced & CUPTI_FLUSH_FORCED);
	__atomic_sub_fetch(&standin_flushes, 1, __ATOMIC_SEQ_CST);
	return result;
}

EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
	FAIL("ActivityFlushPeriod", 0);
	__atomic_store_n(&standin_period, ms, __ATOMIC_RELAXED);
	return 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(cupti_timestamp *now)
{
	FAIL("ActivityRegisterTimestampCallback", 0);
	if (!now)
		return INVALID_PARAMETER;
	if (standin_version() < 17)
		return 11;
	standin_timestamp = now;
	standin_ticks_begin();
	return 0;
}

EXPORT int cuptiGetTimestamp(uint64_t *now)
{
	FAIL("GetTimestamp", 0);
	*now = standin_timestamp         ? standin_timestamp()
	       : standin_pm_sets_clock() ? standin_pm_time((int64_t)standin_now())
					 : standin_default_clock();
	return 0;
}

EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_um_counter *counters,
						      uint32_t cnt)
{
	FAIL("ActivityConfigureUnifiedMemoryCounter", (int)cnt);
	if (!counters || !cnt)
		return INVALID_PARAMETER;
	for (uint32_t i = 0; i < cnt; i++)
		if (counters[i].device < 64)
			um_devices |= (uint64_t)counters[i].on << counters[i].device;
	return 0;
}

EXPORT int cuptiActivityEnableAllSyncRecords(uint8_t on)
{
	FAIL("ActivityEnableAllSyncRecords", on);
	if (standin_version() < 26)
		return 11;
	standin_no_polls = !on;
	return 0;
}

/* Handles of the stand-ins' graphs are reported as their ids: see cupti_work.c. */
EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	FAIL("GetGraphNodeId", 0);
	*id = (uintptr_t)node;
	return 0;
}

EXPORT int cuptiGetGraphId(void *graph, uint32_t *id)
{
	FAIL("GetGraphId", 0);
	*id = (uint32_t)(uintptr_t)graph;
	return 0;
}

EXPORT int cuptiGetGraphExecId(void *exec, uint32_t *id)
{
	FAIL("GetGraphExecId", 0);
	*id = (uint32_t)(uintptr_t)exec;
	return 0;
}

EXPORT int cuptiFinalize(void)
{
	FAIL("Finalize", 0);
	/* Elsewhere the real one may crash. */
	if (!in_exit)
		standin_wrong("finalized, and not at the end of a call");
	standin_reset();
	standin_settings_reset();
	memset(&subscriber, 0, sizeof(subscriber));
	*taken_by = 0;
	return 0;
}
