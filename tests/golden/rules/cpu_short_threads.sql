-- In one second thread 101 (server) makes 400 threads with 100 us each, and 100 with 50 us of which there are no rows: 500
-- threads, 45 ms. 102 makes 499.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'pthread_create'),(3,'server');
INSERT INTO ThreadNames VALUES(3,20,(1<<48)+(100<<24)+101);
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 498)
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId)
SELECT i * 2000000, i * 2000000 + 100000, 27, (1<<48)+(100<<24)+101, 2, 0, 0, 0 FROM i WHERE i < 400
UNION ALL
SELECT i * 2000000, i * 2000000 + 100000, 27, (1<<48)+(100<<24)+102, 2, 0, 0, 0 FROM i;
INSERT INTO SL_OSRT_TOTALS VALUES((1<<48)+(100<<24)+101, 0, 2, 100, 5000000, 40000, 60000, 0, 0, 0, 0, 0);
