-- Stacks of samples, calls and launches, in the way a finished report has them. Goes on top of collector/schema.sql.
-- 281476654432256 = 1 << 48 | 100 << 24: process 100; + 100, + 101: its threads
INSERT INTO StringIds VALUES (1, 'python'), (2, 'train'), (3, 'step'), (4, 'load'), (5, 'at::native::gemm'), (6, 'inner<int>'),
    (7, '0x7f0000001234'), (8, 'Py_RunMain'), (9, 'vfs_read'), (10, 'jitted'), (11, 'loader'),
    (20, '/home/eva/train.py'), (21, '/home/eva/data.py'), (22, '/opt/torch/lib/libtorch_cpu.so'), (23, '/opt/lib/libfoo.so'),
    (24, '/usr/bin/python3.11'), (25, '[kernel.kallsyms]'), (26, '[anonymous]'), (27, 'gemm.h'), (28, 'gemm.cpp'),
    (30, 'read'), (31, 'pread64'), (32, 'write'), (33, 'poll'), (34, 'cudaLaunchKernel_v7000'), (35, 'cudaMemcpyAsync_v3020'),
    (36, 'cudaMalloc_v3020'), (37, 'cudaMallocAsync_v11020'), (38, 'gemm_kernel'), (39, 'void gemm_kernel<float>(float*)'),
    (40, '/data/a.bin'), (41, '/data/b.bin'), (42, '/home/eva/out.log'), (43, 'fsync'), (44, 'train@usr');
INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY', '1000');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '', 0, NULL);
INSERT INTO ANALYSIS_DETAILS VALUES (281474976710656, 100000, 0, 100000);
INSERT INTO PROCESSES VALUES (281476654432256, 100, 'python');
INSERT INTO ThreadNames VALUES (1, 20, 281476654432356), (11, 20, 281476654432357);
INSERT INTO SL_SPACES VALUES (1, NULL, 281476654432256);
INSERT INTO SL_MODULES VALUES (1, 0x10000, 0x20000, 0x10000, 0, 22, 'abcdef0123456789'), (1, 0x7f0000000000, 0x7f0000002000, 0x7f0000000000, 0, 23, NULL),
    (1, 0x400000, 0x800000, 0, 0, 24, '00ff');
INSERT INTO SL_FRAMES (id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry, originalIP, unwindMethod) VALUES
    (1, 1, 2, 20, 20, 10, 0, 0, 0, 0, NULL, 0), (2, 1, 3, 20, 20, 20, 0, 0, 0, 0, NULL, 0), (3, 1, 4, 21, 21, 5, 0, 0, 0, 0, NULL, 0),
    (4, 0, 5, 22, 28, 70, 0, 0, 0, 0, 0x10500, 6), (5, 0, 6, 22, 27, 7, 1, 0, 0, 0, 0x10500, 6), (6, 0, 7, 23, NULL, NULL, 0, 0, 1, 0, 0x7f0000001234, 6),
    (7, 0, 8, 24, NULL, NULL, 0, 0, 0, 0, 0x401000, 6), (8, 2, 9, 25, NULL, NULL, 0, 1, 0, 0, -2130706432, 0),
    (9, 1, 2, 20, 20, 11, 0, 0, 0, 0, NULL, 0), (10, 3, 10, 26, NULL, NULL, 0, 0, 0, 0, 0x9000, 1);
-- 1 gemm < step < train:10; 2 load < train:11; 3 the same as 1, in an inlined function; 4 an address < load < train:11;
-- 5 kernel < load < train:11; 6 jitted < step < train:10
INSERT INTO SL_STACKS VALUES (1, 0, 4), (1, 1, 2), (1, 2, 1), (1, 3, 7), (2, 0, 3), (2, 1, 9), (2, 2, 7), (3, 0, 5), (3, 1, 4), (3, 2, 2), (3, 3, 1), (3, 4, 7),
    (4, 0, 6), (4, 1, 3), (4, 2, 9), (4, 3, 7), (5, 0, 8), (5, 1, 3), (5, 2, 9), (5, 3, 7), (6, 0, 10), (6, 1, 2), (6, 2, 1), (6, 3, 7);
-- samples: 3 of stack 1, 2 of 3, one of 5, 6; of the other thread one of 2 and one without a stack; two as it came back to a CPU
INSERT INTO COMPOSITE_EVENTS (id, start, cpu, threadState, globalTid, cpuCycles, stackId) VALUES (1, 100, 0, 1, 281476654432356, 1, 1), (2, 200, 0, 1, 281476654432356, 1, 1), (3, 300, 0, 1, 281476654432356, 1, 1),
    (4, 400, 0, 1, 281476654432356, 1, 3), (5, 500, 0, 1, 281476654432356, 1, 3), (6, 600, 0, 1, 281476654432356, 1, 5), (7, 700, 0, 1, 281476654432356, 1, 6),
    (8, 100, 1, 1, 281476654432357, 1, 2), (9, 200, 1, 1, 281476654432357, 1, NULL),
    (10, 5000, 0, 1, 281476654432356, 0, 6), (11, 1400, 0, 1, 281476654432356, 0, 2);
-- away from 4000 to 5000: from the sample; from 1100 to 1400 within read: the call's time has it
INSERT INTO SCHED_EVENTS VALUES (1000, 0, 1, 281476654432356, NULL, NULL), (1100, 0, 0, 281476654432356, 2, NULL), (1400, 0, 1, 281476654432356, NULL, NULL),
    (4000, 0, 0, 281476654432356, 2, NULL), (5000, 0, 1, 281476654432356, NULL, NULL);
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId, bytesDone) VALUES
    (1000, 1500, 27, 281476654432356, 30, 100, 0, 2, 0, 40, 100), (1600, 1900, 27, 281476654432356, 31, 200, 0, 2, 0, 41, 200),
    (2000, 2700, 27, 281476654432357, 32, 50, 0, 4, 0, 42, 50), (2800, 2900, 27, 281476654432357, 30, 7, 0, 0, 0, NULL, 7),
    (2100, 2200, 27, 281476654432357, 33, 0, 1, 4, 0, NULL, NULL), (3000, 3040, 27, 281476654432356, 43, 0, 0, 6, 0, 42, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (6000, 6010, 0, 281476654432356, 11, 34, 0, 1), (6020, 6030, 0, 281476654432356, 12, 34, 0, 1),
    (6100, 6140, 0, 281476654432357, 13, 35, 0, 2), (6200, 6300, 0, 281476654432356, 14, 36, 0, 4), (6400, 6500, 0, 281476654432356, 15, 36, 0, NULL),
    (6600, 6650, 0, 281476654432356, 16, 37, 0, 6), (6700, 6710, 0, 281476654432356, 17, 36, 2, 4);
INSERT INTO SL_GPU_ARGUMENTS VALUES (14, 0, 0, 4096), (15, 0, 0, 1024), (16, 0, 0, 500), (17, 0, 0, 99999);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, registersPerThread,
    gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES
    (7000, 7300, 0, 1, 7, 11, 281476654432256, 39, 38, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0), (7400, 7900, 0, 1, 7, 12, 281476654432256, 39, 38, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0),
    (8000, 8040, 0, 1, 7, 99, 281476654432256, 39, 38, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, deprecatedSrcId, srcKind, dstKind) VALUES
    (8100, 8170, 0, 1, 7, 13, 281476654432256, 4096, 1, 0, 0, 2);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType, correlationId) VALUES
    (6610, 281476654432256, 0, 1, 0, 0, 512, 2, 0, 16), (9000, 281476654432256, 0, 1, 0, 0, 512, 2, 1, 16);
INSERT INTO OSRT_CALLCHAINS SELECT s.id, symbol, module, kernelMode, 0, unresolved, specialEntry, originalIP, unwindMethod, depth, file, line
    FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = frameId WHERE s.id IN (SELECT callchainId FROM OSRT_API);
INSERT INTO CUDA_CALLCHAINS SELECT s.id, symbol, module, kernelMode, 0, unresolved, specialEntry, originalIP, unwindMethod, depth, file, line
    FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = frameId WHERE s.id IN (SELECT callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME);
