/*
 * gpu.c - calls into GPU libraries and the GPU's work: from records to rows, each call once, each kernel with its
 * launch, whoever told of them and in whatever order.
 */
#include "db_test.h"

#include "ring_test.h"

#include "gpu_test.h"

#include "collector/embed.h"

enum {
	NAME_LAUNCH = 1,
	NAME_CU_LAUNCH,
	NAME_MALLOC,
	NAME_KERNEL,
	NAME_CTX_SYNC,
	NAME_SYNC,
};
static const char kernel_symbol[] = "_ZN3lib12_GLOBAL__N_14axpyIfLi4EEEvT_PKS2_PS2_i";

static void tell_names(struct gpu_fixture *f)
{
	gpu_string(&f->r, f->cupti, NAME_LAUNCH, "cudaLaunchKernel_v7000");
	gpu_string(&f->r, f->cupti, NAME_CU_LAUNCH, "cuLaunchKernel");
	gpu_string(&f->r, f->cupti, NAME_MALLOC, "cudaMalloc_v3020");
	gpu_string(&f->r, f->cupti, NAME_KERNEL, kernel_symbol);
	gpu_string(&f->r, f->cupti, NAME_CTX_SYNC, "cuCtxSynchronize");
	gpu_string(&f->r, f->cupti, NAME_SYNC, "cudaDeviceSynchronize_v3020");
}

/* Rows of RUNTIME in the order of their start, times in us after t0: "name start-end class result,...". */
static const char *calls(void)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(t, ', ') FROM (SELECT value || ' ' || ((start - %lld) / "
		 "1000) || '-' || "
		 "((end - %lld) / 1000) || ' ' || eventClass || ' ' || returnValue AS t FROM "
		 "CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId ORDER BY start)",
		 (long long)t0 - 5000, (long long)t0 - 5000);
	return ask(sql);
}

/* "rows of the GPU / of those, how many have exactly one call". */
static const char *joined(void)
{
	return ask(
		"SELECT count(*) || '/' || sum((SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
		"WHERE "
		"r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24) = 1) "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL k");
}

static void without_cupti_the_hooks_word_is_enough(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaMalloc, 4000, 5000, 0, 2, 0, 1 << 30);
	API(&f.r, f.program, cuLaunchKernel, 6000, 9000, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	gpu_tick(&f);
	assert_string_equal(calls(),
			    "cudaMalloc 1-3 0 0, cudaMalloc 4-5 0 2, cuLaunchKernel 6-9 1 0");
	assert_string_equal(
		ask("SELECT count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "3");
	assert_string_equal(
		ask("SELECT group_concat(t, ' ') FROM (SELECT e.name || '=' || a.value AS t FROM "
		    "SL_GPU_ARGUMENTS a JOIN ENUM_SL_GPU_ROLE e ON e.id = role JOIN "
		    "CUPTI_ACTIVITY_KIND_RUNTIME r ON correlationId = callId ORDER BY start, "
		    "position)"),
		"addr=28672 bytes=4096 bytes=1073741824 kernel=15 gridx=1 gridy=2 gridz=3 blockx=4 "
		"blocky=5 blockz=6 shared=7 stream=8");
	assert_string_equal(
		ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "
		    "globalTid & 0xffffff <> (SELECT globalTid & 0xffffff FROM ThreadNames "
		    "ORDER BY rowid LIMIT 1)"),
		"0");
	/* And from now on at once: a call that has nobody around it need not wait for a look. */
	API(&f.r, f.program, cudaDeviceSynchronize, 10000, 11000, 0, 0, );
	side_drain(&f.s);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "4");
	gpu_end(&f);
}

/* The runtime is hooked, and CUPTI tells of it and of the driver calls inside. */
static void a_shared_runtime_is_told_by_both(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 1200, 2900, 10, NAME_MALLOC, false);
	gpu_tick(&f);
	assert_string_equal(calls(), "error: no such table: CUPTI_ACTIVITY_KIND_RUNTIME");
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaMalloc_v3020 1-3 0 0, cudaLaunchKernel_v7000 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	assert_string_equal(
		ask("SELECT group_concat(correlationId) FROM (SELECT correlationId FROM "
		    "CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start)"),
		"10,11"); /* CUPTI's own */
	assert_string_equal(ask("SELECT count(*) FROM SL_GPU_ARGUMENTS WHERE callId = 11"), "9");
	assert_string_equal(ask("SELECT d.value || '|' || s.value || '|' || m.value FROM "
				"CUPTI_ACTIVITY_KIND_KERNEL JOIN "
				"StringIds d ON d.id = demangledName JOIN StringIds s ON s.id = "
				"shortName JOIN StringIds m "
				"ON m.id = mangledName"),
			    "void lib::(anonymous namespace)::axpy<float, 4>(float, float const*, "
			    "float*, int)|axpy|"
			    "_ZN3lib12_GLOBAL__N_14axpyIfLi4EEEvT_PKS2_PS2_i");
	assert_string_equal(
		ask("SELECT launchType || ' ' || gridX || ' ' || blockX || ' ' || streamId || ' ' "
		    "|| "
		    "coalesce(graphNodeId, '-') || ' ' || tensorSizeMinusOneElements FROM "
		    "CUPTI_ACTIVITY_KIND_KERNEL"),
		"1 4 128 7 - []");
	gpu_end(&f);
}

/* The runtime is part of the program: hooks see the driver calls that it makes, CUPTI sees both. */
static void a_static_runtime_is_told_by_cupti(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cuLaunchKernel, 10800, 13200, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	API(&f.r, f.program, cuCtxSynchronize, 20300, 29700, 0, 0, );
	/* One that the program makes itself, and one that CUPTI does not tell of. */
	API(&f.r, f.program, cuLaunchKernel, 40000, 43000, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	API(&f.r, f.program, cuCtxSynchronize, 50000, 53000, 0, 719, );
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	gpu_kernel(&f.r, f.cupti, 44000, 45000, 15, NAME_KERNEL);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	gpu_api(&f.r, f.cupti, 20000, 30000, 13, NAME_SYNC, false);
	gpu_api(&f.r, f.cupti, 40100, 42900, 15, NAME_CU_LAUNCH, true);
	gpu_tell(&f);
	assert_string_equal(
		calls(), "cudaLaunchKernel_v7000 10-13 0 0, cudaDeviceSynchronize_v3020 20-30 0 0, "
			 "cuLaunchKernel 40-43 1 0, cuCtxSynchronize 50-53 1 719");
	assert_string_equal(joined(), "2/2");
	gpu_end(&f);
}

/* What a library calls has rows of its own, but not in the library's family. */
static void libraries_are_around_what_they_call(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 4000, 5000, 2, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	API(&f.r, f.program, cublasLtMatmul, 3000, 6000, 1, 0, 1, 2, 3, 4);
	API(&f.r, f.program, cublasSgemm_v2, 2000, 7000, 0, 0, 1, 0, 1, 64, 32, 16);
	API(&f.r, f.program, cublasSgemm_v2, 11000, 12000, 1, 0, 1, 0, 1, 64, 32, 16);
	API(&f.r, f.program, cudnnConvolutionForward, 10000, 13000, 0, 3, 1, 2, 3);
	API(&f.r, f.program, cufftExecC2C, 21000, 22000, 1, 0, 1, 2, 3, 0xffffffff);
	API(&f.r, f.program, ncclAllReduce, 20000, 23000, 0, 1, 1, 2, 1000, 7, 0, 9, 5);
	gpu_api(&f.r, f.cupti, 4100, 4900, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 5000, 6000, 11, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 4-5 0 0");
	assert_string_equal(joined(), "1/1");
	assert_string_equal(
		ask("SELECT group_concat(value || ' ' || eventClass || ' ' || (end - start), ', ') "
		    "FROM "
		    "(SELECT * FROM CUBLAS_EVENTS JOIN StringIds ON id = nameId ORDER BY start)"),
		"cublasSgemm_v2 29 5000, cublasSgemm_v2 29 1000");
	assert_string_equal(ask("SELECT value || ' ' || eventClass || ' ' || returnValue FROM "
				"CUDNN_EVENTS JOIN "
				"StringIds ON id = nameId"),
			    "cudnnConvolutionForward 28 3");
	assert_string_equal(ask("SELECT group_concat(t, ', ') FROM (SELECT l.value || '.' || "
				"n.value || ' ' || returnValue || "
				"' ' || nestingLevel AS t FROM SL_LIBRARY_API JOIN StringIds l ON "
				"l.id = library JOIN "
				"StringIds n ON n.id = nameId ORDER BY start)"),
			    "nccl.ncclAllReduce 1 0, cufft.cufftExecC2C 0 1");
	assert_string_equal(ask("SELECT group_concat(t, ' ') FROM (SELECT e.name || '=' || value "
				"AS t FROM SL_GPU_ARGUMENTS JOIN "
				"ENUM_SL_GPU_ROLE e ON e.id = role JOIN CUBLAS_EVENTS USING "
				"(callId) WHERE start = "
				"(SELECT min(start) FROM CUBLAS_EVENTS) ORDER BY position)"),
			    "context=1 op=0 op=1 m=64 n=32 k=16");
	/* One number space for all calls. */
	assert_string_equal(
		ask("SELECT count(*) - count(DISTINCT id) FROM (SELECT correlationId AS id FROM "
		    "CUPTI_ACTIVITY_KIND_RUNTIME UNION ALL SELECT callId FROM CUBLAS_EVENTS UNION "
		    "ALL "
		    "SELECT callId FROM CUDNN_EVENTS UNION ALL SELECT callId FROM SL_LIBRARY_API)"),
		"0");
	gpu_end(&f);
}

/* Names may lie in a ring that is read later; nothing is written before they are known. */
static void texts_that_come_late_are_waited_for(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'CUPTI%'"),
			    "0");
	tell_names(&f);
	gpu_flushed(&f.r, f.cupti, FAR_NS + 1);
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-13 0 0");
	assert_string_equal(joined(), "1/1");
	assert_string_equal(ask("SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id "
				"= shortName"),
			    "axpy");
	gpu_end(&f);
}

/* A kernel of which no call is known keeps CUPTI's id; one that belongs to nobody has none. */
static void work_without_a_call_is_written(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	tell_names(&f);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 77, NAME_KERNEL);
	gpu_kernel(&f.r, f.cupti, 26000, 27000, 0, NAME_KERNEL);
	gpu_tell(&f);
	assert_string_equal(
		ask("SELECT group_concat(coalesce(correlationId, '-')) FROM (SELECT * FROM "
		    "CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start)"),
		"77,-");
	gpu_end(&f);
}

/* Two processes, whose CUPTIs both count from 1. */
static void ids_are_unique_in_the_report(void **state)
{
	struct gpu_fixture f;
	struct ring r = ring_new();
	uint32_t program = ring_thread(&r, 1, (uint32_t)getppid(), (uint32_t)getppid());

	(void)state;
	gpu_begin(&f);
	assert_non_null(
		arena_attach(&f.s.arenas, r.fd, 2, (uint32_t)getppid(), (uint32_t)getppid()));
	for (int i = 0; i < 2; i++) {
		struct ring *ring = i ? &r : &f.r;
		uint32_t slot = i ? program : f.cupti;

		gpu_on(ring, slot);
		gpu_string(ring, slot, 1, "cudaLaunchKernel_v7000");
		gpu_string(ring, slot, 2, "kernel");
		for (uint32_t k = 1; k <= 3; k++) {
			gpu_api(ring, slot, k * 10000, k * 10000 + 3000, k, 1, false);
			gpu_kernel(ring, slot, k * 10000 + 4000, k * 10000 + 5000, k, 2);
		}
		gpu_flushed(ring, slot, FAR_NS);
	}
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) || ' ' || count(DISTINCT correlationId) FROM "
				"CUPTI_ACTIVITY_KIND_RUNTIME"),
			    "6 6");
	assert_string_equal(joined(), "6/6");
	/* Even for those who forget the process. */
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN "
				"CUPTI_ACTIVITY_KIND_KERNEL USING (correlationId)"),
			    "6");
	gpu_end(&f);
	munmap(r.arena, SL_ARENA_BYTES);
	close(r.fd);
}

/* A call waits for CUPTI's word, for so long; what comes after that still finds it. */
static void waiting_ends(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_flushed(&f.r, f.cupti, 5000); /* too early for it */
	gpu_tick(&f);
	assert_string_equal(calls(), "error: no such table: CUPTI_ACTIVITY_KIND_RUNTIME");
	f.s.arenas.gpu.flush_ns = FAR_NS;
	usleep(300000); /* looks for what is late come four times a second */
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaLaunchKernel 10-14 0 0");
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* The process is killed before CUPTI could say its last word. */
static void a_process_that_ends_is_not_waited_for(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 11, NAME_KERNEL);
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'CUPTI%'"),
			    "0");
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(calls(), "cudaMalloc 1-3 0 0, cudaLaunchKernel_v7000 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* Many short calls in a row, and clocks that differ by more than the pause between them. */
static void calls_in_a_row_find_their_own(void **state)
{
	enum {
		CALLS = 2000,
		EVERY = 700,
		LASTS = 450,
		OFF = 300
	};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t at = 1000 + i * EVERY;

		API(&f.r, f.program, cudaLaunchKernel, at, at + LASTS, 0, 0, 0xf, 4, 2, 1, 128, 1,
		    1, i, 0);
		gpu_api(&f.r, f.cupti, at + 50 + OFF, at + LASTS - 50 + OFF, i + 1, NAME_LAUNCH,
			false);
		gpu_kernel(&f.r, f.cupti, at + 1000, at + 1200, i + 1, NAME_KERNEL);
	}
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2000");
	assert_string_equal(joined(), "2000/2000");
	/* Argument 7, the dynamic shared memory, numbers the calls. */
	assert_string_equal(ask("SELECT count(*) FROM SL_GPU_ARGUMENTS WHERE position = 7 AND "
				"callId = value + 1"),
			    "2000");
	gpu_end(&f);
}

/* CUPTI's word comes in pieces, the driver's part after the runtime's row has been written. */
static void what_is_inside_may_be_told_later(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_flushed(&f.r, f.cupti, 20000);
	gpu_tick(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-14 0 0");
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

static void losses_and_troubles_are_said(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_string(&f.r, f.cupti, 9, "another profiler has CUPTI: close it");
	RECORD(&f.r, f.cupti, SL_GPU_REC_FLUSHED,
	       (struct sl_gpu_flushed){.until = t0 + 1000, .dropped = 17});
	RECORD(&f.r, f.cupti, SL_GPU_REC_STATUS,
	       (struct sl_gpu_status){.code = SL_GPU_STATUS_TAKEN, .detail = 39, .text = 9});
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	gpu_tick(&f);
	assert_string_equal(ask("SELECT what || ' ' || count FROM SL_LOST_EVENTS"),
			    "GPU records: dropped by CUPTI, its buffers were full 17");
	assert_int_equal(f.s.arenas.gpu.dropped, 17);
	assert_string_equal(ask("SELECT severity || ' ' || text FROM DIAGNOSTIC_EVENT"),
			    "2 another profiler has CUPTI: close it (CUPTI's error 39)");
	assert_string_equal(calls(), "cudaMalloc 1-3 0 0"); /* nobody to wait for */
	gpu_end(&f);
}

static void copies_fills_and_waits(void **state)
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
	RECORD(&f.r, f.cupti, SL_GPU_REC_UM,
	       (struct sl_gpu_um){.start = t0 + 9000,
				  .end = t0 + 9500,
				  .kind = 2,
				  .address = 0x10000,
				  .value = 65536,
				  .src = 1,
				  .dst = SL_GPU_NONE,
				  .flags = 2});
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
	assert_string_equal(ask("SELECT value || ' ' || bytes || ' ' || memKind FROM "
				"CUPTI_ACTIVITY_KIND_MEMSET"),
			    "255 64 2");
	assert_string_equal(ask("SELECT label || ' ' || streamId || ' ' || eventId FROM "
				"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE ON "
				"id = syncType"),
			    "Context sync 4294967295 4294967295");
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

static void devices_graphs_and_memory(void **state)
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
	RECORD(&f.r, f.cupti, SL_GPU_REC_GRAPH,
	       (struct sl_gpu_graph){
		       .start = t0 + 1000, .end = t0 + 2000, .graph = 3, .graph_exec = 4});
	RECORD(&f.r, f.cupti, SL_GPU_REC_NODE,
	       (struct sl_gpu_node){
		       .time = t0 + 500, .node = 21, .graph = 3, .thread = (uint32_t)gettid()});
	RECORD(&f.r, f.cupti, SL_GPU_REC_NODE,
	       (struct sl_gpu_node){.time = t0 + 600, .kind = 3, .graph = 3, .graph_exec = 4});
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
	RECORD(&f.r, f.cupti, SL_GPU_REC_JIT,
	       (struct sl_gpu_jit){.start = t0 + 100, .end = t0 + 200, .entry = 1, .operation = 3});
	RECORD(&f.r, f.cupti, SL_GPU_REC_EVENT,
	       (struct sl_gpu_event){
		       .timestamp = t0 + 900, .stream = 13, .event = 2, .event_sync = 5});
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
	assert_string_equal(
		ask("SELECT eventId || ' ' || eventSyncId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT"),
		"2 5");
	gpu_end(&f);
}

static const char *report(const char *name)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, name) == 0)
			return e->text;
	fail_msg("no report %s", name);
	return NULL;
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
	assert_string_equal(ask(report("cuda_api_sum.sql")), "100.0");
	assert_string_equal(ask(report("cuda_gpu_kern_sum.sql")), "100.0");
	assert_string_equal(ask(report("cuda_gpu_mem_time_sum.sql")),
			    "error: no such table: CUPTI_ACTIVITY_KIND_MEMSET");
	RECORD(&f.r, f.cupti, SL_GPU_REC_MEMSET,
	       (struct sl_gpu_memset){.start = t0 + 6000, .end = t0 + 7000, .bytes = 64});
	gpu_tell(&f);
	assert_string_equal(ask(report("cuda_gpu_mem_time_sum.sql")), "66.7");
	assert_string_equal(ask(report("cuda_gpu_mem_size_sum.sql")), "2.0");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_cupti_the_hooks_word_is_enough),
		TEST(a_shared_runtime_is_told_by_both),
		TEST(a_static_runtime_is_told_by_cupti),
		TEST(libraries_are_around_what_they_call),
		TEST(texts_that_come_late_are_waited_for),
		TEST(work_without_a_call_is_written),
		TEST(ids_are_unique_in_the_report),
		TEST(waiting_ends),
		TEST(a_process_that_ends_is_not_waited_for),
		TEST(calls_in_a_row_find_their_own),
		TEST(what_is_inside_may_be_told_later),
		TEST(losses_and_troubles_are_said),
		TEST(copies_fills_and_waits),
		TEST(devices_graphs_and_memory),
		TEST(reports_of_nsys_run_on_it),
	};

	return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
