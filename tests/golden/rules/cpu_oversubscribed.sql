-- Two CPUs, four threads of process 100 that take turns: 101 and 102 run from 0 to 200 ms and from 400 to 600, 103 and
-- 104 from 200 to 400 and from 600 to 700; from 200 to 600 all four want to. So 4 on average for 400 ms, 40 % of the
-- second that the program takes; each of them stands in the queue for 200 ms, together 800 ms; they run for 1.4 s.
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'worker');
INSERT INTO PROCESSES VALUES((1<<48)+(100<<24),100,'job');
INSERT INTO ThreadNames VALUES(2,20,(1<<48)+(100<<24)+101),(2,20,(1<<48)+(100<<24)+102),(2,20,(1<<48)+(100<<24)+103),
	(2,20,(1<<48)+(100<<24)+104);
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE turn(tid, cpu, start, end, state);
INSERT INTO turn VALUES(101,0,0,200,1),(101,0,400,600,5),(102,1,0,200,1),(102,1,400,600,5),
	(103,0,200,400,1),(103,0,600,700,5),(104,1,200,400,1),(104,1,600,700,5);
INSERT INTO SCHED_EVENTS
SELECT start * 1000000, cpu, 1, (1<<48)+(100<<24)+tid, NULL, NULL FROM turn
UNION ALL SELECT end * 1000000, cpu, 0, (1<<48)+(100<<24)+tid, state, NULL FROM turn;
