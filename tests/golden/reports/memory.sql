-- memory.sql - behind the schema: process 7, with a device of 1,000 bytes. A pool holds 400 bytes of which 120 are in use at most, and is
-- trimmed; 100 bytes are there from before; 60 are never freed. The driver counts 500 to 700 bytes for the process.
DROP TABLE TARGET_INFO_GPU;
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, totalMemory INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1 << 48, 0, 1000);
INSERT INTO TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid, uuid, numMultiprocessors) VALUES (0, 0, 7, '', 1);
INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'cudaMallocAsync_v11020'), (3, 'grow'), (4, '/opt/run/prog'), (5, '/src/prog.c'), (6, 'main'),
	(7, '/usr/lib/libcudart.so.13'), (8, 'cudaMalloc');
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry) VALUES
	(1, 0, 8, 7, NULL, NULL, 0, 0, 0, 0), (2, 0, 3, 4, 5, 12, 0, 0, 0, 0), (3, 0, 6, 4, 5, 40, 0, 0, 0, 0);
INSERT INTO SL_STACKS VALUES (1, 0, 1), (1, 1, 2), (1, 2, 3);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(5, 15, 0, (1 << 48) + (7 << 24) + 7, 1, 1, 0, 1), (25, 35, 0, (1 << 48) + (7 << 24) + 7, 2, 2, 0, NULL),
	(45, 55, 0, (1 << 48) + (7 << 24) + 7, 3, 2, 0, NULL);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType, correlationId,
	localMemoryPoolAddress, localMemoryPoolReleaseThreshold, localMemoryPoolSize, localMemoryPoolUtilizedSize) VALUES
	(10, (1 << 48) + (7 << 24), 0, 1, 4096, 0, 60, 2, 0, 1, NULL, NULL, NULL, NULL),
	(30, (1 << 48) + (7 << 24), 0, 1, 8192, 0, 50, 2, 0, 2, 64, 0, 400, 50),
	(50, (1 << 48) + (7 << 24), 0, 1, 8256, 0, 70, 2, 0, 3, 64, 0, 400, 120),
	(60, (1 << 48) + (7 << 24), 0, 1, 1024, 0, 100, 2, 1, 4, NULL, NULL, NULL, NULL),
	(70, (1 << 48) + (7 << 24), 0, 1, 8192, 0, 50, 2, 1, 5, 64, 0, 400, 70),
	(80, (1 << 48) + (7 << 24), 0, 1, 8256, 0, 70, 2, 1, 6, 64, 0, 400, 0);
INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES
	(20, (1 << 48) + (7 << 24), 0, 64, 1, 1, NULL, NULL, 0, 0, 0), (90, (1 << 48) + (7 << 24), 0, 64, 3, 1, NULL, 0, 0, 32, 0);
INSERT INTO SL_COUNTERS VALUES (1, 'process', (1 << 48) + (7 << 24), NULL, 0, 'GPU Memory Used', 'B', 0), (2, 'gpu', 0, 'GPU', 0, 'Memory Used', 'B', 0);
INSERT INTO SL_COUNTER_SAMPLES VALUES (1, 5, 500), (1, 40, 700), (1, 55, NULL), (1, 95, 560), (2, 40, 900);
INSERT INTO SL_PROCESS_TREE(globalPid, start, end, kind, traced, exitStatus) VALUES ((1 << 48) + (7 << 24), 0, 100, 2, 1, 0);
