-- Tables with the columns that rules look at, as reports of nsys of some age have them: whatever else
-- rules name, reads as NULL. The files beside this one fill them.
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
	correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
	correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
	correlationId INTEGER, globalPid INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE PROFILER_OVERHEAD(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start INTEGER, end INTEGER, globalTid INTEGER, overheadType INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, memKind INTEGER,
	memoryOperationType INTEGER);
CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId INTEGER, processId INTEGER, contextId INTEGER, flag INTEGER);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, smCount INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS(typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
CREATE TABLE GPU_METRICS(rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER, exact REAL);
CREATE TABLE SL_COUNTERS(id INTEGER PRIMARY KEY, scope TEXT, scopeId INTEGER, scopeName TEXT, gpuId INTEGER, name TEXT, unit TEXT, isSum INTEGER);
CREATE TABLE SL_COUNTER_SAMPLES(counterId INTEGER, timestamp INTEGER, value REAL);
CREATE TABLE SL_GPU_EVENTS(timestamp INTEGER, gpuId INTEGER, kind TEXT, code INTEGER, gpuInstance INTEGER, computeInstance INTEGER);
INSERT INTO StringIds VALUES (0, ''), (1, 'cudaGetDevice_v3020'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaMemcpy_v3020'),
	(4, 'cuMemcpyDtoHAsync_v2'), (5, 'cuMemcpyHtoD_v2'), (6, 'cudaMemset_v3020'), (7, 'cudaMemsetAsync_v3020'),
	(8, 'cudaDeviceSynchronize_v3020'), (9, 'cuStreamSynchronize'), (10, 'cudaEventSynchronize_v3020'),
	(11, 'cudaMalloc_v3020'), (12, 'cudaFree_v3020'), (13, 'cudaLaunchKernel_v7000'), (14, 'cuModuleLoadData'),
	(15, 'cudaMemcpy2D_v3020'), (16, 'cuLibraryLoadData'), (17, 'cudaStreamSynchronize_v3020'), (18, 'cuMemAlloc_v2'),
	(30, 'axpy'), (31, 'axpy(float *, float)'), (32, 'gemm'), (33, 'gemm(float *)'), (34, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),
	(35, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)');
