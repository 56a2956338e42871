-- A main thread (100) that computes, waits for a lock that thread 101 holds in a sleep, reads from a socket to which
-- thread 102 sends after computing, waits for a child (200) that sleeps, loses the CPU, and sleeps. Times in ms * 1,000,000.
-- Each piece of main thread 100:  0-10 computes at a.py:1; 10-40 waits for the lock: 101 sleeps 10-38 at a.py:20, runs to 40;
-- 42 on the CPU again (2 ms without); 42-50 computes at a.py:1; 50-80 recv: 102 computes at a.py:30 from 50 to 80; 80-90 preempted;
-- 90-100 computes at a.py:2; 100-140 waitpid: child born at 104, sleeps from 105 to 139, ends at 140; 140-150 sleeps; 150-160
-- runs in read() of a file; ends at 160.
INSERT INTO StringIds VALUES (1, 'a.py'), (2, 'f'), (3, 'hold'), (4, 'serve'), (10, 'sem_wait'), (11, 'recv'), (12, 'waitpid'),
	(13, 'clock_nanosleep'), (14, 'read'), (15, 'send'), (20, 'tcp:127.0.0.1:80'), (21, '/data/x'), (22, 'tcp:127.0.0.1:9999'),
	(30, '/home/me/a.py'), (31, 'take_it');
INSERT INTO ANALYSIS_DETAILS VALUES (1<<48, 170000000, 0, 170000000);
INSERT INTO SL_PROCESS_TREE VALUES
	((1<<48)|(100<<24), NULL, 0, 160000000, 0, 1, '/usr/bin/python3', 'python3 a.py', 0),
	((1<<48)|(200<<24), (1<<48)|(100<<24), 104000000, 140000000, 2, 1, '/bin/sleep', 'sleep 1', 0);
-- Lines: 1 a.py:1 in f, 2 a.py:2 in f, 3 a.py:20 in hold, 4 a.py:30 in serve, 5 a.py:40 in f, 6 a.py:50 in f
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry)
SELECT column1, 1, column2, 30, 30, column3, 0, 0, 0, 0 FROM (VALUES (1, 2, 1), (2, 2, 2), (3, 3, 20), (4, 4, 30), (5, 2, 40), (6, 2, 50));
INSERT INTO SL_STACKS SELECT column1, 0, column1 FROM (VALUES (1), (2), (3), (4), (5), (6));
CREATE TEMP TABLE sw(tid, t, i, pre, wake, waker);
INSERT INTO sw VALUES
	(100, 0, 1, NULL, NULL, NULL), (100, 10, 0, 0, NULL, NULL), (100, 42, 1, NULL, 40, 101), (100, 50, 0, 0, NULL, NULL),
	(100, 80, 1, NULL, 80, NULL), (100, 80, 0, 1, NULL, NULL), (100, 90, 1, NULL, NULL, NULL), (100, 100, 0, 0, NULL, NULL),
	(100, 140, 1, NULL, 140, 200), (100, 140, 0, 0, NULL, NULL), (100, 150, 1, NULL, 150, NULL), (100, 160, 0, 0, NULL, NULL),
	(101, 1, 1, NULL, 1, 100), (101, 2, 0, 0, NULL, NULL), (101, 38, 1, NULL, 38, NULL), (101, 41, 0, 0, NULL, NULL),
	(102, 3, 1, NULL, 3, 100), (102, 81, 0, 0, NULL, NULL),
	(200, 104, 1, NULL, 104, 100), (200, 105, 0, 0, NULL, NULL), (200, 139, 1, NULL, 139, NULL), (200, 140, 0, 0, NULL, NULL);
CREATE TEMP VIEW tids AS SELECT column1 AS tid, (1<<48)|(column2<<24)|column1 AS g FROM (VALUES (100, 100), (101, 100), (102, 100), (200, 200));
INSERT INTO SCHED_EVENTS SELECT t * 1000000, 0, i, g, CASE WHEN pre = 1 THEN 1 ELSE 2 END, NULL FROM sw JOIN tids USING (tid) ORDER BY t, i DESC;
INSERT INTO SL_SCHED_DETAIL SELECT t * 1000000, x.g, pre, wake * 1000000, w.g, 120 FROM sw JOIN tids x USING (tid)
	LEFT JOIN tids w ON w.tid = waker WHERE pre IS NOT NULL OR wake IS NOT NULL ORDER BY t, i DESC;
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
SELECT a * 1000000, b * 1000000, 27, g, name, 0, 0, stack, 0, path FROM (
	SELECT column1 AS tid, column2 AS a, column3 AS b, column4 AS name, column5 AS stack, column6 AS path FROM (VALUES
	(100, 10, 42, 10, 5, NULL), (101, 2, 38, 13, 3, NULL), (100, 50, 80, 11, 5, 20), (102, 80, 80.01, 15, 4, 22),
	(100, 100, 140, 12, 6, NULL), (200, 105, 139, 13, 0, NULL), (100, 140, 150, 13, 6, NULL), (100, 150, 160, 14, 6, 21))) JOIN tids USING (tid);
INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId)
SELECT t * 1000000, 0, 1, g, 1, stack FROM (SELECT column1 AS tid, column2 AS t, column3 AS stack FROM (VALUES
	(100, 5, 1), (100, 10, 1), (100, 45, 1), (100, 50, 1), (100, 95, 2), (100, 100, 2), (101, 40, 3), (102, 60, 4), (102, 70, 4), (102, 80, 4)))
	JOIN tids USING (tid);
