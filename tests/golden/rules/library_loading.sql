-- A run of 1 s. Thread 101 opens libraries from 0 to 150 ms, in it another from 50 to 90 ms, and one from 200 to 260 ms: 210 ms
-- in 2 calls. Thread 102 does for 20 ms.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'dlopen'),(4,'python3');
INSERT INTO ThreadNames VALUES(4,20,(1<<48)+(100<<24)+101);
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId) VALUES
	(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0),
	(0,150000000,27,(1<<48)+(100<<24)+101,2,0,0,0),
	(50000000,90000000,27,(1<<48)+(100<<24)+101,2,0,0,0),
	(200000000,260000000,27,(1<<48)+(100<<24)+101,2,0,0,0),
	(0,20000000,27,(1<<48)+(100<<24)+102,2,0,0,0);
