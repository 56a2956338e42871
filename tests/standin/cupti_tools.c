/*
 * cupti_tools.c - the stand-in for libcupti: what only other tools ask of it. Ids that a thread gives the calls it makes;
 * counters, which GPUs from compute capability 7.5 on lack.
 */
#include "tests/standin/cupti.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	INVALID_PARAMETER = 1,
	QUEUE_EMPTY = 18,
	LEGACY_PROFILER_NOT_SUPPORTED = 38,
	EXTERNAL_KIND_CNT = 8,
	DEPTH_MAX = 256,
};

static __thread struct {
	uint64_t ids[DEPTH_MAX];
	unsigned depth;
} external[EXTERNAL_KIND_CNT];

EXPORT int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
	if (kind < 1 || kind >= EXTERNAL_KIND_CNT)
		return INVALID_PARAMETER;
	if (external[kind].depth == DEPTH_MAX)
		standin_wrong("more external correlation ids than it has room for");
	external[kind].ids[external[kind].depth++] = id;
	return 0;
}

EXPORT int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
	if (kind < 1 || kind >= EXTERNAL_KIND_CNT)
		return INVALID_PARAMETER;
	if (!external[kind].depth)
		return QUEUE_EMPTY;
	external[kind].depth--;
	if (last)
		*last = external[kind].ids[external[kind].depth];
	return 0;
}

void standin_external(uint32_t correlation)
{
	for (int kind = 1; kind < EXTERNAL_KIND_CNT; kind++) {
		if (!external[kind].depth)
			continue;
		const struct standin_value values[] = {
			{F_EXTERNAL_kind, (uint64_t)kind},
			{F_EXTERNAL_id, external[kind].ids[external[kind].depth - 1]},
			{F_EXTERNAL_correlation, correlation},
		};
		standin_cupti_emit(&(struct standin_emit){
			.kind = CUPTI_KIND_EXTERNAL_CORRELATION, .values = values, .cnt = 3});
	}
}

/* ---- clocks that count something else than nanoseconds: Kineto's has the processor's ticks ---- */

static struct {
	uint64_t now, theirs;
} first;

void standin_ticks_begin(void)
{
	first.theirs = standin_timestamp();
	first.now = standin_now();
}

bool standin_ticks(uint64_t *start, uint64_t *end)
{
	double theirs, now, rate;

	if (!standin_timestamp || standin_now() - first.now < 1000000)
		return false;
	theirs = (double)standin_timestamp();
	now = (double)standin_now();
	rate = (theirs - (double)first.theirs) / (now - (double)first.now);
	if (rate > 0.99 && rate < 1.01)
		return false;
	*start = first.theirs + (uint64_t)(((double)*start - (double)first.now) * rate);
	*end = first.theirs + (uint64_t)(((double)*end - (double)first.now) * rate);
	return true;
}

#define LEGACY(name)                                  \
	EXPORT int name(void)                         \
	{                                             \
		return LEGACY_PROFILER_NOT_SUPPORTED; \
	}
LEGACY(cuptiEventGetAttribute)
LEGACY(cuptiEventGetIdFromName)
LEGACY(cuptiEventGroupGetAttribute)
LEGACY(cuptiEventGroupReadEvent)
LEGACY(cuptiEventGroupSetAttribute)
LEGACY(cuptiEventGroupSetDisable)
LEGACY(cuptiEventGroupSetEnable)
LEGACY(cuptiEventGroupSetsCreate)
LEGACY(cuptiEventGroupSetsDestroy)
LEGACY(cuptiMetricEnumEvents)
LEGACY(cuptiMetricGetAttribute)
LEGACY(cuptiMetricGetIdFromName)
LEGACY(cuptiMetricGetNumEvents)
LEGACY(cuptiMetricGetValue)
LEGACY(cuptiSetEventCollectionMode)

/* Of the first device, as all records are. */
EXPORT int cuptiGetDeviceId(void *context, uint32_t *device)
{
	if (!context || !device)
		return INVALID_PARAMETER;
	*device = 0;
	return 0;
}
