-- Two threads of process 100. Thread 100: cuDNN at 1000-9000 launches a kernel of 500 and calls cuBLAS (2000-4000), which
-- launches one of 300; behind that another of 200 (5000). Thread 101 at the same time: a product of 64 x 32 x 16, twice, each
-- with a kernel of 1,000 ns, and one of complex numbers, 4 in a batch, 8 x 8 x 8, kernel 4,096 ns. A launch between the calls,
-- one in a graph, one of another process with the same correlation id. NCCL: 1,000 elements, no kernel.
INSERT INTO StringIds VALUES(1,'cudnnBackendExecute'),(2,'cublasSgemm_v2'),(3,'cublasGemmStridedBatchedEx'),(4,'ncclAllReduce'),(5,'nccl'),
	(6,'cudaLaunchKernel_v7000'),(7,'kernel'),(8,'cublasCreate_v2');
INSERT INTO CUDNN_EVENTS(start,end,eventClass,globalTid,nameId,callId,returnValue) VALUES(1000,9000,28,(100<<24)+100,1,1001,0);
INSERT INTO CUBLAS_EVENTS(start,end,eventClass,globalTid,nameId,callId,returnValue) VALUES(2000,4000,29,(100<<24)+100,2,1002,0),
	(1000,2000,29,(100<<24)+101,2,1003,0),(3000,7000,29,(100<<24)+101,2,1004,0),(8000,8500,29,(100<<24)+101,3,1005,0),
	(100,200,29,(100<<24)+101,8,1006,0);
INSERT INTO SL_LIBRARY_API(start,end,globalTid,library,nameId,callId,returnValue,nestingLevel) VALUES(9000,9100,(100<<24)+101,5,4,1007,0,0);
INSERT INTO SL_GPU_ARGUMENTS VALUES(1002,0,33,2),(1002,1,34,2),(1002,2,35,2),(1003,0,33,64),(1003,1,34,32),(1003,2,35,16),(1004,0,33,64),
	(1004,1,34,32),(1004,2,35,16),(1005,0,33,8),(1005,1,34,8),(1005,2,35,8),(1005,3,36,4),(1005,4,37,4),(1007,0,26,1000),(1007,1,27,7);
CREATE TEMP TABLE work(tid, at, ns, node);
INSERT INTO work VALUES(100,1500,500,NULL),(100,3000,300,NULL),(100,5000,200,NULL),(101,1100,1000,NULL),(101,3100,1000,NULL),
	(101,8100,4096,NULL),(101,7500,10000,NULL),(101,3200,20000,5);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start,end,eventClass,globalTid,correlationId,nameId,returnValue)
SELECT at, at + 10, 0, (100<<24) + tid, rowid, 6, 0 FROM work;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,shortName,gridX,gridY,gridZ,
	blockX,blockY,blockZ,registersPerThread,staticSharedMemory,dynamicSharedMemory,localMemoryPerThread,localMemoryTotal,gridId,
	tensorSizeMinusOneElements,graphNodeId)
SELECT 10000, 10000 + ns, 0, 1, 7, rowid, 100<<24, 7, 7, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]', node FROM work
UNION ALL SELECT 10000, 90000, 0, 1, 7, 4, 200<<24, 7, 7, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]', NULL;
