/* cupti_kinds - every kind of record, field by field, in the layouts of six versions of CUPTI. */
#include "tests/unit/cupti/cupti_host.h"

#define ALL_FLAGS (SL_CUDA_MEMORY_USAGE | SL_CUDA_UM | SL_CUDA_EVENTS | SL_CUDA_GRAPH_WHOLE)

static uint32_t version;

static const struct {
	uint32_t bytes, version;
} fields[] = {
#define FIELD(shape, field, offset, bytes, version, member) {bytes, version},
#include "preload/cupti/layout.def"
};

/* What the test puts into a field: a value that no other field has, as far as its width allows. */
static uint64_t put(enum standin_field f)
{
	uint64_t v = 0x0101010101010101ull * (f % 250 + 1) ^ (uint64_t)f << 9;

	return fields[f].bytes >= 8 ? v : v & ((1ull << fields[f].bytes * 8) - 1);
}

/* What must arrive: nothing of a field that the version does not have. */
static uint64_t want(enum standin_field f)
{
	return version < fields[f].version ? 0 : put(f);
}
#define WANT(got, field) CHECK_EQUAL(got, (__typeof__(got))want(F_##field))

static char uuid[] = "0123456789abcdef", kernel_name[] = "_Z3addPf",
	    memory_name[] = "pool of a name", cache_path[] = "/home/u/.nv/ComputeCache",
	    device_name[] = "GPU of a name";

static uint64_t value_of(enum standin_field f)
{
	switch (f) {
	case F_KERNEL_name:
		return (uintptr_t)kernel_name;
	case F_MEMORY_name:
		return (uintptr_t)memory_name;
	case F_JIT_cache_path:
		return (uintptr_t)cache_path;
	case F_DEVICE_name:
		return (uintptr_t)device_name;
	case F_DEVICE_uuid:
		return (uintptr_t)uuid;
	case F_DEVICE_id:
		return 3;
	case F_OVERHEAD_object_kind:
		return CUPTI_OBJECT_THREAD;
	case F_API_cbid: /* cudaLaunchKernel, and cuMemAlloc_v2 of the driver's */
		return 211;
	default:
		return put(f);
	}
}

static const char *const shapes[] = {
#define FIELD(shape, field, offset, bytes, version, member) #shape,
#include "preload/cupti/layout.def"
};
static uint64_t begun;

static void emit_kind(enum cupti_kind kind, const char *shape, enum standin_field start_field,
		      enum standin_field end_field)
{
	struct standin_value values[FIELD_CNT];
	struct standin_emit e = {.kind = kind,
				 .values = values,
				 .start_field = start_field,
				 .end_field = end_field,
				 .start = begun - 2000,
				 .end = begun - 1000};

	for (enum standin_field f = 0; f < FIELD_CNT; f++)
		if (!strcmp(shapes[f], shape) && ((f != start_field && f != end_field) || !f))
			values[e.cnt++] = (struct standin_value){f, value_of(f)};
	emit(&e);
}

static void emit_all(void)
{
	begun = host_now();
	emit_kind(CUPTI_KIND_RUNTIME, "API", F_API_start, F_API_end);
	emit_kind(CUPTI_KIND_CONCURRENT_KERNEL, "KERNEL", F_KERNEL_start, F_KERNEL_end);
	emit_kind(CUPTI_KIND_MEMCPY, "MEMCPY", F_MEMCPY_start, F_MEMCPY_end);
	emit_kind(CUPTI_KIND_MEMCPY2, "PEER", F_PEER_start, F_PEER_end);
	emit_kind(CUPTI_KIND_MEMSET, "MEMSET", F_MEMSET_start, F_MEMSET_end);
	emit_kind(CUPTI_KIND_SYNCHRONIZATION, "SYNC", F_SYNC_start, F_SYNC_end);
	emit_kind(CUPTI_KIND_OVERHEAD, "OVERHEAD", F_OVERHEAD_start, F_OVERHEAD_end);
	emit_kind(CUPTI_KIND_JIT, "JIT", F_JIT_start, F_JIT_end);
	emit_kind(CUPTI_KIND_GRAPH_TRACE, "GRAPH", F_GRAPH_start, F_GRAPH_end);
	emit_kind(CUPTI_KIND_CUDA_EVENT, "EVENT", 0, F_EVENT_timestamp);
	emit_kind(CUPTI_KIND_MEMORY2, "MEMORY", 0, F_MEMORY_time);
	emit_kind(CUPTI_KIND_MEMORY_POOL, "POOL", 0, F_POOL_time);
	emit_kind(CUPTI_KIND_UNIFIED_MEMORY_COUNTER, "UM", F_UM_start, F_UM_end);
	emit_kind(CUPTI_KIND_DEVICE, "DEVICE", 0, 0);
	emit_kind(CUPTI_KIND_CONTEXT, "CONTEXT", 0, 0);
	emit_kind(CUPTI_KIND_STREAM, "STREAM", 0, 0);
	if (version >= 130200)
		emit_kind(CUPTI_KIND_GREEN_CONTEXT, "GREEN", 0, 0);
}

/* The stand-in counts on the same clock, so times agree to what two readings of it are apart. */
static void near(uint64_t got, uint64_t expected)
{
	CHECK(got + 1000000 > expected && got < expected + 1000000);
}
#define TIMES(r) (near((r)->start, begun - 2000), near((r)->end, begun - 1000))

static void check_api(void)
{
	const struct told *t = only(SL_GPU_REC_API);
	const struct sl_gpu_api *r = &t->api;

	TIMES(r);
	WANT(r->correlation, API_correlation);
	WANT(r->thread, API_thread);
	WANT(r->result, API_result);
	CHECK(!strcmp(text_of(t, r->name), "cudaLaunchKernel_v7000"));
	CHECK_EQUAL(r->is_driver, 0);
}

static void check_kernel(void)
{
	const struct told *t = only(SL_GPU_REC_KERNEL);
	const struct sl_gpu_kernel *r = &t->kernel;

	TIMES(r);
	WANT(r->grid_id, KERNEL_grid_id);
	WANT(r->graph_node, KERNEL_graph_node);
	CHECK_EQUAL(r->local_total,
		    put(version < 18 ? F_KERNEL_local_total : F_KERNEL_local_total_v2));
	WANT(r->device, KERNEL_device);
	WANT(r->context, KERNEL_context);
	WANT(r->stream, KERNEL_stream);
	WANT(r->correlation, KERNEL_correlation);
	WANT(r->graph, KERNEL_graph);
	WANT(r->grid[0], KERNEL_gridx);
	WANT(r->grid[1], KERNEL_gridy);
	WANT(r->grid[2], KERNEL_gridz);
	WANT(r->block[0], KERNEL_blockx);
	WANT(r->block[1], KERNEL_blocky);
	WANT(r->block[2], KERNEL_blockz);
	WANT(r->static_shared, KERNEL_static_shared);
	WANT(r->dynamic_shared, KERNEL_dynamic_shared);
	WANT(r->shared_executed, KERNEL_shared_executed);
	WANT(r->local_per_thread, KERNEL_local_per_thread);
	WANT(r->registers, KERNEL_registers);
	CHECK_EQUAL(r->cache_config, put(F_KERNEL_cache_config) >> 4);
	WANT(r->shared_limit, KERNEL_shared_limit);
	WANT(r->launch_type, KERNEL_launch_type);
	WANT(r->cluster_policy, KERNEL_cluster_policy);
	WANT(r->cluster[0], KERNEL_clusterx);
	WANT(r->cluster[1], KERNEL_clustery);
	WANT(r->cluster[2], KERNEL_clusterz);
	WANT(r->max_cluster, KERNEL_max_cluster);
	WANT(r->max_active_clusters, KERNEL_max_active);
	CHECK(!strcmp(text_of(t, r->name), kernel_name));
}

static void check_copy(void)
{
	CHECK_EQUAL(count(SL_GPU_REC_MEMCPY), 2);
	for (size_t i = 0; i < told_cnt; i++) {
		const struct sl_gpu_memcpy *r = &told[i].copy;

		if (told[i].kind != SL_GPU_REC_MEMCPY)
			continue;
		TIMES(r);
		if (r->is_peer) {
			WANT(r->kind, PEER_kind);
			WANT(r->src_kind, PEER_src_kind);
			WANT(r->dst_kind, PEER_dst_kind);
			WANT(r->bytes, PEER_bytes);
			WANT(r->device, PEER_device);
			WANT(r->context, PEER_context);
			WANT(r->stream, PEER_stream);
			WANT(r->correlation, PEER_correlation);
			WANT(r->src_device, PEER_src_device);
			WANT(r->src_context, PEER_src_context);
			WANT(r->dst_device, PEER_dst_device);
			WANT(r->dst_context, PEER_dst_context);
			WANT(r->graph_node, PEER_graph_node);
			WANT(r->graph, PEER_graph);
			CHECK_EQUAL(r->copies, 1);
			continue;
		}
		WANT(r->kind, MEMCPY_kind);
		WANT(r->src_kind, MEMCPY_src_kind);
		WANT(r->dst_kind, MEMCPY_dst_kind);
		WANT(r->bytes, MEMCPY_bytes);
		WANT(r->device, MEMCPY_device);
		WANT(r->context, MEMCPY_context);
		WANT(r->stream, MEMCPY_stream);
		WANT(r->correlation, MEMCPY_correlation);
		WANT(r->graph_node, MEMCPY_graph_node);
		WANT(r->graph, MEMCPY_graph);
		CHECK_EQUAL(r->src_device, SL_GPU_NONE);
		CHECK_EQUAL(r->dst_context, SL_GPU_NONE);
		CHECK_EQUAL(r->copies, version < 26 ? 1 : (uint32_t)put(F_MEMCPY_copies));
	}
}

static void check_set(void)
{
	const struct sl_gpu_memset *r = &only(SL_GPU_REC_MEMSET)->set;

	TIMES(r);
	WANT(r->bytes, MEMSET_bytes);
	WANT(r->graph_node, MEMSET_graph_node);
	WANT(r->device, MEMSET_device);
	WANT(r->context, MEMSET_context);
	WANT(r->stream, MEMSET_stream);
	WANT(r->correlation, MEMSET_correlation);
	WANT(r->value, MEMSET_value);
	WANT(r->memory_kind, MEMSET_memory_kind);
	WANT(r->graph, MEMSET_graph);
}

static void check_waiting(void)
{
	const struct sl_gpu_sync *s = &only(SL_GPU_REC_SYNC)->sync;
	const struct sl_gpu_event *e = &only(SL_GPU_REC_EVENT)->event;
	const struct sl_gpu_overhead *o = &only(SL_GPU_REC_OVERHEAD)->overhead;

	TIMES(s);
	WANT(s->context, SYNC_context);
	WANT(s->stream, SYNC_stream);
	WANT(s->correlation, SYNC_correlation);
	WANT(s->type, SYNC_type);
	WANT(s->event, SYNC_event);
	WANT(s->event_sync, SYNC_event_sync);
	CHECK_EQUAL(s->device, SL_GPU_NONE);
	WANT(e->context, EVENT_context);
	WANT(e->stream, EVENT_stream);
	WANT(e->correlation, EVENT_correlation);
	WANT(e->event, EVENT_event);
	WANT(e->event_sync, EVENT_event_sync);
	CHECK_EQUAL(e->device, version < 26 ? SL_GPU_NONE : (uint32_t)put(F_EVENT_device));
	if (version < 26)
		CHECK_EQUAL(e->timestamp, 0);
	else
		near(e->timestamp, begun - 1000);
	TIMES(o);
	WANT(o->kind, OVERHEAD_kind);
	CHECK_EQUAL(o->thread, version < 22 ? 0 : (uint32_t)put(F_OVERHEAD_thread));
	WANT(o->correlation, OVERHEAD_correlation);
}

static void check_graph_and_jit(void)
{
	const struct sl_gpu_graph *g = &only(SL_GPU_REC_GRAPH)->graph;
	const struct told *t = only(SL_GPU_REC_JIT);
	const struct sl_gpu_jit *j = &t->jit;

	TIMES(g);
	WANT(g->device, GRAPH_device);
	WANT(g->context, GRAPH_context);
	WANT(g->stream, GRAPH_stream);
	WANT(g->correlation, GRAPH_correlation);
	WANT(g->graph, GRAPH_graph);
	TIMES(j);
	WANT(j->cache_bytes, JIT_cache_bytes);
	WANT(j->entry, JIT_entry);
	WANT(j->operation, JIT_operation);
	WANT(j->device, JIT_device);
	WANT(j->correlation, JIT_correlation);
	WANT(j->operation_correlation, JIT_operation_correlation);
	WANT(j->thread, JIT_thread);
	CHECK(!strcmp(text_of(t, j->cache_path), cache_path));
}

static void check_memory(void)
{
	const struct told *t = only(SL_GPU_REC_MEMORY);
	const struct sl_gpu_memory *m = &t->memory;
	const struct sl_gpu_pool *p = &only(SL_GPU_REC_POOL)->pool;
	const struct sl_gpu_um *u = &only(SL_GPU_REC_UM)->um;

	near(m->time, begun - 1000);
	WANT(m->address, MEMORY_address);
	WANT(m->bytes, MEMORY_bytes);
	WANT(m->pc, MEMORY_pc);
	WANT(m->pool_address, MEMORY_pool_address);
	WANT(m->pool_threshold, MEMORY_pool_threshold);
	WANT(m->pool_size, MEMORY_pool_size);
	WANT(m->pool_used, MEMORY_pool_used);
	WANT(m->device, MEMORY_device);
	WANT(m->context, MEMORY_context);
	WANT(m->stream, MEMORY_stream);
	WANT(m->correlation, MEMORY_correlation);
	WANT(m->operation, MEMORY_operation);
	WANT(m->kind, MEMORY_kind);
	WANT(m->is_async, MEMORY_is_async);
	WANT(m->pool_type, MEMORY_pool_type);
	CHECK_EQUAL(m->process, 0);
	CHECK(!strcmp(text_of(t, m->name), memory_name));
	near(p->time, begun - 1000);
	WANT(p->address, POOL_address);
	WANT(p->min_bytes_to_keep, POOL_min_bytes);
	WANT(p->size, POOL_size);
	WANT(p->used, POOL_used);
	WANT(p->threshold, POOL_threshold);
	WANT(p->device, POOL_device);
	WANT(p->process, POOL_process);
	WANT(p->correlation, POOL_correlation);
	WANT(p->operation, POOL_operation);
	WANT(p->type, POOL_type);
	TIMES(u);
	WANT(u->address, UM_address);
	WANT(u->value, UM_value);
	WANT(u->kind, UM_kind);
	WANT(u->src, UM_src);
	WANT(u->dst, UM_dst);
	WANT(u->stream, UM_stream);
	WANT(u->process, UM_process);
	WANT(u->flags, UM_flags);
}

/* From CUDA 13.2 on they have records of their own. */
static void check_green(void)
{
	const struct sl_gpu_context *c = NULL;

	CHECK_EQUAL(count(SL_GPU_REC_CONTEXT), version >= 130200 ? 2 : 1);
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_CONTEXT &&
		    told[i].context.id == (uint32_t)put(F_GREEN_id))
			c = &told[i].context;
	CHECK(!c == (version < 130200));
	if (!c)
		return;
	CHECK_EQUAL(c->is_green, 1);
	WANT(c->parent, GREEN_parent);
	WANT(c->device, GREEN_device);
}

static const struct sl_gpu_context *usual_context(void)
{
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_CONTEXT &&
		    told[i].context.id == (uint32_t)put(F_CONTEXT_id))
			return &told[i].context;
	return &only(SL_GPU_REC_CONTEXT)->context;
}

static void check_things(void)
{
	const struct sl_gpu_context *c = usual_context();
	const struct sl_gpu_stream *s = &only(SL_GPU_REC_STREAM)->stream;
	const struct told *t = NULL;
	const struct sl_gpu_device *d;

	CHECK_EQUAL(count(SL_GPU_REC_DEVICE), 2); /* the stand-in's own, and this one */
	for (size_t i = 0; i < told_cnt; i++)
		if (told[i].kind == SL_GPU_REC_DEVICE && told[i].device.id == 3)
			t = &told[i];
	CHECK(t);
	d = &t->device;
	WANT(d->memory_bytes, DEVICE_memory);
	WANT(d->memory_bandwidth, DEVICE_bandwidth);
	WANT(d->l2_bytes, DEVICE_l2);
	CHECK(!memcmp(d->uuid, uuid, 16));
	CHECK(!strcmp(text_of(t, d->name), device_name));
	WANT(d->major, DEVICE_major);
	WANT(d->minor, DEVICE_minor);
	WANT(d->sm_cnt, DEVICE_sm_cnt);
	WANT(d->core_clock_khz, DEVICE_core_clock);
	WANT(d->warp_size, DEVICE_warp_size);
	WANT(d->max_threads_per_block, DEVICE_max_threads_per_block);
	WANT(d->max_blocks_per_sm, DEVICE_max_blocks_per_sm);
	WANT(d->max_warps_per_sm, DEVICE_max_warps_per_sm);
	WANT(d->max_registers_per_block, DEVICE_max_registers_per_block);
	WANT(d->max_shared_per_block, DEVICE_max_shared_per_block);
	WANT(d->const_bytes, DEVICE_const_bytes);
	WANT(d->ecc, DEVICE_ecc);
	WANT(d->copy_engines, DEVICE_copy_engines);
	CHECK_EQUAL(d->pci_bus, SL_GPU_NONE);
	WANT(c->id, CONTEXT_id);
	WANT(c->device, CONTEXT_device);
	WANT(c->null_stream, CONTEXT_null_stream);
	WANT(c->compute_api, CONTEXT_compute_api);
	WANT(c->is_green, CONTEXT_is_green);
	WANT(c->parent, CONTEXT_parent);
	WANT(s->context, STREAM_context);
	WANT(s->id, STREAM_id);
	WANT(s->priority, STREAM_priority);
	WANT(s->flag, STREAM_flag);
}

static void check_version(void)
{
	const struct told *t;
	char text[16];

	snprintf(text, sizeof(text), "%u", version);
	setenv("STANDIN_CUPTI_VERSION", text, 1);
	CHECK_EQUAL(start("so.13", ALL_FLAGS), 0);
	t = status(SL_GPU_STATUS_ON);
	CHECK_EQUAL(t->status.version, version);
	/* Unified memory is enabled by the first flush. */
	cuda.flush(false);
	emit_all();
	cuda.flush(true);
	check_api();
	check_kernel();
	check_copy();
	check_set();
	check_waiting();
	check_graph_and_jit();
	check_memory();
	check_things();
	check_green();
	/* A warning of whole graphs. */
	CHECK_EQUAL(problems(), version < 24);
}

static void at_version(uint32_t v)
{
	version = v;
	apart(check_version);
}

static void every_field_of_11_8(void **state)
{
	(void)state;
	at_version(18);
}

static void every_field_of_12_2(void **state)
{
	(void)state;
	at_version(20);
}

static void every_field_of_12_4(void **state)
{
	(void)state;
	at_version(22);
}

static void every_field_of_12_8(void **state)
{
	(void)state;
	at_version(26);
}

static void every_field_of_13_0(void **state)
{
	(void)state;
	at_version(130001);
}

static void every_field_of_13_5(void **state)
{
	(void)state;
	at_version(130500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_11_8), cmocka_unit_test(every_field_of_12_2),
		cmocka_unit_test(every_field_of_12_4), cmocka_unit_test(every_field_of_12_8),
		cmocka_unit_test(every_field_of_13_0), cmocka_unit_test(every_field_of_13_5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
