-- A report of two processes, in which everything occurs that a timeline has to cope with. Goes on top of
-- collector/schema.sql. Process 100 ("app") has threads 100 and 101, process 200 ("other") one without a name.
--   281476654432256 = 1 << 48 | 100 << 24: process 100; + 100, + 101: its threads
--   281478332153856 = 1 << 48 | 200 << 24: process 200; + 200: its thread
INSERT INTO StringIds VALUES (1, 'app'), (2, 'worker'), (3, 'cudaLaunchKernel_v7000'), (4, 'cuMemcpyHtoDAsync_v2'),
    (5, 'gemm'), (6, 'void gemm<float>(float*)'), (7, 'read'), (9, 'cudaMemsetAsync_v3020'), (10, 'registered'),
    (11, 'write'), (12, 'leaf'), (13, 'main'), (14, 'libapp.so'), (15, 'cudaGetDevice_v3020');
-- " \ line feed, 0x01, 0xFF (no UTF-8), e with acute accent
INSERT INTO StringIds VALUES (8, CAST(x'225C0A01FFC3A9' AS TEXT));
INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (1000000);
INSERT INTO PROCESSES VALUES (281476654432256, 100, 'app'), (281478332153856, 200, 'other');
INSERT INTO ThreadNames VALUES (1, 20, 281476654432356), (2, 20, 281476654432357);
INSERT INTO TARGET_INFO_GPU (vmId, id, name, cuDevice) VALUES (281474976710656, 0, 'Toy GPU', 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid) VALUES (0, 0, 100);
-- ranges: two that nest, one that overlaps both in part, two of start/end that end together, one never closed
INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, category, color, text, globalTid, endGlobalTid, textId, domainId,
    int64Value, doubleValue, eventId) VALUES
    (0, NULL, 75, NULL, NULL, NULL, 'NCCL', 281476654432356, NULL, NULL, 1, NULL, NULL, 1),
    (0, NULL, 33, NULL, 5, NULL, 'comm', 281476654432356, NULL, NULL, 1, NULL, NULL, 2),
    (1000, 9000, 59, NULL, NULL, NULL, 'step', 281476654432356, NULL, NULL, 0, NULL, NULL, 3),
    (2000, 5000, 59, NULL, 5, 4278255360, NULL, 281476654432356, NULL, 10, 1, 7, NULL, 4),
    (4000, 9500, 59, NULL, NULL, NULL, 'overlap', 281476654432356, NULL, NULL, 1, NULL, NULL, 5),
    (3000, NULL, 34, NULL, NULL, NULL, 'mark "q"', 281476654432357, NULL, NULL, 0, NULL, 9e999, 6),
    (1500, 2500, 60, 1, NULL, NULL, 'async', 281476654432356, 281476654432357, NULL, 0, NULL, NULL, 7),
    (2000, 2500, 60, 2, NULL, NULL, 'async2', 281476654432356, 281476654432356, NULL, 0, NULL, NULL, 8),
    (9600, NULL, 59, NULL, NULL, NULL, 'open', 281476654432357, NULL, NULL, 0, NULL, NULL, 9);
-- calls: correlation id 1 occurs in both processes; 3 starts nothing
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (2100, 2200, 0, 281476654432356, 1, 3, 0, NULL),
    (2300, 2400, 1, 281476654432356, 2, 4, 0, NULL),
    (2410, 2420, 0, 281476654432356, 3, 15, 0, NULL),
    (3000, 3100, 0, 281478332154056, 1, 9, 2, NULL);
-- kernels that overlap on a stream; the second has no call
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName,
    shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,
    localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES
    (3000, 4000, 0, 1, 7, 1, 281476654432256, 6, 5, 16, 10, 1, 1, 32, 4, 1, 0, 1024, 0, 0, 1, '[]'),
    (3500, 3800, 0, 1, 7, 99, 281476654432256, 6, 5, 8, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, '[]');
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind,
    srcKind, dstKind) VALUES (4100, 4200, 0, 1, 7, 2, 281476654432256, 4096, 1, 0, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, value, bytes,
    memKind) VALUES (3200, 3300, 0, 1, 7, 1, 281478332153856, 0, 64, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, correlationId, globalPid,
    syncType, eventId) VALUES (4300, 4400, 0, 1, 4294967295, 3, 281476654432256, 4, 4294967295);
-- libc, not in the order of time: before the session, far in the future, half in one bin of 10 ms and half in the next
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, fd,
    pathId, bytesAsked, bytesDone, errnum) VALUES
    (15000000, 25000000, 27, 281476654432357, 11, 1000, 0, 0, 0, NULL, NULL, 1000, 1000, NULL),
    (5000, 6000, 27, 281476654432357, 7, 100, 0, 0, 0, 3, 8, 128, 100, NULL),
    (4000000000000000000, 4000000000000000500, 27, 281476654432356, 7, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (-5000, -4000, 27, 281476654432356, 7, -1, 0, 0, 0, NULL, NULL, NULL, NULL, 2);
-- thread 101 leaves CPU 0 without a row; on CPU 1 it still runs at the end
INSERT INTO SCHED_EVENTS VALUES
    (100, 0, 1, 281476654432356, NULL, NULL),
    (900, 0, 0, 281476654432356, 2, NULL),
    (900, 0, 1, 281476654432357, NULL, NULL),
    (950, 0, 1, 281478332154056, NULL, NULL),
    (1200, 0, 0, 281478332154056, 5, NULL),
    (2000, 1, 1, 281476654432357, NULL, NULL);
DROP TABLE IF EXISTS COMPOSITE_EVENTS;
DROP VIEW IF EXISTS SAMPLING_CALLCHAINS;
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER,
    globalTid INTEGER, cpuCycles INTEGER NOT NULL);
INSERT INTO COMPOSITE_EVENTS VALUES (1, 3300, 1, 1, 281476654432356, 1);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER,
    thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER,
    stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
INSERT INTO SAMPLING_CALLCHAINS (id, symbol, module, stackDepth) VALUES (1, 13, 14, 1), (1, 12, 14, 0);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, memKind,
    memoryOperationType) VALUES (1700, 281476654432256, 0, 1, 16, 0, 1000, 2, 0), (1800, 281476654432256, 0, 1, 32, 0, 400, 2, 1);
INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 3, 1, 'Profiling has started.', -144115188075855872),
    (50, 1, 1, 2, 'hello', 281476654432256);
INSERT INTO SL_LOST_EVENTS VALUES (7000, 7100, 281476654432357, 'full ring', 3);
