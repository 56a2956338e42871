/* kinds.c - enables and disables CUPTI's activity kinds. A kind that fails does not affect the others. */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"

#include <string.h>

#define GRAPH_TRACE_SINCE 17 /* version of the API */

struct kind {
	const char *name;
	int number;
	uint32_t version, flag;
};
static const struct kind kinds[] = {
#define KIND(name, number, version, shape, flag) {#name, number, version, flag},
#include "preload/cupti/layout.def"
};
#define KIND_CNT (sizeof(kinds) / sizeof(*kinds))

bool kinds_have_nodes(void)
{
	uint32_t flags = guest.host->flags;

	if (flags & SL_CUDA_GRAPH_NODES || guest.version < GRAPH_TRACE_SINCE)
		return true;
	return known_bad(BAD_GRAPH_LEVEL) && !(flags & SL_CUDA_GRAPH_WHOLE);
}

static bool wanted(const struct kind *k)
{
	if (guest.version < k->version)
		return false;
	if (k->flag == SL_CUDA_WHOLE_GRAPHS)
		return !kinds_have_nodes();
	return !k->flag || guest.host->flags & k->flag;
}

/* What nodes of graphs are recorded as. */
static bool is_work(int kind)
{
	return kind == CUPTI_KIND_CONCURRENT_KERNEL || kind == CUPTI_KIND_MEMCPY ||
	       kind == CUPTI_KIND_MEMCPY2 || kind == CUPTI_KIND_MEMSET;
}

/* Objects that records of work refer to. */
static bool is_object(int kind)
{
	return kind == CUPTI_KIND_DEVICE || kind == CUPTI_KIND_CONTEXT ||
	       kind == CUPTI_KIND_STREAM || kind == CUPTI_KIND_GREEN_CONTEXT;
}

/*
 * Enabled from the start, whether something is recorded or not (wanted.c drops what is not): objects, and what CUPTI never
 * records of a graph that was instantiated before (user's guide, "Late attach limitations").
 */
static bool lasts(int kind)
{
	return is_object(kind) || kind == CUPTI_KIND_GRAPH_TRACE ||
	       (is_work(kind) && kinds_have_nodes());
}

/*
 * Not disabled before the end. Disabling unified memory counters blocks for about 2 s (release notes of CUDA 13.4), and
 * kernels, copies and fills go together. Where a second session has wrong ids, the first one just goes on.
 */
static bool stays(int kind)
{
	return lasts(kind) || kind == CUPTI_KIND_UNIFIED_MEMORY_COUNTER ||
	       (is_work(kind) &&
		(known_bad(BAD_DISABLE_KERNELS) || known_bad(BAD_GRAPH_CORRELATION)));
}

/* Also for existing objects: the program may have created them before the first recorded call. */
static int enable(int kind)
{
	if (is_object(kind) && guest.cupti.ActivityEnableAndDump &&
	    guest.cupti.ActivityEnableAndDump(kind) == CUPTI_OK)
		return CUPTI_OK;
	return guest.cupti.ActivityEnable(kind);
}

static void record_failed(const struct kind *k, int result)
{
	guest.refused |= 1ull << k->number;
	status_record(SL_GPU_STATUS_KIND_FAILED, result,
		      "CUPTI does not record %s (%s, %d); the rest is recorded", k->name,
		      status_name(result), result);
}

#define DEVICES 64u

/* After cuInit, outside of the program's calls. */
static uint32_t device_cnt(void)
{
	int (*get)(int *) = (int (*)(int *))find_driver_query("cuDeviceGetCount");
	int cnt = 0;

	if (!get || get(&cnt) != 0 || cnt < 1)
		return 1;
	return (uint32_t)cnt < DEVICES ? (uint32_t)cnt : DEVICES;
}

/* Per process and device: bytes to the device, to the host, faults of CPU and GPU, bytes between devices. */
static int configure_um(uint32_t devices, uint32_t kind_cnt)
{
	static const uint8_t of[] = {1, 2, 3, 4, 8};
	struct cupti_um_counter counters[DEVICES * sizeof(of)];
	uint32_t cnt = 0;

	for (uint32_t d = 0; d < devices; d++)
		for (uint32_t i = 0; i < kind_cnt; i++)
			counters[cnt++] = (struct cupti_um_counter){1, of[i], d, 1};
	return guest.cupti.ActivityConfigureUnifiedMemoryCounter(counters, cnt);
}

/* The counters can be configured only after cuInit: see kinds_enable_late(). */
static int enable_um(void)
{
	uint32_t devices = device_cnt();
	int result = CUPTI_UNKNOWN;

	if (guest.cupti.ActivityConfigureUnifiedMemoryCounter)
		result = configure_um(devices, 5);
	/* Not supported: between GPUs without peer access, and by some GPU beside the first. */
	if (result != CUPTI_OK && result != CUPTI_NOT_INITIALIZED &&
	    guest.cupti.ActivityConfigureUnifiedMemoryCounter &&
	    (result = configure_um(devices, 4)) != CUPTI_OK)
		result = configure_um(1, 4);
	return result == CUPTI_OK ? guest.cupti.ActivityEnable(CUPTI_KIND_UNIFIED_MEMORY_COUNTER)
				  : result;
}

/* After the kinds, as enabling one enables all of its callbacks again. */
static void leave_out_queries(void)
{
	static const struct {
		int kind;
		uint32_t id;
		bool has_row;
	} queries[] = {
#define QUERY(domain, id, name)     {CUPTI_KIND_##domain, id, false},
#define ROW_QUERY(domain, id, name) {CUPTI_KIND_##domain, id, true},
#include "preload/cupti/queries.def"
	};

	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		int (*set)(uint32_t, uint8_t) = queries[i].kind == CUPTI_KIND_DRIVER
							? guest.cupti.ActivityEnableDriverApi
							: guest.cupti.ActivityEnableRuntimeApi;

		if (set && (guest.host->has_runtime || !queries[i].has_row))
			set(queries[i].id, 0);
	}
}

/* No records of polls: of cudaEventQuery() and cudaStreamQuery() that find work in progress. */
static void leave_out_polls(void)
{
	if (guest.kinds >> CUPTI_KIND_SYNCHRONIZATION & 1)
		settings_no_polls();
}

int kinds_enable(void)
{
	for (size_t i = 0; i < KIND_CNT; i++) {
		const struct kind *k = &kinds[i];
		int result;

		if (wanted(k))
			__atomic_or_fetch(&guest.asked, 1ull << k->number, __ATOMIC_RELAXED);
		if (!wanted(k) || (guest.kinds | guest.refused) >> k->number & 1 ||
		    (!guest.recording && !lasts(k->number)))
			continue;
		if (k->number == CUPTI_KIND_UNIFIED_MEMORY_COUNTER) {
			guest.um_pending = 1;
			continue;
		}
		result = enable(k->number);
		if (result == CUPTI_OK)
			__atomic_or_fetch(&guest.kinds, 1ull << k->number, __ATOMIC_RELAXED);
		else if (!guest.kinds && status_is_final(result))
			return result;
		else
			record_failed(k, result);
	}
	if (guest.kinds >> CUPTI_KIND_DRIVER & 1)
		leave_out_queries();
	leave_out_polls();
	if (guest.kinds >> CUPTI_KIND_CUDA_EVENT & 1)
		settings_event_times();
	return CUPTI_OK;
}

void kinds_enable_late(void)
{
	static const struct kind um = {"UNIFIED_MEMORY_COUNTER", CUPTI_KIND_UNIFIED_MEMORY_COUNTER,
				       0, 0};
	int result;

	leave_out_polls();
	if (!guest.um_pending || !__atomic_load_n(&guest.recording, __ATOMIC_RELAXED))
		return;
	result = enable_um();
	/* 15: cuInit has not been called yet. */
	if (result == CUPTI_NOT_INITIALIZED && ++guest.um_pending < 8)
		return;
	guest.um_pending = 0;
	if (result == CUPTI_OK)
		__atomic_or_fetch(&guest.kinds, 1ull << um.number, __ATOMIC_RELAXED);
	else
		record_failed(&um, result);
}

static void disable(int kind)
{
	guest.cupti.ActivityDisable(kind);
	__atomic_and_fetch(&guest.kinds, ~(1ull << kind), __ATOMIC_RELAXED);
}

/* Kernels may stay enabled for the next client, which enables them anyway: its thread must not hang here. */
void kinds_disable(void)
{
	uint64_t on = __atomic_load_n(&guest.kinds, __ATOMIC_RELAXED);

	for (int kind = 0; kind < 64; kind++)
		if (on >> kind & 1 &&
		    !(kind == CUPTI_KIND_CONCURRENT_KERNEL && known_bad(BAD_DISABLE_KERNELS)))
			disable(kind);
}

void kinds_rest(void)
{
	uint64_t on = __atomic_load_n(&guest.kinds, __ATOMIC_RELAXED);

	for (int kind = 0; kind < 64; kind++)
		if (on >> kind & 1 && !stays(kind))
			disable(kind);
	if (on >> CUPTI_KIND_CONCURRENT_KERNEL & 1)
		known_bad_note(BAD_DISABLE_KERNELS);
}
