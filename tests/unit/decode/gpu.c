/*
 * gpu.c - calls into GPU libraries and the GPU's work: from records to rows, each call once, each kernel with its
 * launch, whether the hook, CUPTI or both reported it and in whatever order.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"

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
	/* And from now on at once: a call that lies in no other call is not pending. */
	API(&f.r, f.program, cudaDeviceSynchronize, 10000, 11000, 0, 0, );
	side_drain(&f.s);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "4");
	gpu_end(&f);
}

/* The runtime is hooked, and CUPTI reports it and the driver calls inside. */
static void a_shared_runtime_is_reported_by_both(void **state)
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
static void a_static_runtime_is_reported_by_cupti(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cuLaunchKernel, 10800, 13200, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	API(&f.r, f.program, cuCtxSynchronize, 20300, 29700, 0, 0, );
	/* One that the program makes itself, and one that CUPTI does not report. */
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

/*
 * The runtime call in which CUPTI was switched on is never reported; what it calls shares its correlation id. And
 * functions that ask for errors and versions have no row, from either source.
 */
static void unreported_calls_are_not_made_up(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	gpu_string(&f.r, f.cupti, 20, "cudaGetLastError_v3020");
	gpu_string(&f.r, f.cupti, 21, "cudaSomethingNew_v14000");
	API(&f.r, f.program, cuMemAlloc_v2, 1000, 2000, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cuLaunchKernel, 3000, 4000, 0, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8);
	gpu_string(&f.r, f.cupti, 22, "cuMemAlloc_v2");
	gpu_api(&f.r, f.cupti, 1100, 1900, 2, 22, true);
	gpu_api(&f.r, f.cupti, 3100, 3900, 2, NAME_CU_LAUNCH, true);
	gpu_api(&f.r, f.cupti, 5000, 5900, 3, 20, false);
	gpu_api(&f.r, f.cupti, 5100, 5200, 4, NAME_CTX_SYNC, true); /* inside of that */
	gpu_api(&f.r, f.cupti, 6000, 6900, 5, 21, false);
	gpu_tell(&f);
	assert_string_equal(calls(), "cuMemAlloc_v2 1-2 1 0, cuLaunchKernel 3-4 1 0, "
				     "cudaSomethingNew_v14000 6-6 0 0");
	assert_string_equal(
		ask("SELECT count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "3");
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

/* However often and in whatever window a communicator is announced, it has one row; a call has its number on it. */
static void communicators_are_as_the_shim_announces_them(void **state)
{
	struct gpu_fixture f;
	struct sl_gpu_comm world = {
		.made = 0, .handle = 0xa0, .hash = 77, .flags = 5, .ranks = 8, .rank = 3};
	struct sl_gpu_comm part = {
		.handle = 0xa8, .hash = 78, .parent = 77, .flags = 3, .name = "tp"};
	struct sl_gpu_comm other = {.handle = 0xb0};

	(void)state;
	gpu_begin(&f);
	world.made = t0 + 1000;
	part.made = t0 + 2000;
	other.made = t0 + 3000;
	for (int i = 0; i < 2; i++) {
		RECORD(&f.r, f.program, SL_GPU_REC_COMM, world);
		RECORD(&f.r, f.program, SL_GPU_REC_COMM, part);
		RECORD(&f.r, f.program, SL_GPU_REC_COMM, other);
	}
	/* src dst count type op comm stream, number */
	API(&f.r, f.program, ncclAllReduce, 5000, 6000, 0, 0, 1, 2, 3, 7, 0, 0xa0, 0, 41);
	API(&f.r, f.program, ncclAllReduce, 7000, 8000, 0, 0, 1, 2, 3, 7, 0, 0xb0, 0);
	API(&f.r, f.program, ncclCommDestroy, 9000, 9500, 0, 0, 0xa0);
	API(&f.r, f.program, ncclCommDestroy, 9600, 9700, 0, 4, 0xb0); /* failed */
	gpu_tick(&f);
	assert_string_equal(
		ask("SELECT group_concat(t, ', ') FROM (SELECT printf('%x %s<%s %s/%s %s %s', "
		    "comm, "
		    "coalesce(commHash, '?'), coalesce(parentHash, '-'), coalesce(rank, '-'), "
		    "coalesce(nRanks, '-'), coalesce(end - start, '-'), coalesce(name, '-')) AS t "
		    "FROM SL_NCCL_COMMUNICATORS ORDER BY start)"),
		"a0 77<- 3/8 8000 -, a8 78<77 -/- - tp, b0 ?<- -/- - -");
	assert_string_equal(ask("SELECT group_concat(value) FROM SL_GPU_ARGUMENTS WHERE role = 45"),
			    "41");
	/* The shim's word on communicators is not CUPTI's. */
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'CUPTI%'"),
			    "0");
	gpu_end(&f);
}

/* Of MPI: the world (hash, ranks, world), and a part of it without a name. */
static void calls_of_mpi_have_the_tables_of_nsight_systems(void **state)
{
	struct gpu_fixture f;
	struct sl_gpu_comm world = {.made = 0,
				    .handle = 0xa0,
				    .hash = 77,
				    .flags = 29,
				    .ranks = 8,
				    .rank = 3,
				    .world = 3};
	struct sl_gpu_comm part = {.handle = 0xa8, .flags = 28, .ranks = 2, .rank = 1, .world = 3};

	(void)state;
	gpu_begin(&f);
	world.made = t0 + 1000;
	part.made = t0 + 2000;
	for (int i = 0; i < 2; i++) {
		RECORD(&f.r, f.program, SL_GPU_REC_COMM, world);
		RECORD(&f.r, f.program, SL_GPU_REC_COMM, part);
	}
	/* count, size of the type, [root,] comm, number */
	API(&f.r, f.program, MPI_Allreduce, 5000, 6000, 0, 0, 10, 8, 0xa0, 41);
	API(&f.r, f.program, PMPI_Bcast, 7000, 8000, 0, 0, 10, 0, 2, 0xa8);
	API(&f.r, f.program, MPI_Iallreduce, 8100, 8200, 0, 0, 10, 8, 0xa0, 0x1000, 42);
	/* twice count, size, peer, tag; comm, number */
	API(&f.r, f.program, MPI_Sendrecv, 9000, 10000, 0, 0, 5, 4, 1, 7, 6, 4, (uint32_t)-1, 8,
	    0xa0, 3);
	API(&f.r, f.program, MPI_Isend, 11000, 11100, 0, 0, 5, 4, 1, 7, 0xa0, 0x2000, 4);
	API(&f.r, f.program, MPI_Waitall, 12000, 13000, 0, 0, );
	API(&f.r, f.program, MPI_Barrier, 14000, 15000, 0, 5, 0xdead); /* failed */
	API(&f.r, f.program, MPI_Comm_split, 16000, 17000, 0, 0, 0xa0, 1, 0, 0xa8);
	API(&f.r, f.program, MPI_Init, 0, 1000, 0, 0, );
	gpu_tick(&f);
	assert_string_equal(
		ask("SELECT group_concat(t, ', ') FROM (SELECT printf('%x %s %s/%s of %s', "
		    "commHandle, "
		    "coalesce(commUid, '?'), localRank, size, rank) AS t FROM MPI_COMMUNICATORS "
		    "ORDER BY timestamp)"),
		"a0 77 3/8 of 3, a8 ? 1/2 of 3");
	assert_string_equal(ask("SELECT group_concat(rank) FROM MPI_RANKS WHERE (globalTid & "
				"0xffffff) = (globalTid >> 24 & 0xffffff)"),
			    "3");
	assert_string_equal(
		ask("SELECT group_concat(t, ', ') FROM (SELECT printf('%s %d %x %s %s %s %s %s', "
		    "value, "
		    "end - start, commHandle, coalesce(commUid, '?'), coalesce(rootRank, '-'), "
		    "coalesce(size, '-'), coalesce(requestHandle, '-'), coalesce(seq, '-')) AS t "
		    "FROM "
		    "MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId ORDER BY start)"),
		"MPI_Allreduce 1000 a0 77 - 80 - 41, MPI_Bcast 1000 a8 ? 2 - - -, MPI_Iallreduce "
		"100 "
		"a0 77 - 80 4096 42");
	assert_string_equal(
		ask("SELECT group_concat(t, ', ') FROM (SELECT printf('%s %x %s %d %d %s %s %s', "
		    "value, "
		    "commHandle, commUid, tag, remoteRank, size, coalesce(requestHandle, '-'), "
		    "coalesce(seq, '-')) AS t FROM MPI_P2P_EVENTS JOIN StringIds ON id = textId "
		    "ORDER "
		    "BY start, tag)"),
		"MPI_Sendrecv a0 77 7 1 20 - 3, MPI_Sendrecv a0 77 8 -1 24 - -, MPI_Isend a0 77 7 "
		"1 20 "
		"8192 4");
	assert_string_equal(
		ask("SELECT group_concat(value) FROM MPI_START_WAIT_EVENTS JOIN StringIds "
		    "ON id = textId"),
		"MPI_Waitall");
	assert_string_equal(
		ask("SELECT group_concat(value) FROM (SELECT value FROM MPI_OTHER_EVENTS "
		    "JOIN StringIds ON id = textId ORDER BY value)"),
		"MPI_Barrier,MPI_Comm_split,MPI_Init");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name IN "
				"('SL_NCCL_COMMUNICATORS', 'SL_LIBRARY_API', 'SL_GPU_ARGUMENTS')"),
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

/* A kernel without a known call keeps CUPTI's correlation id; one that CUPTI has no call of has an id of its own. */
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
		"77,4096");
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
	/* Also for queries that do not compare the process. */
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

/* The collector was held up: CUPTI's records lie in the ring, and what it has read so far is old. */
static void what_is_unread_is_waited_for(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	f.s.arenas.gpu.flush_ns = 6 * FAR_NS;
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	API(&f.r, f.program, cudaLaunchKernel, 10000, 14000, 0, 0, 0xf, 4, 2, 1, 128, 1, 1, 0, 0);
	gpu_flushed(&f.r, f.cupti, 5000);
	gpu_tick(&f);
	gpu_kernel(&f.r, f.cupti, 15000, 25000, 12, NAME_KERNEL);
	gpu_api(&f.r, f.cupti, 10200, 13800, 11, NAME_LAUNCH, false);
	gpu_api(&f.r, f.cupti, 10900, 13100, 12, NAME_CU_LAUNCH, true);
	f.s.arenas.clock->newest += 200 * FAR_NS;
	gpu_settle(&f.s.arenas, f.a, false);
	side_commit(&f.s);
	assert_string_equal(calls(), "error: no such table: CUPTI_ACTIVITY_KIND_RUNTIME");
	gpu_tell(&f);
	assert_string_equal(calls(), "cudaLaunchKernel_v7000 10-14 0 0");
	assert_string_equal(joined(), "1/1");
	gpu_end(&f);
}

/* As many calls as fit in one buffer that CUPTI keeps back: reported after they have their rows, none gets a second. */
static void many_calls_are_reported_late(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	tell_names(&f);
	for (uint64_t i = 1; i <= 2000; i++)
		API(&f.r, f.program, cudaMalloc, i * 10000, i * 10000 + 4000, 0, 0, i, 4096);
	f.s.arenas.gpu.flush_ns = FAR_NS;
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2000");
	for (uint32_t i = 1; i <= 2000; i++)
		gpu_api(&f.r, f.cupti, i * 10000ull + 200, i * 10000ull + 3800, i, NAME_MALLOC,
			false);
	gpu_tell(&f);
	assert_string_equal(ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "2000");
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

static void losses_and_errors_are_reported(void **state)
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
	assert_int_equal(f.s.arenas.gpu.lost.dropped, 17);
	assert_string_equal(ask("SELECT severity || ' ' || text FROM DIAGNOSTIC_EVENT"),
			    "2 another profiler has CUPTI: close it (CUPTI's error 39)");
	assert_string_equal(calls(), "cudaMalloc 1-3 0 0"); /* not pending: CUPTI is gone */
	gpu_end(&f);
}

/* A bug that is avoided is news; a limitation is a warning; CUPTI delivers after both. */
static void notes_of_cupti_leave_it_on(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	gpu_string(&f.r, f.cupti, 9, "a bug was avoided");
	gpu_string(&f.r, f.cupti, 10, "some records are wrong");
	RECORD(&f.r, f.cupti, SL_GPU_REC_STATUS,
	       (struct sl_gpu_status){.code = SL_GPU_STATUS_AVOIDED, .text = 9});
	RECORD(&f.r, f.cupti, SL_GPU_REC_STATUS,
	       (struct sl_gpu_status){.code = SL_GPU_STATUS_LIMITED, .text = 10});
	API(&f.r, f.program, cudaMalloc, 1000, 3000, 0, 0, 0x7000, 4096);
	gpu_tick(&f);
	assert_string_equal(ask("SELECT group_concat(severity || ' ' || text, ', ') FROM "
				"DIAGNOSTIC_EVENT WHERE severity > 0"),
			    "1 CUPTI is on, 1 a bug was avoided, 2 some records are wrong");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'CUPTI%'"),
			    "0"); /* the call waits for CUPTI's record */
	gpu_end(&f);
}

#define STATUS_AT(ring, slot, at, ...)                                                        \
	gpu_put(ring, slot, t0 + (at), 0, SL_GPU_REC_STATUS, SL_SHAPE_GPU, 0, &(__VA_ARGS__), \
		sizeof(__VA_ARGS__) / 8)

/*
 * The program's own profiler has CUPTI twice. One thread ends the first time, another one begins the second, whose record
 * is read first, as are the calls.
 */
static void times_without_cupti_are_reported(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cudaMemset, 2000, 2500, 0, 0, 0x7000, 1, 4096);
	STATUS_AT(&f.r, f.program, 2900,
		  (struct sl_gpu_status){.code = SL_GPU_STATUS_LOST_SLOT, .since = t0 + 2800});
	API(&f.r, f.program, cudaMemset, 3000, 3500, 0, 0, 0x7000, 1, 4096);
	API(&f.r, f.program, cudaMemset, 3500, 3600, 0, 1, 0x7000, 1, 4096);
	API(&f.r, f.program, cudaMalloc, 3700, 3800, 0, 0, 0x7000, 4096);
	API(&f.r, f.program, cudaMemset, 4000, 4500, 0, 0, 0x7000, 1, 4096);
	API(&f.r, f.program, cudaMemset, 6000, 6500, 0, 0, 0x7000, 1, 4096);
	STATUS_AT(&f.r, f.program, 7000, (struct sl_gpu_status){.code = SL_GPU_STATUS_LOST_SLOT});
	API(&f.r, f.program, cudaGraphLaunch, 8000, 8500, 0, 0, 0x7000, 0);
	STATUS_AT(&f.r, f.cupti, 5000, (struct sl_gpu_status){.code = SL_GPU_STATUS_BACK});
	gpu_tick(&f);
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(
		ask("SELECT group_concat((end - start) || ' ' || count, ', ') FROM (SELECT * FROM "
		    "SL_LOST_EVENTS ORDER BY start)"),
		"2200 2, 1500 1");
	assert_string_equal(ask("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%missing "
				"from%' AND text LIKE '%its end at%'"),
			    "1");
	gpu_end(&f);
}

/* CUPTI never reports a whole graph that was instantiated while it was lent. Handles are used again. */
static void graphs_of_a_time_without_cupti_are_counted(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	API(&f.r, f.program, cudaGraphInstantiate, 2000, 2100, 0, 0, 0x8, 0x1, 0);
	STATUS_AT(&f.r, f.program, 2900,
		  (struct sl_gpu_status){.code = SL_GPU_STATUS_LOST_SLOT, .since = t0 + 2800});
	API(&f.r, f.program, cudaGraphInstantiate, 3000, 3100, 0, 0, 0x9, 0x1, 0);
	API(&f.r, f.program, cudaGraphInstantiate, 3200, 3300, 0, 1, 0x8, 0x1, 0);
	API(&f.r, f.program, cudaGraphLaunch, 4000, 4100, 0, 0, 0x9, 0);
	API(&f.r, f.program, cudaGraphLaunch, 6000, 6100, 0, 0, 0x9, 0);
	API(&f.r, f.program, cudaGraphLaunch, 6200, 6300, 0, 0, 0x8, 0);
	API(&f.r, f.program, cudaGraphLaunch, 6400, 6500, 0, 0, 0x9, 0);
	API(&f.r, f.program, cudaGraphInstantiate, 7000, 7100, 0, 0, 0x9, 0x1, 0);
	API(&f.r, f.program, cudaGraphLaunch, 8000, 8100, 0, 0, 0x9, 0);
	STATUS_AT(&f.r, f.cupti, 5000,
		  (struct sl_gpu_status){.code = SL_GPU_STATUS_BACK, .detail = 1});
	gpu_tick(&f);
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(ask("SELECT group_concat((end - start) || ' ' || count, ', ') FROM "
				"SL_LOST_EVENTS WHERE what LIKE '%instantiated%'"),
			    "400 2");
	gpu_end(&f);
}

/*
 * CUPTI was lent, by a thread whose records are read after those of the one that ends the process: nothing is missing, though
 * calls follow.
 */
static void a_last_flush_may_be_read_first(void **state)
{
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.program);
#define FLUSHED_AT(slot, at)                                                   \
	gpu_put(&f.r, slot, t0 + (at), 0, SL_GPU_REC_FLUSHED, SL_SHAPE_GPU, 0, \
		&(struct sl_gpu_flushed){.until = t0 + (at), .is_last = 1},    \
		sizeof(struct sl_gpu_flushed) / 8)
	FLUSHED_AT(f.program, 9000);
	API(&f.r, f.program, cudaMalloc, 10000, 11000, 0, 0, 0x7000, 4096);
	STATUS_AT(&f.r, f.cupti, 3000, (struct sl_gpu_status){.code = SL_GPU_STATUS_LOST_SLOT});
	FLUSHED_AT(f.cupti, 4000);
	STATUS_AT(&f.r, f.cupti, 5000, (struct sl_gpu_status){.code = SL_GPU_STATUS_BACK});
	gpu_tick(&f);
	gpu_settle(&f.s.arenas, f.a, true);
	side_commit(&f.s);
	assert_string_equal(
		ask("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%ended before%'"), "0");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_cupti_the_hooks_word_is_enough),
		TEST(a_shared_runtime_is_reported_by_both),
		TEST(a_static_runtime_is_reported_by_cupti),
		TEST(unreported_calls_are_not_made_up),
		TEST(libraries_are_around_what_they_call),
		TEST(communicators_are_as_the_shim_announces_them),
		TEST(calls_of_mpi_have_the_tables_of_nsight_systems),
		TEST(texts_that_come_late_are_waited_for),
		TEST(work_without_a_call_is_written),
		TEST(ids_are_unique_in_the_report),
		TEST(waiting_ends),
		TEST(what_is_unread_is_waited_for),
		TEST(many_calls_are_reported_late),
		TEST(a_process_that_ends_is_not_waited_for),
		TEST(losses_and_errors_are_reported),
		TEST(notes_of_cupti_leave_it_on),
		TEST(times_without_cupti_are_reported),
		TEST(a_last_flush_may_be_read_first),
		TEST(graphs_of_a_time_without_cupti_are_counted),
	};

	return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
