-- title: Lock Contention
-- about: Threads that waited for mutexes, read-write locks and locked files that others held. The holder of a lock is
-- about: known from context switches: the thread that woke the one that waited.
-- needs: OSRT_API = OS Runtime trace
-- uses: names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 430
-- advice: Hold the lock for less: compute, allocate and do I/O before taking it. Split it (one for each
-- advice: part of the data, or for each thread, merged at the end), or use atomics. Where most only read,
-- advice: a read-write lock or copies of what is read.
-- column: Wait (ns) = time waited
-- column: Waits = calls that had to wait
-- column: Avg (ns) = mean
-- column: Max (ns) = longest
-- column: Woken by Tid = the thread that woke it, most of the time: it had held the lock; empty if not known
-- column: Holder Name = name of that thread
-- column: Pid = process
-- column: Tid = thread that waited
-- column: Thread Name = its name
-- column: Function = function that waited
CREATE TEMP TABLE lock_wait AS
SELECT globalTid, start, end, nameId
FROM sl_os_calls
WHERE what = 'lock' AND end > start;

-- In the order of threads and time: of the wakeups before a moment, the last one has the highest rowid.
CREATE TEMP TABLE wakeup AS
SELECT globalTid, start, wakerTid FROM SL_SCHED_DETAIL
WHERE wakerTid IS NOT NULL AND globalTid IN (SELECT globalTid FROM lock_wait)
ORDER BY globalTid, start;

CREATE TEMP TABLE held AS
WITH point AS (
	-- waits, by their ends, and wakeups of a thread in turn
	SELECT globalTid, end AS time, NULL AS wakeup, rowid AS wait FROM lock_wait
	UNION ALL
	SELECT globalTid, start, rowid, NULL FROM wakeup
), placed AS (
	SELECT wait, max(wakeup) OVER (PARTITION BY globalTid ORDER BY time, wait IS NOT NULL
		ROWS UNBOUNDED PRECEDING) AS wakeup
	FROM point
)
SELECT w.globalTid, w.nameId, w.end - w.start AS ns, wakerTid AS holder
FROM placed AS p CROSS JOIN lock_wait AS w ON w.rowid = p.wait
	LEFT JOIN wakeup ON wakeup.rowid = p.wakeup AND wakeup.start >= w.start;

SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	CASE WHEN threads = 1 THEN 'Thread ' ELSE threads || ' threads waited {' || whole
		|| ' ns} for locks altogether; thread ' END || (globalTid & 0xFFFFFF)
		|| coalesce(' (' || name || ')', '') || ' waited {' || cost || ' ns} in {' || n || ' call|calls}, '
		|| function || coalesce(', for what thread ' || (holder & 0xFFFFFF)
		|| coalesce(' (' || holder_name || ')', '') || ' held', '')
		|| coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT start || ' ' || end || ' ' || (w.globalTid & 0xFFFFFF) FROM lock_wait AS w WHERE w.globalTid = waiter.globalTid
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT *, (SELECT name FROM thread_names AS t WHERE t.globalTid = holder) AS holder_name
	FROM (
		SELECT globalTid, sum(ns) AS cost, count(*) AS n, count(*) OVER () AS threads,
			sum(sum(ns)) OVER () AS whole,
			(SELECT iif(2 * sum(h.ns) >= (SELECT sum(a.ns) FROM held AS a WHERE a.globalTid = held.globalTid),
				'mostly of ', 'the largest part of ') || value FROM held AS h JOIN StringIds ON StringIds.id = nameId
				WHERE h.globalTid = held.globalTid GROUP BY nameId ORDER BY sum(ns) DESC LIMIT 1) AS function,
			(SELECT holder FROM held AS h WHERE h.globalTid = held.globalTid AND holder IS NOT NULL
				GROUP BY holder ORDER BY sum(ns) DESC, holder LIMIT 1) AS holder,
			(SELECT '; {' || sum(c.ns) || ' ns} of it at ' || place FROM call_places AS c
			WHERE c.globalTid = held.globalTid AND c.nameId IN (SELECT nameId FROM lock_wait)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at,
			(SELECT name FROM thread_names AS t WHERE t.globalTid = held.globalTid) AS name,
			(SELECT ns FROM wall) AS wall
		FROM held
		GROUP BY globalTid
		ORDER BY cost DESC, globalTid
		LIMIT 1
	)
) AS waiter
WHERE cost >= 5000000 AND 50 * cost > wall;

SELECT
	ns AS "Wait (ns)",
	n AS "Waits",
	round(1.0 * ns / n, 1) AS "Avg (ns)",
	longest AS "Max (ns)",
	holder & 0xFFFFFF AS "Woken by Tid",
	(SELECT name FROM thread_names AS t WHERE t.globalTid = holder) AS "Holder Name",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid & 0xFFFFFF AS "Tid",
	(SELECT name FROM thread_names AS t WHERE t.globalTid = w.globalTid) AS "Thread Name",
	value AS "Function"
FROM (
	SELECT globalTid, nameId, sum(ns) AS ns, count(*) AS n, max(ns) AS longest,
		(SELECT holder FROM held AS h WHERE h.globalTid = held.globalTid AND h.nameId = held.nameId
			AND holder IS NOT NULL GROUP BY holder ORDER BY sum(ns) DESC, holder LIMIT 1) AS holder
	FROM held
	GROUP BY globalTid, nameId
) AS w LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY ns DESC, globalTid, nameId
LIMIT :rows;
