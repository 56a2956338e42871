-- Threads 101, 102, 103 (worker) of process 100 run for 300, 200 and 100 ms while the first waits for them in
-- pthread_join for 400: 100/300 < 1/2, cost 300 - 200 = 100 ms. 104 has another name, 105 did next to nothing (5 ms).
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'worker'),(3,'other'),(4,'pthread_join'),(5,'pthread_barrier_wait');
INSERT INTO PROCESSES VALUES((1<<48)+(100<<24),100,'job'),((1<<48)+(200<<24),200,'rank'),((1<<48)+(201<<24),201,'rank');
INSERT INTO ThreadNames VALUES(2,20,(1<<48)+(100<<24)+101),(2,20,(1<<48)+(100<<24)+102),(2,20,(1<<48)+(100<<24)+103),
	(3,20,(1<<48)+(100<<24)+104),(2,20,(1<<48)+(100<<24)+105);
INSERT INTO OSRT_API VALUES
	(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
	(0,400000000,27,(1<<48)+(100<<24)+100,4,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE turn(tid, start, end);
INSERT INTO turn VALUES(101,0,150),(101,250,400),(102,0,200),(103,0,100),(104,0,20),(105,0,5);
INSERT INTO SCHED_EVENTS
SELECT start * 1000000, 0, 1, (1<<48)+(100<<24)+tid, NULL, NULL FROM turn
UNION ALL SELECT end * 1000000, 0, 0, (1<<48)+(100<<24)+tid, 2, NULL FROM turn;
