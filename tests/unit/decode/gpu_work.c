/* gpu_work.c - what the GPU did and what there is of it: rows in the numbers of nsys, and reports made for those. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"

#include "exporters/sql/functions.h"
#include "exporters/sql/report.h"
#include "collector/decode/gpu/gpu_internal.h"

static void copies(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMCPY,
	       (struct sl_gpu_memcpy){.start = t0 + 1000,
				      .end = t0 + 3000,
				      .bytes = 1 << 20,
				      .kind = 1,
				      .src_kind = 2,
				      .dst_kind = 3,
				      .src_device = SL_GPU_NONE,
				      .copies = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMCPY,
	       (struct sl_gpu_memcpy){.start = t0 + 4000,
				      .end = t0 + 5000,
				      .bytes = 512,
				      .kind = 10,
				      .src_kind = 0,
				      .dst_kind = 3,
				      .is_peer = 1,
				      .src_device = 1,
				      .dst_device = 2,
				      .src_context = 3,
				      .dst_context = 4,
				      .copies = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_UM,
	       (struct sl_gpu_um){.start = t0 + 9000,
				  .end = t0 + 9500,
				  .kind = 2,
				  .address = 0x10000,
				  .value = 65536,
				  .src = 1,
				  .dst = SL_GPU_NONE,
				  .flags = 2});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT group_concat(t, ', ') FROM (SELECT e.label || ' ' || bytes "
				"|| ' ' || s.label || '>' || "
				"d.label || ' ' || coalesce(srcDeviceId, '-') || "
				"coalesce(dstContextId, '-') || "
				"coalesce(migrationCause, '-') || ' ' || deviceId AS t FROM "
				"CUPTI_ACTIVITY_KIND_MEMCPY JOIN "
				"ENUM_CUDA_MEMCPY_OPER e ON e.id = copyKind JOIN "
				"ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN "
				"ENUM_CUDA_MEM_KIND d ON d.id = dstKind ORDER BY start)"),
			    "Host-to-Device 1048576 Pinned>Device --- 0, Peer-to-Peer 512 "
			    "Unknown>Device 14- 0, "
			    "Unified Device-to-Host 65536 Unknown>Unknown --2 1");
	gpu_end(&f);
}

static void fills_and_waits(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMSET,
	       (struct sl_gpu_memset){.start = t0 + 6000,
				      .end = t0 + 7000,
				      .bytes = 64,
				      .value = 255,
				      .memory_kind = 3});
	RECORD(&f.r, f.cupti, SL_GPU_REC_SYNC,
	       (struct sl_gpu_sync){.start = t0 + 7000,
				    .end = t0 + 8000,
				    .stream = SL_GPU_NONE,
				    .type = 4,
				    .event = SL_GPU_NONE});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT value || ' ' || bytes || ' ' || memKind FROM "
				"CUPTI_ACTIVITY_KIND_MEMSET"),
			    "255 64 2");
	assert_string_equal(ask("SELECT label || ' ' || streamId || ' ' || eventId FROM "
				"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE ON "
				"id = syncType"),
			    "Context sync 4294967295 4294967295");
	gpu_end(&f);
}

static void page_faults_of_unified_memory(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_UM,
	       (struct sl_gpu_um){
		       .start = t0 + 9000, .kind = 3, .address = 0x10000, .value = 0x401000});
	RECORD(&f.r, f.cupti, SL_GPU_REC_UM,
	       (struct sl_gpu_um){.start = t0 + 9000,
				  .end = t0 + 9900,
				  .kind = 4,
				  .address = 0x20000,
				  .value = 3,
				  .src = 1,
				  .flags = 1});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT originalFaultPc || ' ' || value FROM "
				"CUDA_UM_CPU_PAGE_FAULT_EVENTS JOIN "
				"StringIds ON id = CpuInstruction"),
			    "4198400 0x401000");
	assert_string_equal(ask("SELECT (end - start) || ' ' || deviceId || ' ' || "
				"numberOfPageFaults || ' ' || "
				"faultAccessType FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS"),
			    "900 1 3 1");
	gpu_end(&f);
}

static void devices_contexts_and_streams(void **state)
{
	struct gpu_fixture f;
	struct sl_gpu_device gpu = {.uuid = {0xab, 0xcd},
				    .id = 0,
				    .name = 1,
				    .sm_cnt = 132,
				    .major = 9,
				    .memory_bytes = 80ull << 30,
				    .core_clock_khz = 1980000,
				    .pci_bus = 0x1b};

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_DEVICE, gpu);
	gpu_string(&f.r, f.cupti, 1, "A GPU");
	RECORD(&f.r, f.cupti, SL_GPU_REC_CONTEXT,
	       (struct sl_gpu_context){.id = 1, .null_stream = 7});
	RECORD(&f.r, f.cupti, SL_GPU_REC_STREAM,
	       (struct sl_gpu_stream){.context = 1, .id = 13, .priority = (uint32_t)-5, .flag = 2});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT id || ' ' || name || ' ' || busLocation || ' ' || smCount "
				"|| ' ' || uuid || "
				"' ' || totalMemory || ' ' || clockRate || ' ' || computeMajor "
				"FROM TARGET_INFO_GPU"),
			    "0 A GPU 0000:1b:00.0 132 abcd0000-0000-0000-0000-000000000000 "
			    "85899345920 1980000000 9");
	assert_string_equal(
		ask("SELECT gpuId || cudaId || numMultiprocessors FROM TARGET_INFO_CUDA_DEVICE"),
		"00132");
	assert_string_equal(ask("SELECT nullStreamId || ' ' || contextId || isGreenContext FROM "
				"TARGET_INFO_CUDA_CONTEXT_INFO"),
			    "7 10");
	assert_string_equal(ask("SELECT streamId || ' ' || priority || ' ' || flag FROM "
				"TARGET_INFO_CUDA_STREAM"),
			    "13 4294967291 2");
	gpu_end(&f);
}

static void graphs_and_events(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_GRAPH,
	       (struct sl_gpu_graph){
		       .start = t0 + 1000, .end = t0 + 2000, .graph = 3, .graph_exec = 4});
	RECORD(&f.r, f.cupti, SL_GPU_REC_NODE,
	       (struct sl_gpu_node){
		       .time = t0 + 500, .node = 21, .graph = 3, .thread = (uint32_t)gettid()});
	RECORD(&f.r, f.cupti, SL_GPU_REC_NODE,
	       (struct sl_gpu_node){.time = t0 + 600, .kind = 3, .graph = 3, .graph_exec = 4});
	RECORD(&f.r, f.cupti, SL_GPU_REC_EVENT,
	       (struct sl_gpu_event){
		       .timestamp = t0 + 900, .stream = 13, .event = 2, .event_sync = 5});
	gpu_tell(&f);
	assert_string_equal(
		ask("SELECT graphId || ' ' || graphExecId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
		"3 4");
	assert_string_equal(ask("SELECT eventClass || ' ' || graphNodeId || ' ' || "
				"coalesce(originalGraphNodeId, '-') "
				"FROM CUDA_GRAPH_NODE_EVENTS"),
			    "77 21 -");
	assert_string_equal(ask("SELECT eventClass || ' ' || graphId || ' ' || graphExecId FROM "
				"CUDA_GRAPH_EVENTS"),
			    "94 3 4");
	assert_string_equal(
		ask("SELECT eventId || ' ' || eventSyncId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT"),
		"2 5");
	gpu_end(&f);
}

static void memory_and_what_cuda_spends(void **state)
{
	struct gpu_fixture f;
	char own[32];

	(void)state;
	gpu_begin(&f);
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMORY,
	       (struct sl_gpu_memory){.time = t0 + 700,
				      .address = 0x7000,
				      .bytes = 4096,
				      .operation = 1,
				      .kind = 3,
				      .is_async = 1,
				      .stream = 13,
				      .pool_type = 1,
				      .pool_address = 9,
				      .pool_size = 1 << 20});
	RECORD(&f.r, f.cupti, SL_GPU_REC_POOL,
	       (struct sl_gpu_pool){
		       .time = t0 + 650, .address = 9, .operation = 1, .type = 1, .size = 1 << 20});
	RECORD(&f.r, f.cupti, SL_GPU_REC_OVERHEAD,
	       (struct sl_gpu_overhead){.start = t0 + 100, .end = t0 + 200, .kind = 1 << 16});
	/* No id of a thread: cut from a pthread_t. */
	RECORD(&f.r, f.cupti, SL_GPU_REC_OVERHEAD,
	       (struct sl_gpu_overhead){
		       .start = t0 + 300, .end = t0 + 400, .kind = 1 << 16, .thread = 0xfc9ff640});
	RECORD(&f.r, f.cupti, SL_GPU_REC_JIT,
	       (struct sl_gpu_jit){.start = t0 + 100, .end = t0 + 200, .entry = 1, .operation = 3});
	gpu_tell(&f);
	snprintf(own, sizeof(own), "%ld", (long)GLOBAL_PID(getpid()));
	assert_string_equal(
		ask("SELECT group_concat(DISTINCT globalTid) FROM CUPTI_ACTIVITY_KIND_OVERHEAD"),
		own);
	assert_string_equal(ask("SELECT memKind || ' ' || memoryOperationType || ' ' || bytes || ' "
				"' || streamId || ' ' "
				"|| localMemoryPoolSize || ' ' || "
				"coalesce(importedMemoryPoolAddress, '-') FROM "
				"CUDA_GPU_MEMORY_USAGE_EVENTS"),
			    "2 0 4096 13 1048576 -");
	assert_string_equal(
		ask("SELECT operationType || ' ' || poolType || ' ' || localMemoryPoolSize FROM "
		    "CUDA_GPU_MEMORY_POOL_EVENTS"),
		"1 1 1048576");
	assert_string_equal(
		ask("SELECT label || ' ' || value FROM CUPTI_ACTIVITY_KIND_OVERHEAD JOIN "
		    "ENUM_CUPTI_OVERHEAD_TYPE e ON e.id = overheadType JOIN StringIds s ON s.id = "
		    "nameId"),
		"Buffer flush (Profiler) Buffer flush");
	assert_string_equal(ask("SELECT e.label || ' ' || o.label || ' ' || overheadType FROM "
				"CUPTI_ACTIVITY_KIND_JIT "
				"JOIN ENUM_CUPTI_JIT_ENTRY_TYPE e ON e.id = jitEntryType JOIN "
				"ENUM_CUPTI_JIT_OPERATION_TYPE o ON o.id = jitOperationType"),
			    "PTX to cubin Compile 2");
	gpu_end(&f);
}

/* As ask(), of a report by its name, with the SQL functions that reports call. */
static const char *ask_report(const char *name)
{
	static char answer[256];
	char why[256];
	struct report r;
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db;

	assert_int_equal(report_load(&report_kind, name, NULL, &r, why, sizeof(why)), 0);
	assert_int_equal(sqlite3_open_v2(test_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sql_functions(db, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, r.sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(answer, sizeof(answer), "%s", (const char *)sqlite3_column_text(stmt, 0));
	else
		snprintf(answer, sizeof(answer), "error: %s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	report_free(&r);
	return answer;
}

/* The reports that are made for reports of nsys. */
static void reports_of_nsys_run_on_it(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMCPY,
	       (struct sl_gpu_memcpy){
		       .start = t0 + 1000, .end = t0 + 3000, .bytes = 2000000, .kind = 1});
	gpu_tell(&f);
	assert_string_equal(ask_report("cuda_api_sum"), "100.0");
	assert_string_equal(ask_report("cuda_gpu_mem_time_sum"), "100.0");
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMSET,
	       (struct sl_gpu_memset){.start = t0 + 6000, .end = t0 + 7000, .bytes = 64});
	gpu_tell(&f);
	assert_string_equal(ask_report("cuda_gpu_mem_time_sum"), "66.7");
	assert_string_equal(ask_report("cuda_gpu_mem_size_sum"), "2.0");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

/* It was still running when CUPTI handed everything over, or the GPU kept no time: no row that lasts for ever. */
static void work_without_times_is_counted(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_string(&f.r, f.cupti, 1, "_Z3runv");
	RECORD(&f.r, f.cupti, SL_GPU_REC_KERNEL,
	       (struct sl_gpu_kernel){.start = t0 + 1000, .name = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMCPY, (struct sl_gpu_memcpy){.bytes = 8, .kind = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMSET,
	       (struct sl_gpu_memset){.start = t0 + 6000, .end = t0 + 7000, .bytes = 64});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name IN "
				"('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY')"),
			    "0");
	assert_string_equal(ask("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET"), "64");
	assert_string_equal(ask("SELECT what || ' ' || sum(count) FROM SL_LOST_EVENTS"),
			    "GPU work: CUPTI does not know when it was 2");
	assert_int_equal(f.s.arenas.gpu.lost.untimed, 2);
	gpu_end(&f);
}

static void work_that_ends_before_it_starts_is_counted(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_string(&f.r, f.cupti, 1, "_Z3runv");
	RECORD(&f.r, f.cupti, SL_GPU_REC_KERNEL,
	       (struct sl_gpu_kernel){.start = t0 + 2000, .end = t0 + 1999, .name = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_KERNEL,
	       (struct sl_gpu_kernel){.start = t0 + 2000, .end = t0 + 2000, .name = 1});
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMORY, (struct sl_gpu_memory){.bytes = 4096});
	RECORD(&f.r, f.cupti, SL_GPU_REC_FLUSHED,
	       (struct sl_gpu_flushed){.until = t0 + FAR_NS, .incomplete = 3});
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), "1");
	assert_string_equal(
		ask("SELECT group_concat(what || ' ' || count, ', ') FROM (SELECT * FROM "
		    "SL_LOST_EVENTS ORDER BY what)"),
		"GPU records: at least, in buffers that CUPTI did not complete 3, GPU work: CUPTI "
		"does not know when it was 1, GPU work: CUPTI has an end before the start for it "
		"1");
	assert_int_equal(f.s.arenas.gpu.lost.backward, 1);
	assert_int_equal(f.s.arenas.gpu.lost.untimed, 1);
	assert_int_equal(f.s.arenas.gpu.lost.incomplete, 3);
	gpu_end(&f);
}

/* CUPTI collected it before the call returned: no end, but it leads from the kernel to the hook's row. */
static void a_call_without_an_end_joins(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	RECORD(&f.r, f.cupti, SL_GPU_REC_API,
	       (struct sl_gpu_api){.start = t0 + 10200,
				   .correlation = 11,
				   .thread = (uint32_t)gettid(),
				   .name = NAME_LAUNCH});
	RECORD(&f.r, f.cupti, SL_GPU_REC_API,
	       (struct sl_gpu_api){
		       .correlation = 12, .thread = (uint32_t)gettid(), .name = NAME_LAUNCH});
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) || ' ' || sum(r.end - r.start) FROM "
				"CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
				"USING (correlationId)"),
			    "1 4000");
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "1");
	assert_int_equal(f.s.arenas.gpu.lost.untimed, 1);
	gpu_end(&f);
}

static void an_event_without_a_time(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	RECORD(&f.r, f.cupti, SL_GPU_REC_EVENT, (struct sl_gpu_event){.stream = 13, .event = 2});
	gpu_tick(&f);
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT eventId || ' ' || coalesce(timestamp, 'unknown') FROM "
				"CUPTI_ACTIVITY_KIND_CUDA_EVENT"),
			    "2 unknown");
	assert_true(f.a->family.gpu->txn.first_ns >= 0);
	gpu_end(&f);
}

static void call_on(struct gpu_fixture *f, uint64_t from, uint64_t handle)
{
	API(&f->r, f->program, cudaLaunchKernel, from, from + 900, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0,
	    handle);
}

static void work_on(struct gpu_fixture *f, uint64_t from, uint32_t correlation, uint32_t stream)
{
	RECORD(&f->r, f->cupti, SL_GPU_REC_KERNEL,
	       (struct sl_gpu_kernel){.start = t0 + from + 1000,
				      .end = t0 + from + 2000,
				      .correlation = correlation,
				      .name = NAME_KERNEL,
				      .context = 1,
				      .stream = stream});
}

static void launch_on(struct gpu_fixture *f, uint64_t from, uint64_t handle, uint32_t correlation,
		      uint32_t stream)
{
	call_on(f, from, handle);
	gpu_api(&f->r, f->cupti, from + 100, from + 800, correlation, NAME_LAUNCH, false);
	work_on(f, from, correlation, stream);
}

static const char *stream_names(void)
{
	return ask("SELECT group_concat(t, ', ') FROM (SELECT name || ' ' || deviceId || contextId "
		   "|| ' ' || streamId AS t FROM TARGET_INFO_NVTX_CUDA_STREAM ORDER BY streamId)");
}

/* A name is for the stream that has the handle then: not for one before, nor for one after the next name. */
static void names_of_streams_whose_handle_comes_again(void **state)
{
	struct gpu_fixture f;
	int64_t zero;

	(void)state;
	gpu_begin(&f);
	zero = (int64_t)t0 - gpu_session_ns(&f.s.arenas, t0);
	gpu_stream_named(f.a, 1, 0x50, 0, "before CUDA");
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	gpu_tick(&f);
	gpu_stream_named(f.a, 1, 0x50, (int64_t)t0 + 115000 - zero, "first");
	gpu_stream_named(f.a, 2, 0x50, (int64_t)t0 + 15000 - zero,
			 "of a process that is not there");
	gpu_stream_named(f.a, 1, 0x52, (int64_t)t0 + 1000 - zero, "without work");
	/* There and back: a report that begins moves times. */
	gpu_stream_named(f.a, 1, 0x53, (int64_t)t0 + 100000 - zero, "before the report");
	gpu_shift(f.a, 100000);
	gpu_stream_named(f.a, 1, 0x50, (int64_t)t0 + 30000 - zero, "second");
	gpu_stream_named(f.a, 1, 0x51, (int64_t)t0 + 1000 - zero, "other");
	launch_on(&f, 34000, 0x53, 10, 16);
	launch_on(&f, 10000, 0x50, 11, 12);
	launch_on(&f, 20000, 0x50, 12, 13);
	launch_on(&f, 31000, 0x51, 13, 15);
	for (unsigned i = 0; i < 300; i++)
		launch_on(&f, 40000 + 3000 * i, 0x50, 14 + i, 14);
	gpu_tell(&f);
	assert_string_equal(stream_names(),
			    "first 01 13, second 01 14, other 01 15, before the report 01 16");
	gpu_end(&f);
}

static void die_and_attach(struct gpu_fixture *f)
{
	side_die(&f->s);
	side_open(&f->s, true);
	f->a = side_attach(&f->s, &f->r, true);
}

/* The collector is killed, twice, where of a name nothing more is known, a call waits, or has its row, or a name, too. */
static void names_of_streams_outlive_the_collector(void **state)
{
	struct gpu_fixture f;
	int64_t zero;

	(void)state;
	gpu_begin(&f);
	zero = (int64_t)t0 - gpu_session_ns(&f.s.arenas, t0);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	gpu_tick(&f);
	gpu_stream_named(f.a, 1, 0x50, (int64_t)t0 + 1000 - zero, "under this nothing was done");
	gpu_stream_named(f.a, 1, 0x50, (int64_t)t0 + 5000 - zero, "found");
	gpu_stream_named(f.a, 1, 0x51, (int64_t)t0 + 5000 - zero, "call written");
	gpu_stream_named(f.a, 1, 0x52, (int64_t)t0 + 5000 - zero, "call waits");
	gpu_stream_named(f.a, 1, 0x53, (int64_t)t0 + 5000 - zero, "called later");
	launch_on(&f, 10000, 0x50, 11, 21);
	call_on(&f, 20000, 0x51);
	gpu_api(&f.r, f.cupti, 20100, 20800, 12, NAME_LAUNCH, false);
	gpu_flushed(&f.r, f.cupti, 30000 + 270000000);
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2");
	call_on(&f, 300000000, 0x52);
	gpu_tick(&f);
	die_and_attach(&f);
	gpu_tick(&f);
	die_and_attach(&f);
	work_on(&f, 20000, 12, 22);
	gpu_api(&f.r, f.cupti, 300000100, 300000800, 13, NAME_LAUNCH, false);
	work_on(&f, 300000000, 13, 23);
	launch_on(&f, 300100000, 0x53, 14, 24);
	launch_on(&f, 300200000, 0x50, 15, 25); /* has its row */
	gpu_tell(&f);
	assert_string_equal(stream_names(), "found 01 21, call written 01 22, call waits 01 23, "
					    "called later 01 24");
	gpu_end(&f);
}

/* SL_STATE may be damaged: what is whole is taken. */
static void damaged_names_of_streams_do_no_harm(void **state)
{
	struct gpu_fixture f;
	uint8_t *blob, *bad;
	size_t len;
	int64_t zero;

	(void)state;
	gpu_begin(&f);
	zero = (int64_t)t0 - gpu_session_ns(&f.s.arenas, t0);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	gpu_tick(&f);
	gpu_stream_named(f.a, 1, 0x50, (int64_t)t0 + 5000 - zero, "one");
	gpu_stream_named(f.a, 1, 0x51, (int64_t)t0 + 5000 - zero, "another, which is longer");
	call_on(&f, 20000, 0x51);
	gpu_api(&f.r, f.cupti, 20100, 20800, 12, NAME_LAUNCH, false);
	gpu_flushed(&f.r, f.cupti, 30000 + 270000000);
	gpu_tick(&f);
	assert_int_equal(db_state_get(f.s.db, "gpu.1.streams", (void **)&blob, &len), 0);
	for (size_t i = 0; i <= 2 * len; i++) {
		size_t is = i <= len ? i : len;

		bad = malloc(is + 1);
		memcpy(bad, blob, is);
		if (i > len)
			bad[i - len - 1] ^= 0xff;
		assert_int_equal(db_state_set(f.s.db, "gpu.1.streams", bad, is), 0);
		free(bad);
		assert_int_equal(db_commit(f.s.db, 1), 0);
		die_and_attach(&f);
	}
	gpu_tell(&f);
	free(blob);
	gpu_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copies),
		TEST(fills_and_waits),
		TEST(page_faults_of_unified_memory),
		TEST(devices_contexts_and_streams),
		TEST(graphs_and_events),
		TEST(memory_and_what_cuda_spends),
		TEST(work_without_times_is_counted),
		TEST(work_that_ends_before_it_starts_is_counted),
		TEST(a_call_without_an_end_joins),
		TEST(an_event_without_a_time),
		TEST(reports_of_nsys_run_on_it),
		TEST(names_of_streams_whose_handle_comes_again),
		TEST(names_of_streams_outlive_the_collector),
		TEST(damaged_names_of_streams_do_no_harm),
	};

	return cmocka_run_group_tests_name("gpu_work", tests, NULL, NULL);
}
