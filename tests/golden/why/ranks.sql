-- Two processes that reduce together, with a GPU each. Times in ms * 1,000,000. The first (100): 0-10 computes at a.py:1; 10-11 launches
-- a kernel of NCCL (12-40, GPU 0) at a.py:2; 11-41 waits for it at a.py:3. The second (200): sleeps 1-20 at a.py:20; 20-21 launches
-- w (22-30, GPU 1) at a.py:21; sleeps 21-35 at a.py:22; 35-36 launches its kernel of NCCL (37-40, GPU 1) at a.py:23; 36-41 waits for
-- it at a.py:3. So the first waits from 12 to 37 for the second: asleep 12-20 at a.py:20, being launched 20-21, not yet begun 21-22,
-- w 22-30, asleep 30-35 at a.py:22, being launched 35-36, not yet begun 36-37.
INSERT INTO StringIds VALUES (2, 'f'), (10, 'cudaLaunchKernel'), (11, 'cudaDeviceSynchronize'), (13, 'clock_nanosleep'), (30, '/home/me/a.py'),
	(41, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (42, 'w');
INSERT INTO ANALYSIS_DETAILS VALUES (1<<48, 41000000, 0, 41000000);
INSERT INTO SL_PROCESS_TREE VALUES ((1<<48)|(100<<24), NULL, 0, 41000000, 0, 1, '/usr/bin/python3', 'python3 a.py', 0),
	((1<<48)|(200<<24), (1<<48)|(100<<24), 0, 41000000, 0, 1, '/usr/bin/python3', 'python3 a.py', 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, NULL, 1), (1, 0, 200, NULL, 1);
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry)
SELECT column1, 1, 2, 30, 30, column1, 0, 0, 0, 0 FROM (VALUES (1), (2), (3), (20), (21), (22), (23));
INSERT INTO SL_STACKS SELECT id, 0, id FROM SL_FRAMES;
CREATE TEMP TABLE g AS SELECT column1 AS p, (1<<48)|(column1<<24)|column1 AS tid FROM (VALUES (100), (200));
INSERT INTO SCHED_EVENTS SELECT column2 * 1000000, 0, column3, tid, 2, NULL FROM (VALUES
	(100, 0, 1), (100, 11, 0), (100, 41, 1), (200, 0, 1), (200, 1, 0), (200, 20, 1), (200, 21, 0), (200, 35, 1), (200, 36, 0), (200, 41, 1))
	JOIN g ON p = column1 ORDER BY column2;
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
SELECT column1 * 1000000, column2 * 1000000, 27, tid, 13, 0, 0, column3, 0, NULL FROM (VALUES (1, 20, 20), (21, 35, 22)) JOIN g ON p = 200;
INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId)
SELECT column1 * 1000000, 0, 1, tid, 1, 1 FROM (VALUES (5), (10)) JOIN g ON p = 100;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId)
SELECT column2 * 1000000, column3 * 1000000, 0, tid, column5, column4, 0, column6 FROM (VALUES
	(100, 10, 11, 10, 1, 2), (100, 11, 41, 11, 2, 3), (200, 20, 21, 10, 3, 21), (200, 35, 36, 10, 4, 23), (200, 36, 41, 11, 5, 3))
	JOIN g ON p = column1;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName,
	registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread,
	localMemoryTotal, gridId, tensorSizeMinusOneElements)
SELECT column2 * 1000000, column3 * 1000000, 0, 1, 7, column4, tid & ~0xffffff, column5, column5, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]'
FROM (VALUES (100, 12, 40, 1, 41), (200, 22, 30, 3, 42), (200, 37, 40, 4, 41)) JOIN g ON p = column1;
