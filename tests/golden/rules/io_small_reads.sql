-- Thread 101 reads /data/a.bin in crumbs: 200 rows of 100 us (20 ms) and 1,800 shorter calls (30 ms), 64 bytes each:
-- 2,000 calls, 128,000 bytes, 50 ms. In pieces of 64 KiB two calls would do: cost 50 ms * (1 - 2/2000) = 49.95 ms.
-- Not meant: /data/big.bin (8,192 bytes per call), /data/few.bin (99 calls), the socket, thread 102, which reads a pipe, thread 103,
-- which reads a stream's buffer (fread) and has rows of the calls that fill it.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'pread64'),(3,'read'),(4,'/data/a.bin'),(5,'/data/big.bin'),
	(6,'/data/few.bin'),(7,'socket:[5]'),(8,'pipe:[6]'),(9,'loader'),(10,'poller'),
	(11,'fread'),(12,'libc'),(13,'/data/stream.bin');
INSERT INTO SL_FUNCTIONS(nameId, library, io, isStdio) VALUES(2,12,3,0),(3,12,3,0),(11,12,3,1);
INSERT INTO ThreadNames VALUES(9,20,(1<<48)+(100<<24)+101),(10,20,(1<<48)+(100<<24)+102);
-- wall: one second
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 199)
INSERT INTO OSRT_API
SELECT i * 1000000, i * 1000000 + 100000, 27, (1<<48)+(100<<24)+101, 2, 64, 0, 0, 0, 3, NULL, 4, 64, 64, NULL, NULL FROM i
UNION ALL
SELECT i * 1000000 + 200000, i * 1000000 + 300000, 27, (1<<48)+(100<<24)+101, 2, 8192, 0, 0, 0, 4, NULL, 5, 8192, 8192, NULL, NULL FROM i
UNION ALL
SELECT i * 1000000 + 400000, i * 1000000 + 500000, 27, (1<<48)+(100<<24)+101, 2, 10, 0, 0, 0, 5, NULL, 6, 10, 10, NULL, NULL FROM i WHERE i < 99
UNION ALL
SELECT i * 1000000 + 500000, i * 1000000 + 900000, 27, (1<<48)+(100<<24)+101, 3, 10, 0, 0, 0, 6, NULL, 7, 10, 10, NULL, NULL FROM i
UNION ALL
SELECT i * 1000000 + 500000, i * 1000000 + 900000, 27, (1<<48)+(100<<24)+102, 3, 10, 0, 0, 0, 7, NULL, 8, 10, 10, NULL, NULL FROM i
UNION ALL
SELECT i * 1000000, i * 1000000 + 900000, 27, (1<<48)+(100<<24)+103, 11, 1, 0, 0, 0, 8, NULL, 13, 1, 1, NULL, NULL FROM i;
INSERT INTO SL_OSRT_TOTALS VALUES((1<<48)+(100<<24)+101, 0, 2, 1800, 30000000, 100, 999, 115200, 0, 0, 0, 0),
	((1<<48)+(100<<24)+102, 0, 3, 100000, 90000000, 100, 999, 800000, 0, 0, 0, 0),
	((1<<48)+(100<<24)+103, 0, 11, 100000, 90000000, 100, 999, 100000, 0, 0, 0, 0);
