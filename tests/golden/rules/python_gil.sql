-- Threads 100 and 101 of a Python process: 100 waits 10 times for 5 ms in vain and twice for 1 ms with success: 52 ms; 101
-- 20 times in vain for 6 ms: 120 ms. Four CPUs, two threads: half of it could be won, 60 ms. 102 waits for something
-- else for 100 ms each; 201, of a program in C, for 5.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'pthread_cond_timedwait'),(3,'python3');
INSERT INTO PROCESSES VALUES((1<<48)+(100<<24),100,'python3'),((1<<48)+(200<<24),200,'server');
INSERT INTO ThreadNames VALUES(3,20,(1<<48)+(100<<24)+101);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(1<<48,'Local (CLI)','CpuCores',4,'4');
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 19)
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
SELECT i * 10000000, i * 10000000 + 5000000, 27, (1<<48)+(100<<24)+100, 2, 110, 0, 0 FROM i WHERE i < 10
UNION ALL
SELECT i * 10000000, i * 10000000 + 1000000, 27, (1<<48)+(100<<24)+100, 2, 0, 0, 0 FROM i WHERE i BETWEEN 10 AND 11
UNION ALL
SELECT i * 10000000, i * 10000000 + 6000000, 27, (1<<48)+(100<<24)+101, 2, 110, 0, 0 FROM i
UNION ALL
SELECT i * 10000000, i * 10000000 + CASE WHEN i < 9 THEN 5000000 ELSE 100000000 END, 27, (1<<48)+(100<<24)+102, 2, 110, 0, 0 FROM i
UNION ALL
SELECT i * 10000000, i * 10000000 + 5000000, 27, (1<<48)+(200<<24)+201 + i % 2, 2, 110, 0, 0 FROM i;
