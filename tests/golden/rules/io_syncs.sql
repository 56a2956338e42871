-- Thread 101 calls fsync every 50 ms for 3 ms, 20 times: 60 ms in 953 ms, 20.98 per second. One would do: cost
-- 60 ms * 19/20 = 57 ms. Thread 102 syncs 19 times.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'fsync'),(3,'/data/journal'),(4,'writer'),(5,'msync'),(6,'/data/other');
INSERT INTO ThreadNames VALUES(4,20,(1<<48)+(100<<24)+101);
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 19)
INSERT INTO OSRT_API
SELECT i * 50000000, i * 50000000 + 3000000, 27, (1<<48)+(100<<24)+101, 2, 0, 0, 0, 0, 3, NULL, 3, NULL, NULL, NULL, NULL FROM i
UNION ALL
SELECT i * 50000000, i * 50000000 + 5000000, 27, (1<<48)+(100<<24)+102, 2, 0, 0, 0, 0, 3, NULL, 6, NULL, NULL, NULL, NULL FROM i WHERE i < 19;
