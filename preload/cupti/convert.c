/*
 * convert.c - converts CUPTI's records into those of the wire. They are in no order, and identifiers are reused: each
 * record is converted on its own.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"
#include "preload/cupti/view.h"

#include <string.h>

#define ROUND(type) _Static_assert(sizeof(struct type) % 8 == 0, #type " is whole words")
ROUND(sl_gpu_api);
ROUND(sl_gpu_kernel);
ROUND(sl_gpu_memcpy);
ROUND(sl_gpu_memset);
ROUND(sl_gpu_sync);
ROUND(sl_gpu_event);
ROUND(sl_gpu_graph);
ROUND(sl_gpu_memory);
ROUND(sl_gpu_pool);
ROUND(sl_gpu_overhead);
ROUND(sl_gpu_jit);
ROUND(sl_gpu_um);
ROUND(sl_gpu_device);
ROUND(sl_gpu_context);
ROUND(sl_gpu_stream);
ROUND(sl_gpu_node);
ROUND(sl_gpu_flushed);
ROUND(sl_gpu_status);

static uint32_t text_at(uint64_t address)
{
	return text_id((const char *)(uintptr_t)address);
}

/* 0: CUPTI has no time for it, or the time is of no known clock; the collector counts both. */
static uint64_t at_clock(const struct view *v, uint64_t t)
{
	static uint32_t noted; /* atomic */
	uint64_t mono = clock_mono(t, v->now);

	if (t && !mono && !__atomic_exchange_n(&noted, 1, __ATOMIC_RELAXED))
		status_record(
			SL_GPU_STATUS_LIMITED, 0,
			"CUPTI gives times of a clock that is not its own (%llu ns): what has "
			"such times has no row; does the program trace the GPU itself?",
			(unsigned long long)t);
	return mono;
}

#define TELL(kind, r) guest.host->record(kind, &(r), sizeof(r))

static void api(const struct view *v, bool driver)
{
	struct sl_gpu_api r = {
		.start = at_clock(v, API_start(v)),
		.end = at_clock(v, API_end(v)),
		.correlation = (uint32_t)API_correlation(v),
		.thread = (uint32_t)API_thread(v),
		.name = text_call(driver, (uint32_t)API_cbid(v)),
		.result = (int32_t)API_result(v),
		.is_driver = driver,
	};

	wanted_call(r.correlation);
	if (v->was_lent)
		lent_call(r.correlation, r.start);
	TELL(SL_GPU_REC_API, r);
}

/* Whether a second session makes a difference to CUPTI depends on its version; captures are sessions to it. */
static void of_graph(void)
{
	if (guest.captures > 1)
		known_bad_warn(BAD_GRAPH_CORRELATION);
}

static void kernel(const struct view *v)
{
	uint64_t local = KERNEL_local_total_v2(v);
	struct sl_gpu_kernel r = {
		.start = at_clock(v, KERNEL_start(v)),
		.end = at_clock(v, KERNEL_end(v)),
		.grid_id = KERNEL_grid_id(v),
		.graph_node = KERNEL_graph_node(v),
		.local_total = local ? local : KERNEL_local_total(v),
		.device = (uint32_t)KERNEL_device(v),
		.context = (uint32_t)KERNEL_context(v),
		.stream = (uint32_t)KERNEL_stream(v),
		.correlation = (uint32_t)KERNEL_correlation(v),
		.name = text_at(KERNEL_name(v)),
		.graph = (uint32_t)KERNEL_graph(v),
		.grid = {(int32_t)KERNEL_gridx(v), (int32_t)KERNEL_gridy(v),
			 (int32_t)KERNEL_gridz(v)},
		.block = {(int32_t)KERNEL_blockx(v), (int32_t)KERNEL_blocky(v),
			  (int32_t)KERNEL_blockz(v)},
		.static_shared = (uint32_t)KERNEL_static_shared(v),
		.dynamic_shared = (uint32_t)KERNEL_dynamic_shared(v),
		.shared_executed = (uint32_t)KERNEL_shared_executed(v),
		.local_per_thread = (uint32_t)KERNEL_local_per_thread(v),
		.registers = (uint16_t)KERNEL_registers(v),
		/* Two halves: requested, and used. */
		.cache_config = (uint8_t)(KERNEL_cache_config(v) >> 4),
		.shared_limit = (uint8_t)KERNEL_shared_limit(v),
		.launch_type = (uint8_t)KERNEL_launch_type(v),
		.cluster_policy = (uint8_t)KERNEL_cluster_policy(v),
		.cluster = {(uint32_t)KERNEL_clusterx(v), (uint32_t)KERNEL_clustery(v),
			    (uint32_t)KERNEL_clusterz(v)},
		.max_cluster = (uint32_t)KERNEL_max_cluster(v),
		.max_active_clusters = (uint32_t)KERNEL_max_active(v),
	};

	if (r.graph_node)
		of_graph();
	TELL(SL_GPU_REC_KERNEL, r);
}

static void copy(const struct view *v)
{
	uint64_t copies = MEMCPY_copies(v);
	struct sl_gpu_memcpy r = {
		.start = at_clock(v, MEMCPY_start(v)),
		.end = at_clock(v, MEMCPY_end(v)),
		.bytes = MEMCPY_bytes(v),
		.graph_node = MEMCPY_graph_node(v),
		.device = (uint32_t)MEMCPY_device(v),
		.context = (uint32_t)MEMCPY_context(v),
		.stream = (uint32_t)MEMCPY_stream(v),
		.correlation = (uint32_t)MEMCPY_correlation(v),
		.kind = (uint8_t)MEMCPY_kind(v),
		.src_kind = (uint8_t)MEMCPY_src_kind(v),
		.dst_kind = (uint8_t)MEMCPY_dst_kind(v),
		.src_device = SL_GPU_NONE,
		.src_context = SL_GPU_NONE,
		.dst_device = SL_GPU_NONE,
		.dst_context = SL_GPU_NONE,
		.copies = copies ? (uint32_t)copies : 1,
		.graph = (uint32_t)MEMCPY_graph(v),
	};

	TELL(SL_GPU_REC_MEMCPY, r);
}

static void peer_copy(const struct view *v)
{
	struct sl_gpu_memcpy r = {
		.start = at_clock(v, PEER_start(v)),
		.end = at_clock(v, PEER_end(v)),
		.bytes = PEER_bytes(v),
		.graph_node = PEER_graph_node(v),
		.device = (uint32_t)PEER_device(v),
		.context = (uint32_t)PEER_context(v),
		.stream = (uint32_t)PEER_stream(v),
		.correlation = (uint32_t)PEER_correlation(v),
		.kind = (uint8_t)PEER_kind(v),
		.src_kind = (uint8_t)PEER_src_kind(v),
		.dst_kind = (uint8_t)PEER_dst_kind(v),
		.is_peer = 1,
		.src_device = (uint32_t)PEER_src_device(v),
		.src_context = (uint32_t)PEER_src_context(v),
		.dst_device = (uint32_t)PEER_dst_device(v),
		.dst_context = (uint32_t)PEER_dst_context(v),
		.copies = 1,
		.graph = (uint32_t)PEER_graph(v),
	};

	TELL(SL_GPU_REC_MEMCPY, r);
}

static void set(const struct view *v)
{
	struct sl_gpu_memset r = {
		.start = at_clock(v, MEMSET_start(v)),
		.end = at_clock(v, MEMSET_end(v)),
		.bytes = MEMSET_bytes(v),
		.graph_node = MEMSET_graph_node(v),
		.device = (uint32_t)MEMSET_device(v),
		.context = (uint32_t)MEMSET_context(v),
		.stream = (uint32_t)MEMSET_stream(v),
		.correlation = (uint32_t)MEMSET_correlation(v),
		.value = (uint32_t)MEMSET_value(v),
		.memory_kind = (uint32_t)MEMSET_memory_kind(v),
		.graph = (uint32_t)MEMSET_graph(v),
	};

	TELL(SL_GPU_REC_MEMSET, r);
}

static void sync(const struct view *v)
{
	struct sl_gpu_sync r = {
		.start = at_clock(v, SYNC_start(v)),
		.end = at_clock(v, SYNC_end(v)),
		/* The record has the context; the CONTEXT record has its device. */
		.device = SL_GPU_NONE,
		.context = (uint32_t)SYNC_context(v),
		.stream = (uint32_t)SYNC_stream(v),
		.correlation = (uint32_t)SYNC_correlation(v),
		.type = (uint32_t)SYNC_type(v),
		.event = (uint32_t)SYNC_event(v),
		.event_sync = SYNC_event_sync(v),
	};

	TELL(SL_GPU_REC_SYNC, r);
}

static void event(const struct view *v)
{
	struct sl_gpu_event r = {
		.timestamp = at_clock(v, EVENT_timestamp(v)),
		.device = v->version >= 26 ? (uint32_t)EVENT_device(v) : SL_GPU_NONE,
		.context = (uint32_t)EVENT_context(v),
		.stream = (uint32_t)EVENT_stream(v),
		.correlation = (uint32_t)EVENT_correlation(v),
		.event = (uint32_t)EVENT_event(v),
		.event_sync = EVENT_event_sync(v),
	};

	TELL(SL_GPU_REC_EVENT, r);
}

static void graph(const struct view *v)
{
	struct sl_gpu_graph r = {
		.start = at_clock(v, GRAPH_start(v)),
		.end = at_clock(v, GRAPH_end(v)),
		.device = (uint32_t)GRAPH_device(v),
		.context = (uint32_t)GRAPH_context(v),
		.stream = (uint32_t)GRAPH_stream(v),
		.correlation = (uint32_t)GRAPH_correlation(v),
		.graph = (uint32_t)GRAPH_graph(v),
		/* CUPTI's record lacks the instance, which the callbacks of its nodes have. */
		.graph_exec = 0,
	};

	of_graph();
	TELL(SL_GPU_REC_GRAPH, r);
}

static void memory(const struct view *v)
{
	uint64_t size = MEMORY_pool_size(v);
	bool imported = MEMORY_pool_type(v) == CUPTI_POOL_IMPORTED;
	struct sl_gpu_memory r = {
		.time = at_clock(v, MEMORY_time(v)),
		.address = MEMORY_address(v),
		.bytes = MEMORY_bytes(v),
		.pc = MEMORY_pc(v),
		.pool_address = MEMORY_pool_address(v),
		.pool_threshold = MEMORY_pool_threshold(v),
		/* One word for both: the size of a local pool, or the process of an imported one. */
		.pool_size = imported ? 0 : size,
		.process = imported ? (uint32_t)size : 0,
		.pool_used = MEMORY_pool_used(v),
		.device = (uint32_t)MEMORY_device(v),
		.context = (uint32_t)MEMORY_context(v),
		.stream = (uint32_t)MEMORY_stream(v),
		.correlation = (uint32_t)MEMORY_correlation(v),
		.operation = (uint8_t)MEMORY_operation(v),
		.kind = (uint8_t)MEMORY_kind(v),
		.is_async = (uint8_t)MEMORY_is_async(v),
		.pool_type = (uint8_t)MEMORY_pool_type(v),
		.name = text_at(MEMORY_name(v)),
	};

	TELL(SL_GPU_REC_MEMORY, r);
}

static void pool(const struct view *v)
{
	struct sl_gpu_pool r = {
		.time = at_clock(v, POOL_time(v)),
		.address = POOL_address(v),
		.min_bytes_to_keep = POOL_min_bytes(v),
		.size = POOL_size(v),
		.used = POOL_used(v),
		.threshold = POOL_threshold(v),
		.device = (uint32_t)POOL_device(v),
		.process = (uint32_t)POOL_process(v),
		.correlation = (uint32_t)POOL_correlation(v),
		.operation = (uint8_t)POOL_operation(v),
		.type = (uint8_t)POOL_type(v),
	};

	TELL(SL_GPU_REC_POOL, r);
}

static void overhead(const struct view *v)
{
	struct sl_gpu_overhead r = {
		.start = at_clock(v, OVERHEAD_start(v)),
		.end = at_clock(v, OVERHEAD_end(v)),
		.kind = (uint32_t)OVERHEAD_kind(v),
		.thread = OVERHEAD_object_kind(v) == CUPTI_OBJECT_THREAD &&
					  !known_bad(BAD_OVERHEAD_THREADS)
				  ? (uint32_t)OVERHEAD_thread(v)
				  : 0,
		.correlation = (uint32_t)OVERHEAD_correlation(v),
	};

	known_bad_note(BAD_OVERHEAD_THREADS);
	TELL(SL_GPU_REC_OVERHEAD, r);
}

static void jit(const struct view *v)
{
	struct sl_gpu_jit r = {
		.start = at_clock(v, JIT_start(v)),
		.end = at_clock(v, JIT_end(v)),
		.cache_bytes = JIT_cache_bytes(v),
		.entry = (uint32_t)JIT_entry(v),
		.operation = (uint32_t)JIT_operation(v),
		.device = (uint32_t)JIT_device(v),
		.correlation = (uint32_t)JIT_correlation(v),
		.operation_correlation = (uint32_t)JIT_operation_correlation(v),
		.thread = (uint32_t)JIT_thread(v),
		.cache_path = text_at(JIT_cache_path(v)),
	};

	TELL(SL_GPU_REC_JIT, r);
}

static void unified_memory(const struct view *v)
{
	struct sl_gpu_um r = {
		.start = at_clock(v, UM_start(v)),
		.end = at_clock(v, UM_end(v)),
		.address = UM_address(v),
		.value = UM_value(v),
		.kind = (uint32_t)UM_kind(v),
		.src = (uint32_t)UM_src(v),
		.dst = (uint32_t)UM_dst(v),
		.stream = (uint32_t)UM_stream(v),
		.process = (uint32_t)UM_process(v),
		.flags = (uint32_t)UM_flags(v),
	};

	TELL(SL_GPU_REC_UM, r);
}

static void device(const struct view *v)
{
	static uint64_t recorded; /* atomic: CUPTI repeats them */
	uint64_t id = DEVICE_id(v);
	struct sl_gpu_device r = {
		.memory_bytes = DEVICE_memory(v),
		.memory_bandwidth = DEVICE_bandwidth(v),
		.l2_bytes = DEVICE_l2(v),
		.id = (uint32_t)id,
		.name = text_at(DEVICE_name(v)),
		.major = (uint32_t)DEVICE_major(v),
		.minor = (uint32_t)DEVICE_minor(v),
		.sm_cnt = (uint32_t)DEVICE_sm_cnt(v),
		.core_clock_khz = (uint32_t)DEVICE_core_clock(v),
		.warp_size = (uint32_t)DEVICE_warp_size(v),
		.max_threads_per_block = (uint32_t)DEVICE_max_threads_per_block(v),
		.max_blocks_per_sm = (uint32_t)DEVICE_max_blocks_per_sm(v),
		.max_warps_per_sm = (uint32_t)DEVICE_max_warps_per_sm(v),
		.max_registers_per_block = (uint32_t)DEVICE_max_registers_per_block(v),
		.max_shared_per_block = (uint32_t)DEVICE_max_shared_per_block(v),
		.const_bytes = (uint32_t)DEVICE_const_bytes(v),
		.ecc = (uint32_t)DEVICE_ecc(v),
		/* CUPTI's record lacks the bus; the collector finds it by the UUID. */
		.pci_domain = SL_GPU_NONE,
		.pci_bus = SL_GPU_NONE,
		.pci_device = SL_GPU_NONE,
		.copy_engines = (uint32_t)DEVICE_copy_engines(v),
	};

	if (id < 64 && __atomic_fetch_or(&recorded, 1ull << id, __ATOMIC_RELAXED) >> id & 1)
		return;
	if (v->bytes >= 136)
		memcpy(r.uuid, v->at + 120, sizeof(r.uuid));
	TELL(SL_GPU_REC_DEVICE, r);
}

static void context(const struct view *v)
{
	struct sl_gpu_context r = {
		.id = (uint32_t)CONTEXT_id(v),
		.device = (uint32_t)CONTEXT_device(v),
		.null_stream = (uint32_t)CONTEXT_null_stream(v),
		.compute_api = (uint32_t)CONTEXT_compute_api(v),
		.is_green = (uint32_t)CONTEXT_is_green(v),
		.parent = (uint32_t)CONTEXT_parent(v),
	};

	TELL(SL_GPU_REC_CONTEXT, r);
}

/* Its streams are those of the parent context. */
static void green_context(const struct view *v)
{
	struct sl_gpu_context r = {
		.id = (uint32_t)GREEN_id(v),
		.device = (uint32_t)GREEN_device(v),
		.is_green = 1,
		.parent = (uint32_t)GREEN_parent(v),
	};

	TELL(SL_GPU_REC_CONTEXT, r);
}

static void stream(const struct view *v)
{
	struct sl_gpu_stream r = {
		.context = (uint32_t)STREAM_context(v),
		.id = (uint32_t)STREAM_id(v),
		.priority = (uint32_t)STREAM_priority(v),
		.flag = (uint32_t)STREAM_flag(v),
	};

	TELL(SL_GPU_REC_STREAM, r);
}

/* Before it is converted: kinds that stay enabled bring work for nothing, too. */
static bool is_wanted(const struct view *v, uint32_t kind)
{
	switch (kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
	case CUPTI_KIND_SERIAL_KERNEL:
		return wanted_work((uint32_t)KERNEL_correlation(v));
	case CUPTI_KIND_MEMCPY:
		return wanted_work((uint32_t)MEMCPY_correlation(v));
	case CUPTI_KIND_MEMCPY2:
		return wanted_work((uint32_t)PEER_correlation(v));
	case CUPTI_KIND_MEMSET:
		return wanted_work((uint32_t)MEMSET_correlation(v));
	case CUPTI_KIND_GRAPH_TRACE:
		return wanted_work((uint32_t)GRAPH_correlation(v));
	case CUPTI_KIND_UNIFIED_MEMORY_COUNTER:
		return wanted_work(0);
	default:
		return true;
	}
}

/* Other clients enable kinds, too, and some kinds bring others. */
static bool is_asked(uint32_t kind)
{
	if (kind == CUPTI_KIND_SERIAL_KERNEL)
		kind = CUPTI_KIND_CONCURRENT_KERNEL;
	if (kind < 64 && __atomic_load_n(&guest.asked, __ATOMIC_RELAXED) >> kind & 1)
		return true;
	if (kind == CUPTI_KIND_CUDA_EVENT)
		known_bad_note(BAD_COUPLED_KINDS);
	return false;
}

static void convert(struct view *v, uint32_t kind)
{
	if (v->was_lent && lent_is_programs(v, kind))
		return;
	switch (kind) {
	case CUPTI_KIND_RUNTIME:
	case CUPTI_KIND_DRIVER:
		api(v, kind == CUPTI_KIND_DRIVER);
		break;
	case CUPTI_KIND_CONCURRENT_KERNEL:
	case CUPTI_KIND_SERIAL_KERNEL:
		kernel(v);
		break;
	case CUPTI_KIND_MEMCPY:
		copy(v);
		break;
	case CUPTI_KIND_MEMCPY2:
		peer_copy(v);
		break;
	case CUPTI_KIND_MEMSET:
		set(v);
		break;
	case CUPTI_KIND_SYNCHRONIZATION:
		sync(v);
		break;
	case CUPTI_KIND_CUDA_EVENT:
		event(v);
		break;
	case CUPTI_KIND_GRAPH_TRACE:
		graph(v);
		break;
	case CUPTI_KIND_MEMORY2:
		memory(v);
		break;
	case CUPTI_KIND_MEMORY_POOL:
		pool(v);
		break;
	case CUPTI_KIND_OVERHEAD:
		overhead(v);
		break;
	case CUPTI_KIND_JIT:
		jit(v);
		break;
	case CUPTI_KIND_UNIFIED_MEMORY_COUNTER:
		unified_memory(v);
		break;
	case CUPTI_KIND_DEVICE:
		device(v);
		break;
	case CUPTI_KIND_CONTEXT:
		context(v);
		break;
	case CUPTI_KIND_GREEN_CONTEXT:
		green_context(v);
		break;
	case CUPTI_KIND_STREAM:
		stream(v);
		break;
	default:
		break;
	}
}

/*
 * CUPTI iterates over the records, which have no length. The next one is located first: its distance bounds the reads of
 * the current one, whatever the version. False: the end. What lies behind an incomplete record cannot be found: CUPTI alone
 * knows how long that is.
 */
struct iterator {
	uint8_t *buffer, *next;
	size_t valid;
	int result; /* CUPTI's last one */
};

static void locate(struct iterator *it)
{
	it->result = guest.cupti.ActivityGetNextRecord(it->buffer, it->valid, &it->next);
	if (it->result != CUPTI_OK)
		it->next = NULL;
}

static bool next_record(struct iterator *it, struct view *v, uint32_t *kind)
{
	const uint8_t *end = it->buffer + it->valid;

	if (!it->next)
		return false;
	v->at = it->next;
	locate(it);
	v->bytes = (size_t)((it->next > v->at ? it->next : end) - v->at);
	memcpy(kind, v->at, sizeof(*kind));
	return !__atomic_load_n(&guest.broken, __ATOMIC_RELAXED) &&
	       (!__atomic_load_n(&guest.unchecked, __ATOMIC_RELAXED) || believe(v, *kind));
}

/* Records that are decided at once, or the others. Returns how many were left. */
static unsigned convert_some(uint8_t *buffer, size_t valid, struct view *v, bool decided)
{
	struct iterator it = {.buffer = buffer, .valid = valid};
	unsigned left = 0;
	uint32_t kind;

	locate(&it);
	while (next_record(&it, v, &kind)) {
		if (!is_asked(kind) || !is_wanted(v, kind))
			continue;
		if ((v->was_lent && lent_is_undecided(v, kind)) == decided)
			left++;
		else
			convert(v, kind);
	}
	if (decided && it.result != CUPTI_OK && it.result != CUPTI_MAX_LIMIT_REACHED)
		__atomic_add_fetch(&guest.incomplete, 1, __ATOMIC_RELAXED);
	return left;
}

void convert_buffer(uint8_t *buffer, size_t valid, uint64_t since)
{
	struct view v = {.version = guest.version, .since = since, .was_lent = lent_before()};

	clock_measure();
	v.now = guest.host->now();
	/* Calls first, which have times. */
	if (convert_some(buffer, valid, &v, true))
		convert_some(buffer, valid, &v, false);
}
