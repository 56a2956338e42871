-- A main thread (100) with 20 steps: each computes 6 ms at a.py:1 and sleeps 4 ms at a.py:2; steps 6 and 13 sleep 14 ms.
-- In each of the first ten a range "inner" of domain "lib", from 4 ms after its start to its end: 10 * 2 ms computing,
-- 9 * 4 + 14 = 50 ms asleep; in that of step 2 another one. Thread 101 computes throughout and has such a range of 2 ms.
INSERT INTO StringIds VALUES (2, 'f'), (3, 'g'), (13, 'clock_nanosleep'), (30, '/home/me/a.py');
INSERT INTO ANALYSIS_DETAILS VALUES (1<<48, 220000000, 0, 220000000);
INSERT INTO SL_PROCESS_TREE VALUES ((1<<48)|(100<<24), NULL, 0, 220000000, 0, 1, '/usr/bin/python3', 'python3 a.py', 0);
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, unresolved, specialEntry)
SELECT column1, 1, column2, 30, 30, column3, 0, 0, 0, 0 FROM (VALUES (1, 2, 1), (2, 2, 2), (3, 3, 9));
INSERT INTO SL_STACKS SELECT column1, 0, column1 FROM (VALUES (1), (2), (3));
CREATE TEMP TABLE step(no, a, m, b);
WITH RECURSIVE s(no, a) AS (VALUES (1, 0) UNION ALL SELECT no + 1, a + 10 + 10 * (no IN (6, 13)) FROM s WHERE no < 20)
INSERT INTO step SELECT no, a * 1000000, (a + 6) * 1000000, (a + 10 + 10 * (no IN (6, 13))) * 1000000 FROM s;
CREATE TEMP VIEW t AS SELECT (1<<48)|(100<<24)|100 AS main, (1<<48)|(100<<24)|101 AS other;
INSERT INTO SCHED_EVENTS SELECT at, 0, i, main, 2, NULL FROM (SELECT a AS at, 1 AS i FROM step UNION ALL SELECT m, 0 FROM step
	UNION ALL SELECT 220000000, 0) JOIN t ORDER BY at;
INSERT INTO SCHED_EVENTS SELECT 0, 1, 1, other, 2, NULL FROM t;
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
SELECT m, b, 27, main, 13, 0, 0, 2, 0, NULL FROM step JOIN t;
INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId)
SELECT at, 0, 1, main, 1, 1 FROM (SELECT a + 3000000 AS at FROM step UNION ALL SELECT m FROM step) JOIN t ORDER BY at;
INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId) SELECT 2000000, 1, 1, other, 1, 3 FROM t;
INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT 0, NULL, 75, 'lib', main, 3 FROM t;
INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT a, b, 59, 'step ' || no, main, 0 FROM step JOIN t;
INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT a + 4000000, b, 59, 'inner', main, 3 FROM step JOIN t
	WHERE no <= 10;
INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId)
SELECT 15000000, 16000000, 59, 'inner', main, 3 FROM t UNION ALL SELECT 1000000, 3000000, 59, 'inner', other, 3 FROM t;
