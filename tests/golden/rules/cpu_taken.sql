-- Two CPUs, two threads of process 100: 102 runs from 0 to 700 ms, 101 from 0 to 200 and from 500 to 700, and wants to all the
-- time: for 300 ms, 30 % of the second that the program takes, something else has the CPU 0 (or nothing has it).
INSERT INTO StringIds VALUES(1,'nanosleep'),(2,'worker');
INSERT INTO PROCESSES VALUES((1<<48)+(100<<24),100,'job');
INSERT INTO ThreadNames VALUES(2,20,(1<<48)+(100<<24)+101),(2,20,(1<<48)+(100<<24)+102);
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE turn(tid, cpu, start, end, state);
INSERT INTO turn VALUES(101,0,0,200,1),(101,0,500,700,5),(102,1,0,700,5);
INSERT INTO SCHED_EVENTS
SELECT start * 1000000, cpu, 1, (1<<48)+(100<<24)+tid, NULL, NULL FROM turn
UNION ALL SELECT end * 1000000, cpu, 0, (1<<48)+(100<<24)+tid, state, NULL FROM turn;
