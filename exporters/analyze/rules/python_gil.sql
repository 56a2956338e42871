-- title: Python's Interpreter Lock
-- about: Python threads that wait for each other because one at a time may run Python code. A thread that wants the lock asks
-- about: again every 5 ms: calls of pthread_cond_timedwait that end without success after that time give it away.
-- about: With --trace=python-gil the waiting itself is recorded, and looked at instead.
-- needs: OSRT_API or NVTX_EVENTS = OS Runtime trace
-- uses: names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 435
-- arg: waits=5, of a thread that lasted 5 ms, from which on it is looked at
-- advice: Processes instead of threads for what computes in Python (multiprocessing, DataLoader workers,
-- advice: ProcessPoolExecutor), or code that lets go of the lock: NumPy, PyTorch, C extensions, larger pieces per call.
-- advice: Free-threaded builds (python3.13t and later) have no such lock.
-- column: Wait (ns) = time waited for the lock
-- column: Waits = calls; with --trace=python-gil, how often it waited, however often it asked again
-- column: 5 ms Waits = those of 5 ms or more, after which one asks again
-- column: Max (ns) = longest of them
-- column: Pid = process
-- column: Tid = thread
-- column: Thread Name = its name
CREATE TEMP TABLE gil AS
WITH traced AS MATERIALIZED (
	SELECT globalTid, start, end - start AS ns
	FROM NVTX_EVENTS
	WHERE eventType = 59 AND end > start AND textId IN (SELECT id FROM StringIds WHERE value = 'Waiting for GIL')
	-- of a report without them no range is looked at
	LIMIT CASE WHEN EXISTS (SELECT 1 FROM StringIds WHERE value = 'Waiting for GIL') THEN -1 ELSE 0 END
), python AS MATERIALIZED (
	SELECT globalPid / 0x1000000 AS pid FROM SL_PROCESS_TREE WHERE exe GLOB '*/python*' OR exe GLOB '*/pypy*'
	UNION
	-- names by 'ranks fetch' begin with rank and host
	SELECT globalPid / 0x1000000 FROM PROCESSES
	WHERE name GLOB '*python*' OR name GLOB 'pypy*' OR name GLOB 'pt_*' OR name GLOB 'rank *: pypy*' OR name GLOB 'rank *: pt_*'
)
-- begun: of the longest
SELECT globalTid, count(*) AS n, sum(ns) AS ns, max(ns) AS longest, count(*) FILTER (WHERE ns >= 4900000) AS again, start AS begun
FROM traced
GROUP BY globalTid
HAVING again >= :waits
UNION ALL
SELECT globalTid, count(*) AS n, sum(end - start) AS ns, max(end - start) AS longest,
	count(*) FILTER (WHERE returnValue = 110 AND end - start BETWEEN 4900000 AND 10000000) AS again, start
FROM sl_os_calls
WHERE what = 'condition' AND end > start AND globalTid / 0x1000000 IN python AND NOT EXISTS (SELECT 1 FROM traced)
GROUP BY globalTid
-- other conditions have other times
HAVING again >= :waits AND 2 * again >= count(*) FILTER (WHERE returnValue = 110);

-- Without the lock they would share the CPUs: with two, half of the waiting would still be waiting for one of these.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	n || ' threads of process ' || (globalTid / 0x1000000 % 0x1000000)
		|| coalesce(' (' || (SELECT name FROM process_names WHERE pid = globalTid / 0x1000000) || ')', '')
		|| ' waited {' || whole || ' ns} altogether for Python''s interpreter lock, thread ' || (globalTid % 0x1000000)
		|| ' {' || longest || ' ns}' || coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT begun || ' ' || (begun + g.longest) || ' ' || (g.globalTid & 0xFFFFFF) FROM gil AS g WHERE g.globalTid = most.globalTid) AS worst
FROM (
	SELECT *, CAST(longest * (1 - 1.0 / max(1, min(n, cpus))) AS INTEGER) AS cost, (SELECT ns FROM wall) AS wall,
		(SELECT iif(2 * sum(c.ns) >= longest, ', most of it at ', ', the largest known part at ') || place FROM call_places AS c
			WHERE c.globalTid = waiter.globalTid
				AND c.nameId IN (SELECT id FROM StringIds WHERE value = 'pthread_cond_timedwait')
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at
	FROM (
		SELECT globalTid, count(*) AS n, sum(ns) AS whole, max(ns) AS longest,
			coalesce((SELECT max(CAST(value AS INTEGER)) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores'), 1000000) AS cpus
		FROM gil
		GROUP BY globalTid / 0x1000000
	) AS waiter
	WHERE n > 1
	ORDER BY cost DESC, globalTid
	LIMIT 1
) AS most
WHERE cost >= 5000000 AND 50 * cost > wall;

SELECT
	ns AS "Wait (ns)",
	n AS "Waits",
	again AS "5 ms Waits",
	longest AS "Max (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid % 0x1000000 AS "Tid",
	name AS "Thread Name"
FROM gil LEFT JOIN thread_names USING (globalTid)
ORDER BY ns DESC, globalTid
LIMIT :rows;
