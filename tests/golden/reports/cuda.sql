-- cuda.sql - two processes, 100 and 101, that use the same correlation ids; 101 calls the second GPU its device 0.
-- Every packed id is (1 << 48) + something: without that summand, too, the reports must say the same.
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES
	(1, 'cudaLaunchKernel_v7000'), (2, 'cudaLaunchKernel'), (3, 'cudaGraphLaunch_v10000'), (4, 'cudaMemcpyAsync_v3020'),
	(5, 'cudaLaunchKernelExC_v11060'), (6, 'cudaMemset_v3020'), (7, 'cudaDeviceSynchronize_v3020'), (8, 'cuLaunchKernel_v70'),
	(10, 'void add<float>(float const*, float*)'), (11, 'add'), (12, '_Z3addIfEvPKfPf'),
	(13, 'void add<double>(double const*, double*)'), (14, '_Z3addIdEvPKdPd'), (15, 'scale(float*, "x")'), (16, 'scale'),
	(20, 'main'), (21, 'worker'), (22, 'step'), (23, 'forward'), (30, '0x5581'), (31, 'touch()'), (40, 'read'), (41, 'futex');
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (20, 20, (1 << 48) + 100 * (1 << 24) + 100), (21, 19, (1 << 48) + 100 * (1 << 24) + 102);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (1 << 48, 0, 'NVIDIA A'), (1 << 48, 1, 'NVIDIA B');
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 1, 100), (1, 0, 101);

CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
	correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(1000, 1100, 0, (1 << 48) + 100 * (1 << 24) + 100, 1, 1, 0, NULL),  -- in step
	(1200, 1500, 0, (1 << 48) + 100 * (1 << 24) + 100, 2, 1, 0, NULL),  -- in forward, in step
	(1600, 1650, 0, (1 << 48) + 100 * (1 << 24) + 100, 3, 2, 0, NULL),  -- behind forward, in step
	(1700, 1900, 0, (1 << 48) + 100 * (1 << 24) + 100, 4, 3, 0, NULL),  -- a graph of two kernels; reaches over the end of step
	(2000, 2040, 0, (1 << 48) + 100 * (1 << 24) + 102, 5, 1, 0, NULL),  -- another thread: only the range that has no end
	(2100, 2160, 0, (1 << 48) + 100 * (1 << 24) + 102, 6, 4, 0, NULL),
	(2200, 2210, 0, (1 << 48) + 100 * (1 << 24) + 102, 7, 6, 0, NULL),
	(2300, 9300, 0, (1 << 48) + 100 * (1 << 24) + 102, 8, 7, 700, NULL), -- an error
	(1000, 1200, 0, (1 << 48) + 101 * (1 << 24) + 101, 1, 5, 0, NULL),  -- five digits stay
	(1300, 1400, 0, (1 << 48) + 101 * (1 << 24) + 101, 2, 8, 0, NULL),  -- two digits stay; in a range of another domain
	(1500, 1510, 0, (1 << 48) + 101 * (1 << 24) + 101, NULL, 7, 0, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
	greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
	shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
	gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
	dynamicSharedMemory INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
	(1150, 2150, 0, 1, 0, 7, 1, (1 << 48) + 100 * (1 << 24), 10, 11, 12, 32, 8, 1, 1, 128, 1, 1, 1024, 0),
	(1400, 3400, 0, 1, 0, 7, 2, (1 << 48) + 100 * (1 << 24), 10, 11, 12, 32, 8, 1, 1, 128, 1, 1, 1024, 49152), -- before its call returned
	(1650, 2150, 0, 1, NULL, 13, 3, (1 << 48) + 100 * (1 << 24), 13, 11, 14, 255, 16, 2, 1, 128, 1, 1, 0, 0), -- just when
	(3500, 3600, 0, 1, 0, 7, 4, (1 << 48) + 100 * (1 << 24), 15, 16, NULL, 16, 8, 1, 1, 128, 1, 1, 0, 0),
	(3600, 3900, 1, 2, 3, 7, 4, (1 << 48) + 100 * (1 << 24), 10, 11, 12, 32, 8, 1, 1, 256, 1, 1, 0, 0),
	(2050, 2150, 0, 1, 0, 7, 5, (1 << 48) + 100 * (1 << 24), 999, 999, NULL, 16, 70000, 1, 1, 1, 1, 1, 0, 0), -- a name that is not there
	(1250, 1350, 0, 1, 0, 7, 1, (1 << 48) + 101 * (1 << 24), 15, 16, NULL, 16, 1, 1, 1, 32, 1, 1, 0, 0),
	(1380, 1390, 0, 1, 0, 7, 2, (1 << 48) + 101 * (1 << 24), 15, 16, NULL, 16, 1, 1, 1, 32, 1, 1, 0, 0), -- over before its call returned
	(9000, 9005, 0, 1, 0, 7, 77, (1 << 48) + 101 * (1 << 24), 15, 16, NULL, 16, 1, 1, 1, 32, 1, 1, 0, 0); -- its call was not seen
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER,
	dstKind INTEGER, virtualAddress INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
	(2200, 2400, 0, 1, 7, 6, (1 << 48) + 100 * (1 << 24), 4000000, 1, 0, 2, NULL), (2500, 2600, 0, 1, 7, 9, (1 << 48) + 100 * (1 << 24), 1000600, 1, 1, 2, NULL),
	(2700, 2701, 0, 1, 7, 10, (1 << 48) + 100 * (1 << 24), 499, 2, 2, 0, NULL), (2710, 2720, 0, 1, 7, 11, (1 << 48) + 100 * (1 << 24), 500, 0, 7, 7, NULL),
	(2720, 2730, 0, 1, 7, 12, (1 << 48) + 100 * (1 << 24), 3000, 3, 1, 3, NULL), (2730, 2740, 0, 1, 7, 13, (1 << 48) + 100 * (1 << 24), 4000, 4, 3, 1, NULL),
	(2740, 2750, 0, 1, 7, 14, (1 << 48) + 100 * (1 << 24), 5000, 5, 3, 3, NULL), (2750, 2760, 0, 1, 7, 15, (1 << 48) + 100 * (1 << 24), 6000, 6, 3, 2, NULL),
	(2760, 2770, 0, 1, 7, 16, (1 << 48) + 100 * (1 << 24), 7000, 7, 2, 3, NULL), (2770, 2780, 0, 1, 7, 17, (1 << 48) + 100 * (1 << 24), 8000, 8, 2, 2, NULL),
	(2780, 2790, 0, 1, 7, 18, (1 << 48) + 100 * (1 << 24), 9000, 9, 1, 1, NULL), (2790, 2800, 0, 1, 7, 19, (1 << 48) + 100 * (1 << 24), 10000, 10, 2, 2, NULL),
	(2800, 2810, 0, 1, 7, 20, (1 << 48) + 100 * (1 << 24), 13000, 13, 4, 5, 0x7F0000030000), (2810, 2820, 0, 1, 7, 21, (1 << 48) + 100 * (1 << 24), 1, 99, 6, NULL, NULL),
	(4000, 4100, 0, 1, 7, 0, (1 << 48) + 100 * (1 << 24), 65536, 11, 7, 7, 0x7F0000010000), (4100, 4300, 0, 1, 7, 0, (1 << 48) + 100 * (1 << 24), 2097152, 11, 7, 7, 0x7F0000200000),
	(4400, 4500, 0, 1, 7, 0, (1 << 48) + 100 * (1 << 24), 4096, 12, 7, 7, 0x7F0000010000), (4500, 4500, 0, 1, 7, 0, (1 << 48) + 101 * (1 << 24), 4096, 12, 7, 7, 0x7F0000020000);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (2450, 3250, 0, 1, 7, 7, (1 << 48) + 100 * (1 << 24), 0, 272, 2),
	(2460, 2460, 0, 1, 7, 7, (1 << 48) + 101 * (1 << 24), 0, 1048576, 4);
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, CpuInstruction INTEGER NOT NULL);
INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (1, (1 << 48) + 100 * (1 << 24), 0x7F0000010000, 31), (2, (1 << 48) + 100 * (1 << 24), 0x7F0000010000, 30),
	(3, (1 << 48) + 100 * (1 << 24), 0x7F0000010000, 31), (4, (1 << 48) + 100 * (1 << 24), 0x7F0000040000, 998);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL);
INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (1, 5, (1 << 48) + 100 * (1 << 24), 0, 0x7F0000200000, 12, 1), (6, 9, (1 << 48) + 100 * (1 << 24), 0, 0x7F0000200000, 3, 2);

CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS VALUES
	(900, 1800, 59, NULL, (1 << 48) + 100 * (1 << 24) + 100, 22, 0),       -- step, until the middle of the graph's launch
	(1200, 1500, 59, NULL, (1 << 48) + 100 * (1 << 24) + 100, 23, 0),      -- forward, exactly as long as its call
	(1550, 1600, 59, 'over by then', (1 << 48) + 100 * (1 << 24) + 100, NULL, 0),
	(1640, 1700, 59, 'too late', (1 << 48) + 100 * (1 << 24) + 100, NULL, 0),
	(1650, 1650, 59, 'of no length', (1 << 48) + 100 * (1 << 24) + 100, NULL, 0),
	(1000, 2000, 60, 'start/end', (1 << 48) + 100 * (1 << 24) + 100, NULL, 0),
	(1900, NULL, 59, 'never ended', (1 << 48) + 100 * (1 << 24) + 102, NULL, 0),
	(0, NULL, 75, 'lib', (1 << 48) + 101 * (1 << 24) + 101, NULL, 1),
	(900, 1350, 59, 'epoch', (1 << 48) + 101 * (1 << 24) + 101, NULL, 0),  -- does not nest with the ranges of lib
	(950, 1250, 59, 'lib call', (1 << 48) + 101 * (1 << 24) + 101, NULL, 1),
	(1260, 1500, 59, 'lib again', (1 << 48) + 101 * (1 << 24) + 101, NULL, 1);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL,
	returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);
INSERT INTO OSRT_API VALUES (0, 1000, 27, 1, 40, 0, 0, 0), (0, 1000, 31, 1, 40, 0, 0, 0), (2000, 5000, 27, 1, 40, 0, 0, 0), (6000, 10000, 27, 1, 41, 0, 0, 0);
CREATE TABLE SYSCALL (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);
INSERT INTO SYSCALL VALUES (0, 7, 107, 1, 41);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (0, 'UNKNOWN', 'Unknown'), (1, 'HTOD', 'Host-to-Device'), (2, 'DTOH', 'Device-to-Host'),
	(3, 'HTOA', 'Host-to-Array'), (4, 'ATOH', 'Array-to-Host'), (5, 'ATOA', 'Array-to-Array'), (6, 'ATOD', 'Array-to-Device'),
	(7, 'DTOA', 'Device-to-Array'), (8, 'DTOD', 'Device-to-Device'), (9, 'HTOH', 'Host-to-Host'), (10, 'PTOP', 'Peer-to-Peer'),
	(11, 'UVM_HTOD', 'Unified Host-to-Device'), (12, 'UVM_DTOH', 'Unified Device-to-Host'), (13, 'UVM_DTOD', 'Unified Device-to-Device');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, '', 'Pageable'), (1, '', 'Pinned'), (2, '', 'Device'), (3, '', 'Array'), (4, '', 'Managed'),
	(5, '', 'Device Static'), (6, '', 'Managed Static'), (7, '', 'Unknown');
