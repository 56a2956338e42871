/* cupti_work.c - the stand-in for libcupti: reports of the stand-in driver become records. */
#include "tests/standin/cupti_pm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define V(field, value)                      \
	{                                    \
		F_##field, (uint64_t)(value) \
	}
#define EMIT(kind_, begin, finish, t0, t1, ...)                                           \
	do {                                                                              \
		const struct standin_value values_[] = {__VA_ARGS__};                     \
		standin_cupti_emit(                                                       \
			&(struct standin_emit){.kind = CUPTI_KIND_##kind_,                \
					       .values = values_,                         \
					       .cnt = sizeof(values_) / sizeof(*values_), \
					       .start_field = (begin),                    \
					       .end_field = (finish),                     \
					       .start = (t0),                             \
					       .end = (t1)});                             \
	} while (0)

/* ---- names and numbers of calls ---- */

static const struct known {
	int domain;
	const char *name, *reported;
	uint32_t id;
} known[] = {
#define CALL_RUNTIME(name, id, version) {CUPTI_DOMAIN_RUNTIME, #name, #name "_v" #version, id},
#define CALL_DRIVER(name, id, version)  {CUPTI_DOMAIN_DRIVER, #name, #name, id},
#define CALL(domain, name, id, version) CALL_##domain(name, id, version)
#include "tests/standin/cupti_calls.def"
};
#define KNOWN_CNT (sizeof(known) / sizeof(*known))

#define MADE_UP 3000u
static struct known made_up[1024];
static unsigned made_up_cnt;

static const struct known *find_call(int domain, const char *name)
{
	for (size_t i = 0; i < KNOWN_CNT; i++)
		if (known[i].domain == domain && !strcmp(known[i].name, name))
			return &known[i];
	for (unsigned i = 0; i < made_up_cnt; i++)
		if (made_up[i].domain == domain && !strcmp(made_up[i].name, name))
			return &made_up[i];
	return NULL;
}

static uint32_t call_id(int domain, const char *name)
{
	const struct known *k;
	char reported[200];

	pthread_mutex_lock(&standin_lock);
	k = find_call(domain, name);
	if (!k) {
		if (made_up_cnt == sizeof(made_up) / sizeof(*made_up))
			standin_wrong("more functions than it has numbers");
		snprintf(reported, sizeof(reported),
			 domain == CUPTI_DOMAIN_RUNTIME ? "%s_v13000" : "%s", name);
		made_up[made_up_cnt] = (struct known){domain, strdup(name), strdup(reported),
						      MADE_UP + made_up_cnt};
		k = &made_up[made_up_cnt++];
	}
	pthread_mutex_unlock(&standin_lock);
	return k->id;
}

const char *standin_call_name(int domain, uint32_t id)
{
	if (id >= MADE_UP)
		return id - MADE_UP < made_up_cnt && made_up[id - MADE_UP].domain == domain
			       ? made_up[id - MADE_UP].reported
			       : NULL;
	for (size_t i = 0; i < KNOWN_CNT; i++)
		if (known[i].domain == domain && known[i].id == id)
			return known[i].reported;
	return NULL;
}

/* ---- calls ---- */

static uint32_t this_thread(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void api(int is_exit, int is_driver, const char *name, uint32_t correlation, int result)
{
	static __thread struct {
		uint64_t start[64];
		unsigned depth;
	} calls;
	int domain = is_driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME;
	uint64_t start, end = standin_now();

	standin_launching(is_exit, name);
	standin_log_call(is_exit, name);
	standin_call_event(is_exit, is_driver, name);
	if (!is_exit) {
		if (calls.depth < 64)
			calls.start[calls.depth] = end;
		calls.depth++;
		return;
	}
	if (!calls.depth || --calls.depth >= 64)
		return;
	if (is_driver && calls.depth && standin_env("STANDIN_CUPTI_OUTER", 0))
		return;
	start = calls.start[calls.depth];
	if (is_driver && result == 600 && standin_version() >= 26 && !standin_no_polls &&
	    (!strcmp(name, "cuEventQuery") || !strcmp(name, "cuStreamQuery")))
		EMIT(SYNCHRONIZATION, F_SYNC_start, F_SYNC_end, start, end, V(SYNC_type, 1),
		     V(SYNC_correlation, correlation), V(SYNC_context, 1));
	if (!standin_enabled(is_driver ? CUPTI_KIND_DRIVER : CUPTI_KIND_RUNTIME) ||
	    standin_left_out(is_driver, call_id(domain, name)))
		return;
	const struct standin_value values[] = {
		V(API_cbid, call_id(domain, name)),
		V(API_process, getpid()),
		V(API_thread, standin_thread()),
		V(API_correlation, correlation),
		V(API_result, result),
	};
	if (!calls.depth) /* a driver's call inside has the same id */
		standin_external(correlation);
	standin_cupti_emit(
		&(struct standin_emit){.kind = is_driver ? CUPTI_KIND_DRIVER : CUPTI_KIND_RUNTIME,
				       .values = values,
				       .cnt = sizeof(values) / sizeof(*values),
				       .start_field = F_API_start,
				       .end_field = F_API_end,
				       .start = start,
				       .end = end});
}

/* ---- work ---- */

/* A name as CUPTI keeps it: records are read when modules have been unloaded for long. */
static const char *kept(const char *name)
{
	static char **names;
	static size_t cnt;
	char *found;
	size_t i;

	pthread_mutex_lock(&standin_lock);
	for (i = 0; i < cnt && strcmp(names[i], name) != 0; i++)
		;
	if (i == cnt) {
		if (cnt % 64 == 0)
			names = realloc(names, (cnt + 64) * sizeof(*names));
		if (!names || !(names[cnt++] = strdup(name)))
			abort();
	}
	found = names[i];
	pthread_mutex_unlock(&standin_lock);
	return found;
}

static void kernel(const struct standin_activity *a)
{
	static uint64_t grid_id;

	EMIT(CONCURRENT_KERNEL, F_KERNEL_start, F_KERNEL_end, a->start, a->end,
	     V(KERNEL_registers, a->registers), V(KERNEL_device, a->device),
	     V(KERNEL_context, a->context), V(KERNEL_stream, a->stream),
	     V(KERNEL_gridx, a->grid[0]), V(KERNEL_gridy, a->grid[1]), V(KERNEL_gridz, a->grid[2]),
	     V(KERNEL_blockx, a->block[0]), V(KERNEL_blocky, a->block[1]),
	     V(KERNEL_blockz, a->block[2]), V(KERNEL_dynamic_shared, a->shared),
	     V(KERNEL_correlation, a->correlation),
	     V(KERNEL_grid_id, __atomic_add_fetch(&grid_id, 1, __ATOMIC_RELAXED)),
	     V(KERNEL_name, (uintptr_t)kept(a->name)), V(KERNEL_graph_node, a->graph_node),
	     V(KERNEL_graph, a->graph));
}

static void copy(const struct standin_activity *a)
{
	if (a->copy_kind == 10)
		EMIT(MEMCPY2, F_PEER_start, F_PEER_end, a->start, a->end,
		     V(PEER_kind, a->copy_kind), V(PEER_src_kind, a->src_kind),
		     V(PEER_dst_kind, a->dst_kind), V(PEER_bytes, a->bytes),
		     V(PEER_device, a->device), V(PEER_context, a->context),
		     V(PEER_stream, a->stream), V(PEER_src_device, a->device),
		     V(PEER_src_context, a->context), V(PEER_dst_device, a->device),
		     V(PEER_dst_context, a->context), V(PEER_correlation, a->correlation),
		     V(PEER_graph_node, a->graph_node), V(PEER_graph, a->graph));
	else
		EMIT(MEMCPY, F_MEMCPY_start, F_MEMCPY_end, a->start, a->end,
		     V(MEMCPY_kind, a->copy_kind), V(MEMCPY_src_kind, a->src_kind),
		     V(MEMCPY_dst_kind, a->dst_kind), V(MEMCPY_bytes, a->bytes),
		     V(MEMCPY_device, a->device), V(MEMCPY_context, a->context),
		     V(MEMCPY_stream, a->stream), V(MEMCPY_correlation, a->correlation),
		     V(MEMCPY_graph_node, a->graph_node), V(MEMCPY_graph, a->graph),
		     V(MEMCPY_copies, 1));
}

static void fill(const struct standin_activity *a)
{
	EMIT(MEMSET, F_MEMSET_start, F_MEMSET_end, a->start, a->end, V(MEMSET_value, a->value),
	     V(MEMSET_bytes, a->bytes), V(MEMSET_device, a->device), V(MEMSET_context, a->context),
	     V(MEMSET_stream, a->stream), V(MEMSET_correlation, a->correlation),
	     V(MEMSET_memory_kind, a->memory_kind), V(MEMSET_graph_node, a->graph_node),
	     V(MEMSET_graph, a->graph));
}

static void allocation(const struct standin_activity *a)
{
	uint64_t at = a->start ? a->start : standin_now();

	EMIT(MEMORY2, 0, F_MEMORY_time, at, at,
	     V(MEMORY_operation, a->kind == STANDIN_ALLOC ? 1 : 2),
	     V(MEMORY_kind, a->memory_kind ? a->memory_kind : 3),
	     V(MEMORY_correlation, a->correlation), V(MEMORY_address, a->address),
	     V(MEMORY_bytes, a->bytes), V(MEMORY_process, getpid()), V(MEMORY_device, a->device),
	     V(MEMORY_context, a->context), V(MEMORY_stream, a->stream),
	     V(MEMORY_is_async, a->pool.address != 0), V(MEMORY_pool_type, a->pool.address != 0),
	     V(MEMORY_pool_address, a->pool.address), V(MEMORY_pool_threshold, a->pool.threshold),
	     V(MEMORY_pool_size, a->pool.size), V(MEMORY_pool_used, a->pool.used));
}

static void memory_pool(const struct standin_activity *a)
{
	EMIT(MEMORY_POOL, 0, F_POOL_time, a->start, a->start, V(POOL_operation, a->value),
	     V(POOL_type, 1), V(POOL_correlation, a->correlation), V(POOL_process, getpid()),
	     V(POOL_device, a->device), V(POOL_min_bytes, a->bytes),
	     V(POOL_address, a->pool.address), V(POOL_size, a->pool.size),
	     V(POOL_threshold, a->pool.threshold), V(POOL_used, a->pool.used));
}

void standin_dump_device(void)
{
	static const uint8_t uuid[16] = {0x53, 0x69, 0x67, 0x68, 0x74, 0x6c, 0x69, 0x6e,
					 0x65, 1,    2,    3,    4,    5,    6,    7};

	EMIT(DEVICE, 0, 0, 0, 0, V(DEVICE_bandwidth, 900000000), V(DEVICE_memory, 16ull << 30),
	     V(DEVICE_const_bytes, 65536), V(DEVICE_l2, 4 << 20), V(DEVICE_warp_size, 32),
	     V(DEVICE_core_clock, 1500000), V(DEVICE_copy_engines, 3), V(DEVICE_sm_cnt, 80),
	     V(DEVICE_max_warps_per_sm, 64), V(DEVICE_max_blocks_per_sm, 32),
	     V(DEVICE_max_registers_per_block, 65536), V(DEVICE_max_shared_per_block, 49152),
	     V(DEVICE_max_threads_per_block, 1024), V(DEVICE_major, 7), V(DEVICE_minor, 0),
	     V(DEVICE_id, 0), V(DEVICE_ecc, 1), V(DEVICE_uuid, (uintptr_t)uuid),
	     V(DEVICE_name, (uintptr_t) "Stand-in GPU"));
}

static void context(const struct standin_activity *a)
{
	const struct cupti_resource_data data = {(void *)(uintptr_t)a->context, NULL, NULL};

	EMIT(CONTEXT, 0, 0, 0, 0, V(CONTEXT_id, a->context), V(CONTEXT_device, a->device),
	     V(CONTEXT_compute_api, 1), V(CONTEXT_null_stream, a->stream ? a->stream : 7));
	standin_resource(1, &data);
}

static void stream(const struct standin_activity *a)
{
	const struct cupti_resource_data data = {(void *)(uintptr_t)a->context,
						 (void *)(uintptr_t)a->stream, NULL};

	EMIT(STREAM, 0, 0, 0, 0, V(STREAM_context, a->context), V(STREAM_id, a->stream),
	     V(STREAM_priority, a->value), V(STREAM_flag, 1 + a->sync_type));
	standin_resource(3, &data);
}

/* Ids as handles: a query for the id of one returns it (cuptiGetGraphNodeId). */
static void node(const struct standin_activity *a)
{
	const struct cupti_graph_data graph = {
		.graph = (void *)(uintptr_t)a->graph,
		.node = (void *)(uintptr_t)a->graph_node,
		.original_node = (void *)(uintptr_t)a->original_node,
		.exec = (void *)(uintptr_t)a->graph_exec,
	};
	const struct cupti_resource_data data = {(void *)(uintptr_t)a->context, NULL, &graph};

	if (a->graph_exec)
		standin_instantiated(a->graph_exec);
	standin_resource(
		a->original_node ? CUPTI_RESOURCE_NODE_CLONED : CUPTI_RESOURCE_NODE_CREATED, &data);
}

static void whole_graph(const struct standin_activity *a)
{
	if (!standin_graph_is_traced(a->graph_exec))
		return;
	EMIT(GRAPH_TRACE, F_GRAPH_start, F_GRAPH_end, a->start, a->end,
	     V(GRAPH_correlation, a->correlation), V(GRAPH_device, a->device),
	     V(GRAPH_graph, a->graph_exec ? a->graph_exec : a->graph), V(GRAPH_context, a->context),
	     V(GRAPH_stream, a->stream));
}

static uint32_t overhead_thread(void)
{
	return standin_lies(LIE_OVERHEAD_THREADS) ? (uint32_t)(uintptr_t)pthread_self()
						  : standin_thread();
}

static void record(const struct standin_activity *a)
{
	struct standin_activity of_graph = *a;

	if ((a->graph_node || a->kind == STANDIN_GRAPH) && standin_sessions > 1 &&
	    standin_lies(LIE_GRAPH_CORRELATION)) {
		of_graph.correlation |= 1u << 30;
		a = &of_graph;
	}
	/* Whole graphs, or their nodes: not both. */
	if (a->graph_node && a->kind <= STANDIN_MEMSET && standin_enabled(CUPTI_KIND_GRAPH_TRACE))
		return;
	switch (a->kind) {
	case STANDIN_KERNEL:
		standin_pm_kernel((int64_t)a->start, (int64_t)a->end);
		kernel(a);
		break;
	case STANDIN_MEMCPY:
		copy(a);
		break;
	case STANDIN_MEMSET:
		fill(a);
		break;
	case STANDIN_SYNC:
		EMIT(SYNCHRONIZATION, F_SYNC_start, F_SYNC_end, a->start, a->end,
		     V(SYNC_type, a->sync_type), V(SYNC_correlation, a->correlation),
		     V(SYNC_context, a->context),
		     V(SYNC_stream, a->sync_type == 4 ? UINT32_MAX : a->stream),
		     V(SYNC_event, a->sync_type == 1 || a->sync_type == 2 ? a->event : UINT32_MAX));
		break;
	case STANDIN_EVENT:
		EMIT(CUDA_EVENT, 0, standin_event_times() ? F_EVENT_timestamp : 0, a->end, a->end,
		     V(EVENT_correlation, a->correlation), V(EVENT_context, a->context),
		     V(EVENT_stream, a->stream), V(EVENT_event, a->event),
		     V(EVENT_device, a->device));
		break;
	case STANDIN_GRAPH:
		whole_graph(a);
		break;
	case STANDIN_ALLOC:
	case STANDIN_FREE:
		allocation(a);
		break;
	case STANDIN_POOL:
		memory_pool(a);
		break;
	case STANDIN_CONTEXT:
		context(a);
		break;
	case STANDIN_STREAM:
		stream(a);
		break;
	case STANDIN_GRAPH_NODE:
		node(a);
		break;
	case STANDIN_MODULE:
		EMIT(OVERHEAD, F_OVERHEAD_start, F_OVERHEAD_end, a->start, a->end,
		     V(OVERHEAD_kind, 4 << 16), V(OVERHEAD_object_kind, CUPTI_OBJECT_THREAD),
		     V(OVERHEAD_thread, overhead_thread()),
		     V(OVERHEAD_correlation, a->correlation));
		break;
	case STANDIN_COMPILE:
		EMIT(JIT, F_JIT_start, F_JIT_end, a->start, a->end, V(JIT_entry, 1),
		     V(JIT_operation, 3), V(JIT_device, a->device),
		     V(JIT_correlation, a->correlation),
		     V(JIT_operation_correlation, a->correlation), V(JIT_thread, this_thread()));
		break;
	}
}

static void activity(const struct standin_activity *a)
{
	uint64_t at = standin_now();
	bool whole = standin_enabled(CUPTI_KIND_GRAPH_TRACE);

	standin_fate = FATE_OFF;
	record(a);
	/* A graph, or its nodes. */
	if (a->kind <= STANDIN_MEMSET ? !(whole && a->graph_node)
				      : a->kind == STANDIN_GRAPH && whole)
		standin_log_activity(a, at);
}

/* The driver's stand-in is where the real driver would be; tests bring one of their own. */
static void *of_driver(const char *name)
{
	void *there = dlsym(RTLD_DEFAULT, name), *driver;

	if (there)
		return there;
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	return driver ? dlsym(driver, name) : NULL;
}

void standin_dump_contexts_made(void)
{
	void (*dump)(void);

	*(void **)&dump = of_driver("standin_dump_contexts");
	if (dump)
		dump();
}

bool standin_attach(void)
{
	static const struct standin_observer observer = {api, activity};
	static int attached;
	int (*observe)(const struct standin_observer *) = NULL;

	if (attached)
		return true;
	*(void **)&observe = of_driver("standin_observe");
	attached = observe && observe(&observer) == 0;
	return attached;
}
