-- A main thread (100) that works with GPU 0, and thread 101 with GPU 3 (CUDA's number in the process: 1). Times in ms * 1,000,000.
-- Main thread: 0-10 computes at a.py:1; 10-11 launches k1 (11.5-20) at a.py:2; 11-12 cuBLAS there launches k2 (20-30);
-- 12-31 waits for both at a.py:3; 31-48 sleeps at a.py:4, has a CPU again at 50; 50-51 starts a copy (52-60) at a.py:5; 51-52 launches k3 (58-70) at
-- a.py:2; 52-71 waits at a.py:3; 71-80 waits at a.py:6 for a lock, in which 101 sleeps at a.py:20; 80-81 launches k4 (82-90) at
-- a.py:2; 81-91 waits at a.py:3; 91-100 computes at a.py:1. Thread 101 launches k5 (94-97) from 92 to 93 at a.py:21.
--
-- GPU 0, 10-90: kernels 8.5 + 10 + 12 + 8 = 38.5 (58-60 k3 beside the copy); copies alone 52-58; being launched 10-11, 50-51,
-- 80-81; launched, not yet begun 11-11.5, 51-52, 81-82; host 30-50 and 70-80: at a.py:3 1 + 1, asleep at a.py:4 17, 2 without a CPU, lock 9.
-- Main thread: the wait until 31 is needless: nothing runs on a GPU until 52, which is longer than the 18 ms of work in it; of that
-- until 71 the last 11 ms are (until 82), of that until 91 the last 3 (until k5 begins).
INSERT INTO StringIds VALUES (2, 'f'), (3, 'g'), (10, 'cudaLaunchKernel_v7000'), (11, 'cudaDeviceSynchronize_v3020'), (12, 'cudaMemcpyAsync_v3020'),
	(13, 'clock_nanosleep'), (14, 'sem_wait'), (15, 'cublasSgemm'), (30, '/home/me/a.py'), (41, 'k1'), (42, 'k2'), (43, 'k3'), (44, 'k4'),
	(45, 'k5');
INSERT INTO ANALYSIS_DETAILS VALUES (1<<48, 110000000, 0, 110000000);
INSERT INTO SL_PROCESS_TREE VALUES ((1<<48)|(100<<24), NULL, 0, 100000000, 0, 1, '/usr/bin/python3', 'python3 a.py', 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, NULL, 1), (3, 1, 100, NULL, 1);
-- Stack n is a.py:n
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry)
SELECT column1, 1, 2, 30, 30, column1, 0, 0, 0, 0 FROM (VALUES (1), (2), (3), (4), (5), (6), (20), (21));
INSERT INTO SL_STACKS SELECT id, 0, id FROM SL_FRAMES;
CREATE TEMP VIEW g AS SELECT (1<<48)|(100<<24) AS process;
CREATE TEMP TABLE sw(tid, t, i, wake, waker);
INSERT INTO sw VALUES (100, 0, 1, NULL, NULL), (100, 12, 0, NULL, NULL), (100, 31, 1, 31, NULL), (100, 31, 0, NULL, NULL), (100, 50, 1, 48, NULL),
	(100, 52, 0, NULL, NULL), (100, 71, 1, 71, NULL), (100, 71, 0, NULL, NULL), (100, 80, 1, 80, 101), (100, 81, 0, NULL, NULL),
	(100, 91, 1, 91, NULL), (100, 100, 0, NULL, NULL),
	(101, 1, 1, 1, 100), (101, 2, 0, NULL, NULL), (101, 80, 1, 80, NULL), (101, 99, 0, NULL, NULL);
INSERT INTO SCHED_EVENTS SELECT t * 1000000, 0, i, process | tid, 2, NULL FROM sw JOIN g ORDER BY t, i DESC;
INSERT INTO SL_SCHED_DETAIL SELECT t * 1000000, process | tid, CASE i WHEN 0 THEN 0 END, wake * 1000000, process | waker, 120 FROM sw JOIN g
	WHERE i = 0 OR wake IS NOT NULL ORDER BY t, i DESC;
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
SELECT column2 * 1000000, column3 * 1000000, 27, process | column1, column4, 0, 0, column5, 0, NULL FROM (VALUES
	(100, 31, 50, 13, 4), (100, 71, 80, 14, 6), (101, 2, 80, 13, 20)) JOIN g;
INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId)
SELECT column1 * 1000000, 0, 1, process | 100, 1, 1 FROM (VALUES (5), (10), (95), (100)) JOIN g;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId)
SELECT column2 * 1000000, column3 * 1000000, 0, process | column1, column5, column4, 0, column6 FROM (VALUES
	(100, 10, 11, 10, 1, 2), (100, 11.2, 11.8, 10, 2, NULL), (100, 12, 31, 11, 3, 3), (100, 50, 51, 12, 4, 5), (100, 51, 52, 10, 5, 2),
	(100, 52, 71, 11, 6, 3), (100, 80, 81, 10, 7, 2), (100, 81, 91, 11, 8, 3), (101, 92, 93, 10, 9, 21)) JOIN g;
INSERT INTO CUBLAS_EVENTS(start, end, eventClass, globalTid, nameId, callId, returnValue, callchainId)
SELECT 11000000, 12000000, 29, process | 100, 15, 1, 0, 2 FROM g;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName,
	registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread,
	localMemoryTotal, gridId, tensorSizeMinusOneElements)
SELECT column1 * 1000000, column2 * 1000000, column3, 1, 7, column4, process, column5, column5, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]'
FROM (VALUES (11.5, 20, 0, 1, 41), (20, 30, 0, 2, 42), (58, 70, 0, 5, 43), (82, 90, 0, 7, 44), (94, 97, 1, 9, 45)) JOIN g;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind)
SELECT 52000000, 60000000, 0, 1, 8, 4, process, 1000, 1 FROM g;
