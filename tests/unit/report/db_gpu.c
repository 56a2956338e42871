/* db_gpu.c - tables of GPU programs: columns, rows of each, texts for numbers. */
#include "tests/unit/report/db_test.h"

#include "preload/wire/gpu.h"

/* A row of each table that takes batches: numbers from @first on. */
static void fill_batches(struct db *db, int64_t first)
{
	for (int t = DB_CUPTI_ACTIVITY_KIND_RUNTIME; t <= DB_SL_GPU_ARGUMENTS; t++) {
		int64_t *r = db_row(db, (enum db_table)t);

		for (int i = 0; i < KRN_COL_CNT; i++)
			r[i] = first + i;
	}
}

/* Rows of the tables of GPU programs that do not take batches. */
static void fill_gpu(struct db *db)
{
	struct db_row_TARGET_INFO_GPU gpu = db_none_TARGET_INFO_GPU();
	struct db_row_TARGET_INFO_CUDA_CONTEXT_INFO context =
		db_none_TARGET_INFO_CUDA_CONTEXT_INFO();
	struct db_row_CUDA_GPU_MEMORY_USAGE_EVENTS memory = db_none_CUDA_GPU_MEMORY_USAGE_EVENTS();
	struct db_row_CUPTI_ACTIVITY_KIND_JIT jit = db_none_CUPTI_ACTIVITY_KIND_JIT();

	gpu.rowid = 12;
	gpu.vmId = 10;
	gpu.id = 11;
	gpu.name = "t0";
	gpu.busLocation = "t1";
	gpu.uuid = "t2";
	gpu.cuDevice = 18;
	gpu.smMinor = 30;
	assert_int_equal(db_put_TARGET_INFO_GPU(db, &gpu), 0);
	assert_int_equal(
		db_put_TARGET_INFO_CUDA_DEVICE(
			db, &(struct db_row_TARGET_INFO_CUDA_DEVICE){10, 11, 12, "t0", 13}),
		0);
	context.nullStreamId = 10;
	context.hwId = 0;
	context.deviceId = 12;
	context.contextId = 13;
	context.vmId = 1;
	context.processId = 11;
	context.isGreenContext = 15;
	assert_int_equal(db_put_TARGET_INFO_CUDA_CONTEXT_INFO(db, &context), 0);
	assert_int_equal(
		db_put_TARGET_INFO_CUDA_STREAM(
			db, &(struct db_row_TARGET_INFO_CUDA_STREAM){10, 0, 1, 11, 12, 13, 14}),
		0);
	memory.start = memory.globalPid = memory.deviceId = memory.contextId = memory.address = 10;
	memory.pc = memory.bytes = memory.memKind = memory.memoryOperationType = 11;
	memory.name = "t0";
	memory.correlationId = 19;
	memory.importedMemoryPoolProcessId = 26;
	assert_int_equal(db_put_CUDA_GPU_MEMORY_USAGE_EVENTS(db, &memory), 0);
	jit.start = jit.end = jit.eventClass = jit.globalTid = 10;
	jit.overheadType = jit.jitEntryType = jit.jitOperationType = 11;
	jit.cacheSize = 21;
	jit.cachePath = "t0";
	assert_int_equal(db_put_CUPTI_ACTIVITY_KIND_JIT(db, &jit), 0);
}

static void gpu_programs_have_their_rows(void **state)
{
	struct db *db = test_open(false);

	(void)state;
	fill_batches(db, 100);
	fill_gpu(db);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(
		ask("SELECT start || ' ' || maxActiveClusters || ' ' || "
		    "sharedMemoryRequestedPercentage || ' ' || tensorSizeMinusOneElements || "
		    "' ' || typeof(tensorSizeMinusOneElements) "
		    "FROM CUPTI_ACTIVITY_KIND_KERNEL"),
		"100 137 138 [] text");
	assert_string_equal(
		ask("SELECT vmId || ' ' || name || ' ' || busLocation || ' ' || uuid || ' ' || "
		    "cuDevice || ' ' || smMinor FROM TARGET_INFO_GPU"),
		"10 t0 t1 t2 18 30");
	assert_string_equal(ask("SELECT cudaId || uuid || numMultiprocessors FROM "
				"TARGET_INFO_CUDA_DEVICE"),
			    "11t013");
	assert_string_equal(ask("SELECT nullStreamId || ' ' || vmId || ' ' || processId || ' ' || "
				"isGreenContext FROM TARGET_INFO_CUDA_CONTEXT_INFO"),
			    "10 1 11 15");
	assert_string_equal(ask("SELECT streamId || ' ' || processId || ' ' || flag FROM "
				"TARGET_INFO_CUDA_STREAM"),
			    "10 11 14");
	assert_string_equal(ask("SELECT name || ' ' || correlationId || ' ' || "
				"importedMemoryPoolProcessId FROM CUDA_GPU_MEMORY_USAGE_EVENTS"),
			    "t0 19 26");
	assert_string_equal(ask("SELECT cacheSize || cachePath FROM CUPTI_ACTIVITY_KIND_JIT"),
			    "21t0");
}

/*
 * Columns as the documented schema 3.28.1 has them, and ours behind those: name:notnull, all INTEGER unless marked
 * "t".
 */
static const char *const documented[][2] = {
	{"CUPTI_ACTIVITY_KIND_RUNTIME", "start:1 end:1 eventClass:1 globalTid:0 correlationId:0 "
					"nameId:1 returnValue:1 callchainId:0"},
	{"CUPTI_ACTIVITY_KIND_KERNEL",
	 "start:1 end:1 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 demangledName:1 shortName:1 mangledName:0 launchType:0 cacheConfig:0 "
	 "registersPerThread:1 gridX:1 gridY:1 gridZ:1 blockX:1 blockY:1 blockZ:1 "
	 "staticSharedMemory:1 dynamicSharedMemory:1 localMemoryPerThread:1 localMemoryTotal:1 "
	 "gridId:1 sharedMemoryExecuted:0 graphNodeId:0 sharedMemoryLimitConfig:0 "
	 "qmdBulkReleaseDone:0 qmdPreexitDone:0 qmdLastCtaDone:0 graphId:0 clusterX:0 clusterY:0 "
	 "clusterZ:0 clusterSchedulingPolicy:0 maxPotentialClusterSize:0 maxActiveClusters:0 "
	 "sharedMemoryRequestedPercentage:0 tensorSizeMinusOneElements:1t"},
	{"CUPTI_ACTIVITY_KIND_MEMCPY",
	 "start:1 end:1 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 bytes:1 copyKind:1 deprecatedSrcId:0 srcKind:0 dstKind:0 srcDeviceId:0 "
	 "srcContextId:0 dstDeviceId:0 dstContextId:0 migrationCause:0 graphNodeId:0 "
	 "virtualAddress:0 copyCount:0"},
	{"CUPTI_ACTIVITY_KIND_MEMSET",
	 "start:1 end:1 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 value:1 bytes:1 graphNodeId:0 memKind:0"},
	{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
	 "start:1 end:1 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 deprecatedSyncType:0 syncType:1 eventId:1 eventSyncId:0"},
	{"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
	 "timestamp:0 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 eventId:1 eventSyncId:0"},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	 "start:1 end:1 deviceId:1 contextId:1 greenContextId:0 streamId:1 correlationId:0 "
	 "globalPid:0 graphId:1 graphExecId:1"},
	{"CUDA_GRAPH_NODE_EVENTS",
	 "start:1 end:1 eventClass:1 globalTid:0 nameId:1 graphNodeId:1 originalGraphNodeId:0"},
	{"CUDA_GRAPH_EVENTS", "start:1 end:1 eventClass:1 globalTid:0 nameId:1 graphId:0 "
			      "originalGraphId:0 graphExecId:0"},
	{"CUPTI_ACTIVITY_KIND_OVERHEAD",
	 "start:1 end:1 eventClass:1 globalTid:0 correlationId:0 nameId:0 overheadType:1"},
	{"CUPTI_ACTIVITY_KIND_JIT",
	 "start:1 end:1 eventClass:1 globalTid:0 correlationId:0 nameId:0 overheadType:1 "
	 "jitEntryType:1 jitOperationType:1 deviceId:0 jitOperationCorrelationId:0 cacheSize:0 "
	 "cachePath:0t"},
	{"CUDA_GPU_MEMORY_USAGE_EVENTS",
	 "start:1 globalPid:1 deviceId:1 contextId:1 address:1 pc:1 bytes:1 memKind:1 "
	 "memoryOperationType:1 name:0t correlationId:0 streamId:0 localMemoryPoolAddress:0 "
	 "localMemoryPoolReleaseThreshold:0 localMemoryPoolSize:0 localMemoryPoolUtilizedSize:0 "
	 "importedMemoryPoolAddress:0 importedMemoryPoolProcessId:0"},
	{"CUDA_GPU_MEMORY_POOL_EVENTS",
	 "start:1 globalPid:1 deviceId:1 address:1 operationType:1 poolType:1 correlationId:0 "
	 "minBytesToKeep:0 localMemoryPoolReleaseThreshold:0 localMemoryPoolSize:0 "
	 "localMemoryPoolUtilizedSize:0"},
	{"CUDA_UM_CPU_PAGE_FAULT_EVENTS",
	 "start:1 globalPid:1 address:1 originalFaultPc:0 CpuInstruction:1 module:1 "
	 "unresolvedFaultPc:0 sourceFile:0 sourceLine:0"},
	{"CUDA_UM_GPU_PAGE_FAULT_EVENTS",
	 "start:1 end:1 globalPid:1 deviceId:1 address:1 numberOfPageFaults:1 faultAccessType:1"},
	{"CUDNN_EVENTS",
	 "start:1 end:1 eventClass:1 globalTid:0 nameId:1 callId:1 returnValue:1 callchainId:0"},
	{"CUBLAS_EVENTS",
	 "start:1 end:1 eventClass:1 globalTid:0 nameId:1 callId:1 returnValue:1 callchainId:0"},
	{"TARGET_INFO_GPU",
	 "vmId:1 id:1 name:0t busLocation:0t isDiscrete:0 l2CacheSize:0 totalMemory:0 "
	 "memoryBandwidth:0 clockRate:0 smCount:0 pwGpuId:0 uuid:0t luid:0 chipName:0t cuDevice:0 "
	 "ctxswDevPath:0t ctrlDevPath:0t revision:0 nodeMask:0 constantMemory:0 maxIPC:0 "
	 "maxRegistersPerBlock:0 maxShmemPerBlock:0 maxShmemPerBlockOptin:0 maxShmemPerSm:0 "
	 "maxRegistersPerSm:0 threadsPerWarp:0 asyncEngines:0 maxWarpsPerSm:0 maxBlocksPerSm:0 "
	 "maxThreadsPerBlock:0 maxBlockDimX:0 maxBlockDimY:0 maxBlockDimZ:0 maxGridDimX:0 "
	 "maxGridDimY:0 maxGridDimZ:0 computeMajor:0 computeMinor:0 smMajor:0 smMinor:0 "
	 "numaNodeId:0"},
	{"TARGET_INFO_CUDA_DEVICE", "gpuId:0 cudaId:1 pid:1 uuid:0t numMultiprocessors:0"},
	{"TARGET_INFO_CUDA_CONTEXT_INFO",
	 "nullStreamId:1 hwId:1 vmId:1 processId:1 deviceId:1 contextId:1 parentContextId:0 "
	 "isGreenContext:0 numMultiprocessors:0 numTpcs:0 tpcMask:0t workqueueResourceId:0 "
	 "workqueueConcurrencyLimit:0 workqueueSharingScope:0 workqueueChannelCount:0 "
	 "workqueueChannelIds:0t"},
	{"TARGET_INFO_CUDA_STREAM",
	 "streamId:1 hwId:1 vmId:1 processId:1 contextId:1 priority:1 flag:1"},
};

static void columns_are_the_documented_ones(void **state)
{
	struct db *db = test_open(false);
	char sql[256];

	(void)state;
	fill_batches(db, 0);
	fill_gpu(db);
	assert_int_equal(db_finish(db, 0), 0);
	for (size_t i = 0; i < sizeof(documented) / sizeof(*documented); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT group_concat(name || ':' || \"notnull\" || CASE type WHEN 'TEXT' "
			 "THEN 't' WHEN 'INTEGER' THEN '' ELSE '?' END, ' ') FROM "
			 "pragma_table_info('%s')",
			 documented[i][0]);
		assert_string_equal(ask(sql), documented[i][1]);
	}
	assert_string_equal(
		ask("SELECT group_concat(name) FROM sqlite_schema WHERE sql NOT LIKE '%--%'"),
		"NULL"); /* every table explains itself */
}

/* schema.sql repeats what the tables of functions say of roles. */
static void roles_are_those_of_the_hooks(void **state)
{
	static const char *const roles[][2] = {
#define ROLE(name, what) {#name, what},
		SL_GPU_ROLES(ROLE)
#undef ROLE
	};
	struct db *db = test_open(false);
	char sql[128], want[256];

	(void)state;
	assert_int_equal(db_finish(db, 0), 0);
	for (size_t i = 0; i < SL_GPU_ROLE_CNT; i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT name || ' ' || label FROM ENUM_SL_GPU_ROLE WHERE id = %zu", i);
		snprintf(want, sizeof(want), "%s %s", roles[i][0], roles[i][1]);
		assert_string_equal(ask(sql), want);
	}
	assert_int_equal(atoi(ask("SELECT count(*) FROM ENUM_SL_GPU_ROLE")), SL_GPU_ROLE_CNT);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(gpu_programs_have_their_rows),
		T(columns_are_the_documented_ones),
		T(roles_are_those_of_the_hooks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
