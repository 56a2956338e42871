/* tl_tables.c - a row of each table of timeline.def: where it lies on the timeline, and its arguments. */
#include "tl_test.h"

static const struct tl_options all = {.activities = TL_ACT_ALL};

static void each_library_has_its_calls_on_the_thread(void **state)
{
	(void)state;
	check_with(&all, SHOW_ROWS,
		   "strings: (1, 'MPI_Send'), (2, 'MPI_Bcast'), (3, 'acc_wait'), "
		   "(4, 'ncclSend'), (5, 'nccl'), (6, 'cudnnRun'), (7, 'cublasRun'), "
		   "(8, 'Flush');"
		   "MPI_P2P_EVENTS(start, end, globalTid, textId, tag, remoteRank, size): (10, "
		   "15, $70.71, 1, 3, 2, 64);"
		   "MPI_COLLECTIVES_EVENTS(start, end, globalTid, textId, rootRank, size, "
		   "recvSize): (20, 25, $70.71, 2, 0, 8, NULL);"
		   "MPI_START_WAIT_EVENTS(start, end, globalTid, textId): (30, 35, $70.71, 1);"
		   "MPI_OTHER_EVENTS(start, end, globalTid, textId): (40, 45, $70.71, 2);"
		   "CUPTI_ACTIVITY_KIND_OPENACC_OTHER(start, end, globalTid, nameId): (50, 55, "
		   "$70.71, 3);"
		   "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH(start, end, globalTid, nameId): (60, 65, "
		   "$70.71, 3);"
		   "CUPTI_ACTIVITY_KIND_OPENACC_DATA(start, end, globalTid, nameId, bytes): "
		   "(70, 75, $70.71, 3, 9);"
		   "SL_LIBRARY_API(start, end, globalTid, nameId, returnValue, callchainId, "
		   "library, nestingLevel): (80, 85, $70.71, 4, 2, 6, 5, 0);"
		   "CUDNN_EVENTS(start, end, globalTid, nameId, returnValue, callchainId): (90, "
		   "95, $70.71, 6, 0, 7);"
		   "CUBLAS_EVENTS(start, end, globalTid, nameId, returnValue, callchainId): "
		   "(100, 105, $70.71, 7, 1, 0);"
		   "CUPTI_ACTIVITY_KIND_OVERHEAD(start, end, globalTid, nameId, overheadType): "
		   "(110, 115, $70.71, 8, 4), (116, 117, $70.71, 8, 5);"
		   "ENUM_CUPTI_OVERHEAD_TYPE(id INTEGER, name, label): (4, 'X', 'Buffer flush');"
		   "PROFILER_OVERHEAD(start, end, globalTid, nameId): (120, 125, $70.71, 8);",
		   /* Stacks of libraries are those of CUDA: 6 * 4 + 2, 7 * 4 + 2. */
		   "thread 70.71: 10 +5 'MPI_Send' {tag=3, remote rank=2, bytes=64} "
		   "(MPI_P2P_EVENTS 1, mpi)\n"
		   "thread 70.71: 20 +5 'MPI_Bcast' {root rank=0, bytes=8} "
		   "(MPI_COLLECTIVES_EVENTS 1, mpi)\n"
		   "thread 70.71: 30 +5 'MPI_Send' (MPI_START_WAIT_EVENTS 1, mpi)\n"
		   "thread 70.71: 40 +5 'MPI_Bcast' (MPI_OTHER_EVENTS 1, mpi)\n"
		   "thread 70.71: 50 +5 'acc_wait' (CUPTI_ACTIVITY_KIND_OPENACC_OTHER 1, openacc)\n"
		   "thread 70.71: 60 +5 'acc_wait' (CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH 1, "
		   "openacc)\n"
		   "thread 70.71: 70 +5 'acc_wait' {bytes=9} "
		   "(CUPTI_ACTIVITY_KIND_OPENACC_DATA 1, openacc)\n"
		   "thread 70.71: 80 +5 'ncclSend' {library='nccl', result=2} stack 26 "
		   "(SL_LIBRARY_API 1, library)\n"
		   "thread 70.71: 90 +5 'cudnnRun' stack 30 (CUDNN_EVENTS 1, cudnn)\n"
		   "thread 70.71: 100 +5 'cublasRun' {result=1} (CUBLAS_EVENTS 1, cublas)\n"
		   "thread 70.71: 110 +5 'Flush' {kind='Buffer flush'} "
		   "(CUPTI_ACTIVITY_KIND_OVERHEAD 1, overhead)\n"
		   "thread 70.71: 116 +1 'Flush' {kind='5'} "
		   "(CUPTI_ACTIVITY_KIND_OVERHEAD 2, overhead)\n"
		   "thread 70.71: 120 +5 'Flush' (PROFILER_OVERHEAD 1, overhead)\n");
}

static void calls_of_cuda_libc_and_the_kernel_have_stacks(void **state)
{
	(void)state;
	check_with(
		&all, SHOW_ROWS,
		"strings: (1, 'cudaFree_v3020'), (2, 'cuInit'), (3, 'read'), (4, '/data'), "
		"(5, 'futex');"
		"CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, "
		"correlationId, nameId, returnValue, callchainId): (10, 15, 0, $70.71, 1, 1, "
		"0, 9), (20, 25, 1, $70.71, NULL, 2, 100, NULL);"
		"OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, "
		"callchainId, fd, pathId, bytesAsked, bytesDone, fileOffset, errnum): (30, "
		"35, 27, $70.71, 3, 6, 9, 5, 4, 8, 6, 512, NULL), "
		"(40, 45, 27, $70.71, 3, -1, 0, 5, NULL, 8, NULL, NULL, 9);"
		"SYSCALL(start, end, globalTid, nameId, callchainId): (50, 55, $70.71, 5, 9);",
		/* Of stack 9 each kind has its own number: 9 * 4 + 2, + 1, + 3. 6 bytes in one bin: 600 a second. */
		"counter 'read' of process 70: 0 = 600 (OSRT_API 0, io)\n"
		"thread 70.71: 10 +5 'cudaFree' {correlation=1} stack 38 "
		"(CUPTI_ACTIVITY_KIND_RUNTIME 1, cuda_runtime)\n"
		"thread 70.71: 20 +5 'cuInit' {result=100} "
		"(CUPTI_ACTIVITY_KIND_RUNTIME 2, cuda_driver)\n"
		"thread 70.71: 30 +5 'read' {result=6, path='/data', fd=5, bytes asked=8, bytes=6, "
		"offset=512} stack 37 path 4, 6 bytes (OSRT_API 1, osrt)\n"
		"thread 70.71: 40 +5 'read' {result=-1, fd=5, bytes asked=8, errno=9} "
		"(OSRT_API 2, osrt)\n"
		"thread 70.71: 50 +5 'futex' stack 39 (SYSCALL 1, syscall)\n"
		"counter 'read' of process 70: 10000000 = 0 (OSRT_API 0, io)\n");
}

static void work_on_gpus_lies_on_its_stream(void **state)
{
	(void)state;
	check_with(
		&all, SHOW_ROWS,
		"strings: (1, 'add'), (2, 'add(int*)');"
		"CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, globalPid, deviceId, contextId, "
		"streamId, correlationId, graphId, graphExecId): (10, 15, $70, 0, 1, 7, 3, "
		"11, 12);"
		"CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, deviceId, contextId, "
		"streamId, correlationId, shortName, demangledName, gridX, gridY, gridZ, "
		"blockX, blockY, blockZ, registersPerThread, staticSharedMemory, "
		"dynamicSharedMemory, graphNodeId, greenContextId): (20, 25, $70, 0, 1, 7, "
		"4, 1, 2, 10, 20, 30, 4, 5, 6, 16, 0, 1024, NULL, 3);"
		"CUPTI_ACTIVITY_KIND_MEMCPY(start, end, globalPid, deviceId, contextId, "
		"streamId, correlationId, copyKind, srcKind, dstKind, bytes, srcDeviceId, "
		"dstDeviceId, migrationCause, graphNodeId): (30, 130, $70, 0, 1, 7, 5, 1, 0, "
		"2, 4096, NULL, NULL, NULL, 77), "
		"(140, 140, $70, 0, 1, 7, 5, 11, NULL, NULL, 64, 0, 1, 2, 0);"
		"ENUM_CUDA_UNIF_MEM_MIGRATION(id INTEGER, name, label): (2, 'X', "
		"'Coherence');"
		"CUPTI_ACTIVITY_KIND_MEMSET(start, end, globalPid, deviceId, contextId, "
		"streamId, correlationId, memKind, bytes, value, graphNodeId): (150, 154, "
		"$70, 0, 1, 7, 6, 1, 2, 255, NULL);"
		"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, globalPid, deviceId, "
		"contextId, streamId, correlationId, syncType): (160, 165, $70, 0, 1, 7, 7, "
		"3), (170, 175, $70, 0, 1, 4294967295, 8, 4);",
		/* 4096 bytes in 100 ns are 40.96 GB/s, 2 in 4 ns 0.5; of nothing no rate is known. */
		"stream 7: 10 +5 'CUDA graph' {device=0, context=1, stream=7, correlation=3, "
		"graph=11, graph exec=12} (CUPTI_ACTIVITY_KIND_GRAPH_TRACE 1, kernel)\n"
		"stream 7: 20 +5 'add' {device=0, context=1, stream=7, correlation=4, "
		"full name='add(int*)', grid=10x20x30, block=4x5x6, registers per thread=16, "
		"dynamic shared memory=1024, green context=3} "
		"(CUPTI_ACTIVITY_KIND_KERNEL 1, kernel)\n"
		"stream 7: 30 +100 'Memcpy HtoD (Pageable -> Device)' {device=0, context=1, "
		"stream=7, correlation=5, bytes=4096, memory bandwidth (GB/s)=40.96, "
		"graph node=77} (CUPTI_ACTIVITY_KIND_MEMCPY 1, gpu_memcpy)\n"
		"stream 7: 140 +0 'Memcpy HtoD (Unified memory)' {device=0, context=1, stream=7, "
		"correlation=5, bytes=64, source device=0, destination device=1, "
		"migration cause='Coherence'} (CUPTI_ACTIVITY_KIND_MEMCPY 2, gpu_memcpy)\n"
		"stream 7: 150 +4 'Memset (Pinned)' {device=0, context=1, stream=7, "
		"correlation=6, bytes=2, memory bandwidth (GB/s)=0.5, value=255} "
		"(CUPTI_ACTIVITY_KIND_MEMSET 1, gpu_memset)\n"
		"waits of 1: 160 +5 'Stream Sync' {device=0, context=1, stream=7, correlation=7} "
		"(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION 1, cuda_sync)\n"
		"waits of 1: 170 +5 'Context Sync' {device=0, context=1, correlation=8} "
		"(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION 2, cuda_sync)\n");
}

static void ranges_have_the_first_payload_that_is_there(void **state)
{
	(void)state;
	check_with(&all, SHOW_ROWS,
		   "strings: (1, 'registered'), (2, '[1]');"
		   "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, domainId, "
		   "category, text, textId, color, rangeId, endGlobalTid, int64Value, "
		   "uint64Value, int32Value, uint32Value, doubleValue, floatValue, jsonTextId, "
		   "jsonText, binaryData);"
		   "INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, domainId, "
		   "category, text) VALUES (0, NULL, 75, $70.71, 1, NULL, 'train'), "
		   "(0, NULL, 33, $70.71, 1, 5, 'data'), (10, 15, 59, $70.71, 1, 5, 'a'), "
		   "(20, 25, 59, $70.71, 2, 5, 'b'), (30, 35, 60, $70.71, 1, 6, 'c'), "
		   "(40, NULL, 34, $70.71, NULL, NULL, 'd'), "
		   "(50, 55, 59, $70.71, NULL, NULL, NULL);"
		   "UPDATE NVTX_EVENTS SET int64Value = -3, uint64Value = 4 WHERE start = 10;"
		   "UPDATE NVTX_EVENTS SET uint64Value = -1, color = 0xFF00FF00 WHERE start = "
		   "20;"
		   "UPDATE NVTX_EVENTS SET uint32Value = 8, rangeId = 6, endGlobalTid = $70.72 "
		   "WHERE start = 30;"
		   "UPDATE NVTX_EVENTS SET floatValue = 2.5, jsonText = '{}', endGlobalTid = "
		   "globalTid WHERE start = 40;"
		   "UPDATE NVTX_EVENTS SET textId = 1, jsonTextId = 2, binaryData = '0A' WHERE "
		   "start = 50;",
		   /* A domain that has no name, and a category of another domain, are left out. */
		   "thread 70.71: 10 +5 'a' {domain='train', category='data', payload=-3} "
		   "(NVTX_EVENTS 3, user_annotation)\n"
		   "thread 70.71: 20 +5 'b' {color=0xff00ff00, payload=0xffffffffffffffff} "
		   "(NVTX_EVENTS 4, user_annotation)\n"
		   "async 70: 30 +5 'c' {domain='train', range id=6, end thread=72, payload=8} "
		   "(NVTX_EVENTS 5, user_annotation)\n"
		   "thread 70.71: 40 'd' {payload=2.5, payload json=json {}} "
		   "(NVTX_EVENTS 6, user_annotation)\n"
		   "thread 70.71: 50 +5 'registered' {payload json='[1]', payload hex='0A'} "
		   "(NVTX_EVENTS 7, user_annotation)\n");
}

static void moments_lie_on_threads_processes_or_the_machine(void **state)
{
	(void)state;
	check_with(&all, SHOW_ROWS,
		   "strings: (1, 'x');"
		   "SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState): (10, 3, 1, "
		   "$70.71, 5), (20, 3, 0, $70.71, 2), (21, 3, 0, NULL, 2), "
		   "(22, 3, 0, $70.71, NULL);"
		   "DIAGNOSTIC_EVENT(timestamp, severity, text, globalPid): (30, 2, 'slow', "
		   "$70), (31, 9, 'all', NULL), (32, NULL, 'none', 1 << 48);"
		   "ENUM_DIAGNOSTIC_SEVERITY_LEVEL(id INTEGER, name, label): (2, 'X', "
		   "'Warning');"
		   "SL_LOST_EVENTS(start, end, globalTid, what, count): (40, 45, $70.71, 'ring "
		   "full', 12), (50, 50, NULL, 'kernel', 1);",
		   "thread 70.71: 10 on cpu 3 (SCHED_EVENTS 1, sched)\n"
		   "thread 70.71: 20 off cpu 3, state 2 (SCHED_EVENTS 2, sched)\n"
		   "thread 70.71: 22 off cpu 3 (SCHED_EVENTS 4, sched)\n"
		   "process 70: 30 'slow' {severity='Warning'} (DIAGNOSTIC_EVENT 1, diagnostic)\n"
		   "machine: 31 'all' {severity='9'} (DIAGNOSTIC_EVENT 2, diagnostic)\n"
		   "machine: 32 'none' (DIAGNOSTIC_EVENT 3, diagnostic)\n"
		   "thread 70.71: 40 'ring full' {events=12} (SL_LOST_EVENTS 1, lost)\n"
		   "machine: 50 'kernel' {events=1} (SL_LOST_EVENTS 2, lost)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_library_has_its_calls_on_the_thread),
		cmocka_unit_test(calls_of_cuda_libc_and_the_kernel_have_stacks),
		cmocka_unit_test(work_on_gpus_lies_on_its_stream),
		cmocka_unit_test(ranges_have_the_first_payload_that_is_there),
		cmocka_unit_test(moments_lie_on_threads_processes_or_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
