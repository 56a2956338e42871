-- Kernels of process 100 on GPU 0 at ms 0-100, 200-300, 400-500 and 500.03-600. Worker 200, its child, reads from /data/a/ in
-- the first gap: 20 calls of 2 ms from ms 110 to 188, 4 ms from start to start, with 2 ms of decoding between: the
-- GPU waits for 78 ms, 13 % of the 600. (The gap of 30 us is none.)
-- Not meant: the worker's calls while the GPU is busy (ms 250); code that is loaded in the second gap (*.py, ms 310-390);
-- process 300, which does not work for 100 but has a GPU of its own, and reads all the time.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'read'),(3,'/data/a/1.jpg'),(4,'/data/a/2.jpg'),(5,'/code/x.py'),(6,'/data/b/1.jpg'),
	(7,'kernel');
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO SL_PROCESS_TREE VALUES((1<<48)+(100<<24),NULL,0,NULL,2,1,'/bin/python','train',NULL),
	((1<<48)+(200<<24),(1<<48)+(100<<24),0,NULL,1,1,'/bin/python','train',NULL),
	((1<<48)+(300<<24),NULL,0,NULL,2,1,'/bin/python','other',NULL);
CREATE TABLE busy(pid, start, end);
INSERT INTO busy VALUES(100,0,100000000),(100,200000000,300000000),(100,400000000,500000000),(100,500030000,600000000),
	(300,0,600000000);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName,
	shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,
	localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements)
SELECT start, end, 0, 1, 7, 1, (1<<48)+(pid<<24), 7, 7, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, '[]' FROM busy;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 19)
INSERT INTO OSRT_API
SELECT 110000000 + i * 4000000, 112000000 + i * 4000000, 27, (1<<48)+(200<<24)+200, 2, 1000, 0, 0, 0, 3, NULL, 3 + i % 2, 1000, 1000, NULL, NULL FROM i
UNION ALL
SELECT 310000000 + i * 4000000, 312000000 + i * 4000000, 27, (1<<48)+(200<<24)+200, 2, 1000, 0, 0, 0, 3, NULL, 5, 1000, 1000, NULL, NULL FROM i
UNION ALL
SELECT 100000000 + i * 20000000, 119000000 + i * 20000000, 27, (1<<48)+(300<<24)+300, 2, 1000, 0, 0, 0, 3, NULL, 6, 1000, 1000, NULL, NULL FROM i;
INSERT INTO OSRT_API VALUES(250000000,260000000,27,(1<<48)+(200<<24)+200,2,1000,0,0,0,3,NULL,3,1000,1000,NULL,NULL);
