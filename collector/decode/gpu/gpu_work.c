/*
 * gpu_work.c - writes rows of the GPU's work, in nsys's numbers; memory is in gpu_memory.c, devices in gpu_targets.c.
 *
 * CUPTI and nsys number some things differently: kinds of memory are one lower in nsys (unknown is 7), kinds of
 * launches one higher, kinds of overhead are in the upper half of CUPTI's word.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <string.h>

#include "collector/model/strings.h"

enum {
	CLASS_NODE = 77,
	CLASS_GRAPH_EXEC = 94,
	CLASS_GRAPH = 95,
	CLASS_GRAPH_CLONE = 96,
	CLASS_JIT = 102,
	CLASS_OVERHEAD = 103
};
#define MAX_TID 0xffffffu
enum {
	OVERHEAD_COMPILER = 2 /* ENUM_CUPTI_OVERHEAD_TYPE */
};

size_t gpu_work_size(unsigned kind)
{
	static const uint16_t size[SL_GPU_REC_CNT] = {
		[SL_GPU_REC_API] = sizeof(struct sl_gpu_api),
		[SL_GPU_REC_KERNEL] = sizeof(struct sl_gpu_kernel),
		[SL_GPU_REC_MEMCPY] = sizeof(struct sl_gpu_memcpy),
		[SL_GPU_REC_MEMSET] = sizeof(struct sl_gpu_memset),
		[SL_GPU_REC_SYNC] = sizeof(struct sl_gpu_sync),
		[SL_GPU_REC_EVENT] = sizeof(struct sl_gpu_event),
		[SL_GPU_REC_GRAPH] = sizeof(struct sl_gpu_graph),
		[SL_GPU_REC_MEMORY] = sizeof(struct sl_gpu_memory),
		[SL_GPU_REC_POOL] = sizeof(struct sl_gpu_pool),
		[SL_GPU_REC_OVERHEAD] = sizeof(struct sl_gpu_overhead),
		[SL_GPU_REC_JIT] = sizeof(struct sl_gpu_jit),
		[SL_GPU_REC_UM] = sizeof(struct sl_gpu_um),
		[SL_GPU_REC_DEVICE] = sizeof(struct sl_gpu_device),
		[SL_GPU_REC_CONTEXT] = sizeof(struct sl_gpu_context),
		[SL_GPU_REC_STREAM] = sizeof(struct sl_gpu_stream),
		[SL_GPU_REC_NODE] = sizeof(struct sl_gpu_node),
		[SL_GPU_REC_FLUSHED] = sizeof(struct sl_gpu_flushed),
		[SL_GPU_REC_STATUS] = sizeof(struct sl_gpu_status),
		[SL_GPU_REC_COMM] = sizeof(struct sl_gpu_comm),
	};

	return kind < SL_GPU_REC_CNT ? size[kind] : 0;
}

/* End of the work where a correlation id must be known; else INT64_MIN: no wait. */
int64_t gpu_work_end(const struct arenas *as, unsigned kind, const void *payload)
{
	switch (kind) {
	case SL_GPU_REC_KERNEL:
		return gpu_session_ns(as, ((const struct sl_gpu_kernel *)payload)->end);
	case SL_GPU_REC_MEMCPY:
		return gpu_session_ns(as, ((const struct sl_gpu_memcpy *)payload)->end);
	case SL_GPU_REC_MEMSET:
		return gpu_session_ns(as, ((const struct sl_gpu_memset *)payload)->end);
	case SL_GPU_REC_SYNC:
		return gpu_session_ns(as, ((const struct sl_gpu_sync *)payload)->end);
	case SL_GPU_REC_EVENT:
		return gpu_session_ns(as, ((const struct sl_gpu_event *)payload)->timestamp);
	case SL_GPU_REC_GRAPH:
		return gpu_session_ns(as, ((const struct sl_gpu_graph *)payload)->end);
	case SL_GPU_REC_MEMORY:
		return gpu_session_ns(as, ((const struct sl_gpu_memory *)payload)->time);
	case SL_GPU_REC_POOL:
		return gpu_session_ns(as, ((const struct sl_gpu_pool *)payload)->time);
	case SL_GPU_REC_OVERHEAD:
		return gpu_session_ns(as, ((const struct sl_gpu_overhead *)payload)->end);
	case SL_GPU_REC_JIT:
		return gpu_session_ns(as, ((const struct sl_gpu_jit *)payload)->end);
	default:
		return INT64_MIN;
	}
}

bool gpu_work_is_launched(unsigned kind, const void *payload, uint32_t *correlation)
{
	switch (kind) {
	case SL_GPU_REC_KERNEL:
		*correlation = ((const struct sl_gpu_kernel *)payload)->correlation;
		return true;
	case SL_GPU_REC_MEMCPY:
		*correlation = ((const struct sl_gpu_memcpy *)payload)->correlation;
		return true;
	case SL_GPU_REC_MEMSET:
		*correlation = ((const struct sl_gpu_memset *)payload)->correlation;
		return true;
	case SL_GPU_REC_GRAPH:
		*correlation = ((const struct sl_gpu_graph *)payload)->correlation;
		return true;
	default:
		return false;
	}
}

bool gpu_work_is_named(const struct arena *a, unsigned kind, const void *payload)
{
	uint32_t name = 0;

	if (kind == SL_GPU_REC_KERNEL)
		name = ((const struct sl_gpu_kernel *)payload)->name;
	else if (kind == SL_GPU_REC_DEVICE)
		name = ((const struct sl_gpu_device *)payload)->name;
	else if (kind == SL_GPU_REC_MEMORY)
		name = ((const struct sl_gpu_memory *)payload)->name;
	else if (kind == SL_GPU_REC_JIT)
		name = ((const struct sl_gpu_jit *)payload)->cache_path;
	return !name || string_find(a, name);
}

/* ---- CUPTI's numbers to nsys's ---- */

int64_t gpu_memory_kind(unsigned cupti)
{
	return cupti >= 1 && cupti <= GPU_MEMORY_UNKNOWN ? (int64_t)cupti - 1 : GPU_MEMORY_UNKNOWN;
}

static int64_t peer_or_null(uint32_t value)
{
	return value == SL_GPU_NONE ? DB_NULL : value;
}

/* Kinds of overhead: 0 unknown, 1 compiler, n << 16 the others; also texts for kinds without a number of nsys. */
static int64_t overhead_kind(uint32_t cupti, const char **text)
{
	static const char *const texts[] = {"Unknown",
					    "Driver compiler",
					    "Buffer flush",
					    "Instrumentation",
					    "Resource",
					    "Runtime triggered module loading",
					    "Lazy function loading",
					    "Command buffer full",
					    "Activity buffer request",
					    "Unified memory activity initialization"};
	uint32_t kind = cupti >> 16 ? (cupti >> 16) + 1 : cupti;

	*text = kind < sizeof(texts) / sizeof(*texts) ? texts[kind] : texts[0];
	return kind <= 7 ? kind + 1 : 1;
}

static int64_t text_id(struct arenas *as, const char *text)
{
	return db_string(as->db, text, strlen(text));
}

static int64_t thread_of(const struct gpu_process *p, uint32_t ns_tid)
{
	for (const struct gpu_thread *th = p->threads.at[ns_tid % GPU_THREADS]; th; th = th->next)
		if (th->ns_tid == ns_tid)
			return th->global_tid;
	/* A thread that recorded nothing of its own. Thread ids of Linux have at most 24 bits; others are no ids. */
	return ns_tid <= MAX_TID ? p->id.global_pid | ns_tid : p->id.global_pid;
}

/* ---- running sums ---- */

static bool gpu_of(const struct gpu_process *p, int64_t device, int64_t *number)
{
	bool is_known = device >= 0 && device < GPU_DEVICES && p->tables.gpu[device];

	*number = is_known ? p->tables.gpu[device] - 1 : device;
	return is_known;
}

void gpu_add_up(struct arenas *as, const struct gpu_process *p, enum live_work what, int64_t device,
		int64_t start, int64_t end, uint64_t bytes)
{
	int64_t number;
	bool is_known = gpu_of(p, device, &number);

	live_gpu_work(&as->model->live, number, is_known, what, start, end, bytes);
}

void gpu_work_reported(struct arenas *as, const struct gpu_process *p)
{
	for (unsigned i = 0; i < GPU_DEVICES; i++)
		if (p->tables.gpu[i])
			live_gpu_until(&as->model->live, p->tables.gpu[i] - 1, true,
				       p->reached.until);
}

/* ---- rows ---- */

/* A name of the stream may wait for its number. */
static void on_stream(struct arenas *as, struct gpu_process *p, int64_t id, int64_t device,
		      uint32_t context, uint32_t stream)
{
	if (p->streams.open)
		gpu_stream_seen(as, p, id, device, context, stream);
}

static void kernel(struct arenas *as, struct arena *a, struct gpu_process *p,
		   const struct sl_gpu_kernel *k)
{
	const struct gpu_name *n = gpu_name(as, a, k->name, true);
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_KERNEL);
	bool has_cluster = k->cluster[0] != 0;

	row[KRN_START] = gpu_session_ns(as, k->start);
	row[KRN_END] = gpu_session_ns(as, k->end);
	row[KRN_DEVICE_ID] = k->device;
	row[KRN_CONTEXT_ID] = k->context;
	row[KRN_GREEN_CONTEXT_ID] = DB_NULL;
	row[KRN_STREAM_ID] = k->stream;
	/* Readers take a kernel's id for granted: one that CUPTI has no call of is of no call, but has one. */
	row[KRN_CORRELATION_ID] =
		k->correlation ? gpu_alias_find(as, p, k->correlation) : gpu_hook_id(as, p);
	row[KRN_GLOBAL_PID] = p->id.global_pid;
	row[KRN_DEMANGLED_NAME] = n->demangled;
	row[KRN_SHORT_NAME] = n->base;
	row[KRN_MANGLED_NAME] = n->mangled;
	row[KRN_LAUNCH_TYPE] = k->launch_type <= 2 ? k->launch_type + 1 : 0;
	row[KRN_CACHE_CONFIG] = k->cache_config;
	row[KRN_REGISTERS_PER_THREAD] = k->registers;
	for (int i = 0; i < 3; i++) {
		row[KRN_GRID_X + i] = k->grid[i];
		row[KRN_BLOCK_X + i] = k->block[i];
		row[KRN_CLUSTER_X + i] = has_cluster ? (int64_t)k->cluster[i] : DB_NULL;
	}
	row[KRN_STATIC_SHARED_MEMORY] = k->static_shared;
	row[KRN_DYNAMIC_SHARED_MEMORY] = k->dynamic_shared;
	row[KRN_LOCAL_MEMORY_PER_THREAD] = k->local_per_thread;
	row[KRN_LOCAL_MEMORY_TOTAL] = (int64_t)k->local_total;
	row[KRN_GRID_ID] = (int64_t)k->grid_id;
	row[KRN_SHARED_MEMORY_EXECUTED] = k->shared_executed;
	row[KRN_GRAPH_NODE_ID] = gpu_or_null(k->graph_node);
	row[KRN_SHARED_MEMORY_LIMIT_CONFIG] = k->shared_limit;
	row[KRN_QMD_BULK_RELEASE_DONE] = DB_NULL;
	row[KRN_QMD_PREEXIT_DONE] = DB_NULL;
	row[KRN_QMD_LAST_CTA_DONE] = DB_NULL;
	row[KRN_GRAPH_ID] = gpu_or_null(k->graph);
	row[KRN_CLUSTER_SCHEDULING_POLICY] = has_cluster ? k->cluster_policy : DB_NULL;
	row[KRN_MAX_POTENTIAL_CLUSTER_SIZE] = gpu_or_null(k->max_cluster);
	row[KRN_MAX_ACTIVE_CLUSTERS] = gpu_or_null(k->max_active_clusters);
	row[KRN_SHARED_MEMORY_REQUESTED_PERCENTAGE] = DB_NULL;
	gpu_add_up(as, p, LIVE_KERNEL, k->device, row[KRN_START], row[KRN_END], 0);
	on_stream(as, p, row[KRN_CORRELATION_ID], k->device, k->context, k->stream);
}

static void copy(struct arenas *as, struct gpu_process *p, const struct sl_gpu_memcpy *m)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_MEMCPY);

	row[CPY_START] = gpu_session_ns(as, m->start);
	row[CPY_END] = gpu_session_ns(as, m->end);
	row[CPY_DEVICE_ID] = m->device;
	row[CPY_CONTEXT_ID] = m->context;
	row[CPY_GREEN_CONTEXT_ID] = DB_NULL;
	row[CPY_STREAM_ID] = m->stream;
	row[CPY_CORRELATION_ID] = gpu_alias_find(as, p, m->correlation);
	row[CPY_GLOBAL_PID] = p->id.global_pid;
	row[CPY_BYTES] = (int64_t)m->bytes;
	row[CPY_COPY_KIND] = m->kind <= 10 ? m->kind : 0;
	row[CPY_DEPRECATED_SRC_ID] = DB_NULL;
	row[CPY_SRC_KIND] = gpu_memory_kind(m->src_kind);
	row[CPY_DST_KIND] = gpu_memory_kind(m->dst_kind);
	row[CPY_SRC_DEVICE_ID] = m->is_peer ? peer_or_null(m->src_device) : DB_NULL;
	row[CPY_SRC_CONTEXT_ID] = m->is_peer ? peer_or_null(m->src_context) : DB_NULL;
	row[CPY_DST_DEVICE_ID] = m->is_peer ? peer_or_null(m->dst_device) : DB_NULL;
	row[CPY_DST_CONTEXT_ID] = m->is_peer ? peer_or_null(m->dst_context) : DB_NULL;
	row[CPY_MIGRATION_CAUSE] = DB_NULL;
	row[CPY_GRAPH_NODE_ID] = gpu_or_null(m->graph_node);
	row[CPY_VIRTUAL_ADDRESS] = DB_NULL;
	row[CPY_COPY_COUNT] = m->copies ? m->copies : 1;
	gpu_add_up(as, p, LIVE_COPY, m->device, row[CPY_START], row[CPY_END], m->bytes);
	on_stream(as, p, row[CPY_CORRELATION_ID], m->device, m->context, m->stream);
}

static void fill(struct arenas *as, struct gpu_process *p, const struct sl_gpu_memset *m)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_MEMSET);

	row[SET_START] = gpu_session_ns(as, m->start);
	row[SET_END] = gpu_session_ns(as, m->end);
	row[SET_DEVICE_ID] = m->device;
	row[SET_CONTEXT_ID] = m->context;
	row[SET_GREEN_CONTEXT_ID] = DB_NULL;
	row[SET_STREAM_ID] = m->stream;
	row[SET_CORRELATION_ID] = gpu_alias_find(as, p, m->correlation);
	row[SET_GLOBAL_PID] = p->id.global_pid;
	row[SET_VALUE] = m->value;
	row[SET_BYTES] = (int64_t)m->bytes;
	row[SET_GRAPH_NODE_ID] = gpu_or_null(m->graph_node);
	row[SET_MEM_KIND] = gpu_memory_kind(m->memory_kind);
	gpu_add_up(as, p, LIVE_OTHER, m->device, row[SET_START], row[SET_END], 0);
	on_stream(as, p, row[SET_CORRELATION_ID], m->device, m->context, m->stream);
}

/* The context's device where CUPTI's record has none. */
static int64_t device_of(const struct gpu_process *p, uint32_t device, uint32_t context)
{
	if (device != SL_GPU_NONE)
		return device;
	return context < GPU_CONTEXTS && p->tables.device[context] ? p->tables.device[context] - 1
								   : 0;
}

static void synchronization(struct arenas *as, struct gpu_process *p, const struct sl_gpu_sync *s)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);

	row[SYNC_START] = gpu_session_ns(as, s->start);
	row[SYNC_END] = gpu_session_ns(as, s->end);
	row[SYNC_DEVICE_ID] = device_of(p, s->device, s->context);
	row[SYNC_CONTEXT_ID] = s->context;
	row[SYNC_GREEN_CONTEXT_ID] = DB_NULL;
	row[SYNC_STREAM_ID] = s->stream;
	row[SYNC_CORRELATION_ID] = gpu_alias_find(as, p, s->correlation);
	row[SYNC_GLOBAL_PID] = p->id.global_pid;
	row[SYNC_DEPRECATED_SYNC_TYPE] = DB_NULL;
	row[SYNC_SYNC_TYPE] = s->type <= 4 ? s->type : 0;
	row[SYNC_EVENT_ID] = s->event;
	row[SYNC_EVENT_SYNC_ID] = gpu_or_null(s->event_sync);
	on_stream(as, p, row[SYNC_CORRELATION_ID], row[SYNC_DEVICE_ID], s->context, s->stream);
}

static void event(struct arenas *as, struct gpu_process *p, const struct sl_gpu_event *e)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_CUDA_EVENT);

	row[EVT_TIMESTAMP] = e->timestamp ? gpu_session_ns(as, e->timestamp) : DB_NULL;
	row[EVT_DEVICE_ID] = device_of(p, e->device, e->context);
	row[EVT_CONTEXT_ID] = e->context;
	row[EVT_GREEN_CONTEXT_ID] = DB_NULL;
	row[EVT_STREAM_ID] = e->stream;
	row[EVT_CORRELATION_ID] = gpu_alias_find(as, p, e->correlation);
	row[EVT_GLOBAL_PID] = p->id.global_pid;
	row[EVT_EVENT_ID] = e->event;
	row[EVT_EVENT_SYNC_ID] = gpu_or_null(e->event_sync);
}

static void graph(struct arenas *as, struct gpu_process *p, const struct sl_gpu_graph *g)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

	row[GRT_START] = gpu_session_ns(as, g->start);
	row[GRT_END] = gpu_session_ns(as, g->end);
	row[GRT_DEVICE_ID] = g->device;
	row[GRT_CONTEXT_ID] = g->context;
	row[GRT_GREEN_CONTEXT_ID] = DB_NULL;
	row[GRT_STREAM_ID] = g->stream;
	row[GRT_CORRELATION_ID] = gpu_alias_find(as, p, g->correlation);
	row[GRT_GLOBAL_PID] = p->id.global_pid;
	row[GRT_GRAPH_ID] = g->graph;
	row[GRT_GRAPH_EXEC_ID] = g->graph_exec;
	gpu_add_up(as, p, LIVE_OTHER, g->device, row[GRT_START], row[GRT_END], 0);
	on_stream(as, p, row[GRT_CORRELATION_ID], g->device, g->context, g->stream);
}

static void graph_made(struct arenas *as, struct gpu_process *p, const struct sl_gpu_node *n)
{
	static const char *const names[] = {"Graph node creation", "Graph creation", "Graph clone",
					    "Graph instantiation"};
	static const int64_t classes[] = {CLASS_NODE, CLASS_GRAPH, CLASS_GRAPH_CLONE,
					  CLASS_GRAPH_EXEC};
	unsigned kind = n->kind < 4 ? n->kind : 0;
	int64_t ns = gpu_session_ns(as, n->time), tid = thread_of(p, n->thread);
	int64_t name = text_id(as, names[kind]), *row;

	if (!kind) {
		row = db_row(as->db, DB_CUDA_GRAPH_NODE_EVENTS);
		row[GRN_START] = row[GRN_END] = ns;
		row[GRN_EVENT_CLASS] = CLASS_NODE;
		row[GRN_GLOBAL_TID] = tid;
		row[GRN_NAME_ID] = name;
		row[GRN_GRAPH_NODE_ID] = (int64_t)n->node;
		row[GRN_ORIGINAL_GRAPH_NODE_ID] = gpu_or_null(n->original);
		return;
	}
	row = db_row(as->db, DB_CUDA_GRAPH_EVENTS);
	row[GRE_START] = row[GRE_END] = ns;
	row[GRE_EVENT_CLASS] = classes[kind];
	row[GRE_GLOBAL_TID] = tid;
	row[GRE_NAME_ID] = name;
	row[GRE_GRAPH_ID] = gpu_or_null(n->graph);
	row[GRE_ORIGINAL_GRAPH_ID] = gpu_or_null(n->original_graph);
	row[GRE_GRAPH_EXEC_ID] = gpu_or_null(n->graph_exec);
}

static void overhead(struct arenas *as, struct gpu_process *p, const struct sl_gpu_overhead *o)
{
	const char *text;
	int64_t kind = overhead_kind(o->kind, &text),
		*row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_OVERHEAD);

	row[OVH_START] = gpu_session_ns(as, o->start);
	row[OVH_END] = gpu_session_ns(as, o->end);
	row[OVH_EVENT_CLASS] = CLASS_OVERHEAD;
	row[OVH_GLOBAL_TID] = o->thread ? thread_of(p, o->thread) : p->id.global_pid;
	row[OVH_CORRELATION_ID] = gpu_alias_find(as, p, o->correlation);
	row[OVH_NAME_ID] = text_id(as, text);
	row[OVH_OVERHEAD_TYPE] = kind;
}

static void compiled(struct arenas *as, struct arena *a, struct gpu_process *p,
		     const struct sl_gpu_jit *j)
{
	static const char *const names[] = {"JIT", "JIT cache load", "JIT cache store",
					    "JIT compile"};
	const struct db_row_CUPTI_ACTIVITY_KIND_JIT row = {
		.start = gpu_session_ns(as, j->start),
		.end = gpu_session_ns(as, j->end),
		.eventClass = CLASS_JIT,
		.globalTid = thread_of(p, j->thread),
		.correlationId = gpu_alias_find(as, p, j->correlation),
		.nameId = text_id(as, names[j->operation < 4 ? j->operation : 0]),
		.overheadType = OVERHEAD_COMPILER,
		.jitEntryType = j->entry,
		.jitOperationType = j->operation,
		.deviceId = j->device,
		.jitOperationCorrelationId = j->operation_correlation,
		.cacheSize = (int64_t)j->cache_bytes,
		.cachePath = string_find(a, j->cache_path),
	};

	db_put_CUPTI_ACTIVITY_KIND_JIT(as->db, &row);
}

void gpu_work_write(struct arenas *as, struct arena *a, struct gpu_process *p, unsigned kind,
		    const void *payload)
{
	int64_t end = gpu_work_end(as, kind, payload);

	switch (kind) {
	case SL_GPU_REC_KERNEL:
		kernel(as, a, p, payload);
		break;
	case SL_GPU_REC_MEMCPY:
		copy(as, p, payload);
		break;
	case SL_GPU_REC_MEMSET:
		fill(as, p, payload);
		break;
	case SL_GPU_REC_SYNC:
		synchronization(as, p, payload);
		break;
	case SL_GPU_REC_EVENT:
		event(as, p, payload);
		break;
	case SL_GPU_REC_GRAPH:
		graph(as, p, payload);
		break;
	case SL_GPU_REC_MEMORY:
		gpu_memory_write(as, a, p, payload);
		break;
	case SL_GPU_REC_POOL:
		gpu_pool_write(as, p, payload);
		break;
	case SL_GPU_REC_OVERHEAD:
		overhead(as, p, payload);
		break;
	case SL_GPU_REC_JIT:
		compiled(as, a, p, payload);
		break;
	case SL_GPU_REC_UM:
		gpu_um_write(as, p, payload);
		break;
	case SL_GPU_REC_DEVICE:
		gpu_device_write(as, a, p, payload);
		break;
	case SL_GPU_REC_CONTEXT:
		gpu_context_write(as, p, payload);
		break;
	case SL_GPU_REC_STREAM:
		gpu_stream_write(as, p, payload);
		break;
	case SL_GPU_REC_NODE:
		graph_made(as, p, payload);
		break;
	default:
		return;
	}
	if (end != INT64_MIN && (kind != SL_GPU_REC_EVENT || *(const uint64_t *)payload))
		gpu_count_row(a->family.gpu, end, end);
}
