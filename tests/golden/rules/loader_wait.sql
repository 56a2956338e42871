-- A run of 1 s. Process 100 asks its DataLoader (main of train.py:88): poll from 100 to 200 ms, inside of it a read from 150 to
-- 170 ms, and another poll from 300 to 340 ms: 140 ms in 3 calls. Its worker 200 reads at train.py:9 for 60 ms, which has
-- the DataLoader in its stack as well, and waits in poll for 500 ms, which is no work. The read of 200 ms is not the loader's.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'poll'),(3,'read'),(4,'trainer');
INSERT INTO ThreadNames VALUES(4,20,(1<<48)+(100<<24)+100);
INSERT INTO SL_PROCESS_TREE(globalPid, parentGlobalPid, start, kind, traced) VALUES((1<<48)+(100<<24),NULL,0,2,1),
	((1<<48)+(200<<24),(1<<48)+(100<<24),0,1,1);
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, callchainId, argumentsId) VALUES
	(0,1000000000,27,(1<<48)+(300<<24)+300,1,0,0,0),
	(100000000,200000000,27,(1<<48)+(100<<24)+100,2,0,5,0),
	(150000000,170000000,27,(1<<48)+(100<<24)+100,3,0,5,0),
	(500000000,700000000,27,(1<<48)+(100<<24)+100,3,0,1,0),
	(300000000,340000000,27,(1<<48)+(100<<24)+100,2,0,5,0),
	(400000000,460000000,27,(1<<48)+(200<<24)+200,3,0,6,0),
	(460000000,960000000,27,(1<<48)+(200<<24)+200,2,0,6,0);
