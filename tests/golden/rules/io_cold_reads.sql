-- Thread 101 reads 1 MB ten times, 10 ms each, every 20 ms from 0 on. In each it sleeps for the disk from ms 1 to 4 and
-- from 5 to 9, of which the last 1 ms is waiting for a CPU after the wakeup: 6 ms of disk. Together 60 ms.
-- Not meant: a sleep for something else in the read at 200, one outside any call at 220, one in a write at 240; open of
-- the file that is written; thread 102, which reads as slowly but never sleeps.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'read'),(3,'/data/cold.bin'),(4,'reader'),(5,'write'),(6,'/data/out'),(7,'open'),
	(8,'/data/warm.bin');
INSERT INTO ThreadNames VALUES(4,20,(1<<48)+(100<<24)+101);
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 9)
INSERT INTO OSRT_API
SELECT i * 20000000, i * 20000000 + 10000000, 27, (1<<48)+(100<<24)+101, 2, 1000000, 0, 0, 0, 3, NULL, 3, 1000000, 1000000, NULL, NULL FROM i
UNION ALL
SELECT i * 20000000, i * 20000000 + 10000000, 27, (1<<48)+(100<<24)+102, 2, 1000000, 0, 0, 0, 3, NULL, 8, 1000000, 1000000, NULL, NULL FROM i;
INSERT INTO OSRT_API VALUES
	(200000000,210000000,27,(1<<48)+(100<<24)+101,2,1000000,0,0,0,3,NULL,3,1000000,1000000,NULL,NULL),
	(240000000,260000000,27,(1<<48)+(100<<24)+101,5,1000000,0,0,0,4,NULL,6,1000000,1000000,NULL,NULL),
	(270000000,290000000,27,(1<<48)+(100<<24)+101,7,4,0,0,0,4,NULL,6,NULL,NULL,NULL,NULL);
CREATE TABLE sleep(start, end, woken, state);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 9)
INSERT INTO sleep
SELECT i * 20000000 + 1000000, i * 20000000 + 4000000, i * 20000000 + 4000000, 3 FROM i
UNION ALL
SELECT i * 20000000 + 5000000, i * 20000000 + 9000000, i * 20000000 + 8000000, 3 FROM i;
INSERT INTO sleep VALUES(201000000,209000000,209000000,2),(220000000,235000000,235000000,3),(241000000,259000000,259000000,3),
	(271000000,289000000,289000000,3);
INSERT INTO SCHED_EVENTS
SELECT start, 0, 0, (1<<48)+(100<<24)+101, state, NULL FROM sleep UNION ALL SELECT end, 0, 1, (1<<48)+(100<<24)+101, NULL, NULL FROM sleep;
INSERT INTO SL_SCHED_DETAIL
SELECT start, (1<<48)+(100<<24)+101, 0, NULL, NULL, 120 FROM sleep
UNION ALL SELECT end, (1<<48)+(100<<24)+101, NULL, woken, NULL, 120 FROM sleep;
