-- title: Frequent Syncs
-- about: Threads that wait for the disk again and again: fsync and its like in a loop.
-- needs: OSRT_API or OSRT_FILE_ACCESS_EVENTS = OS Runtime trace
-- uses: file_calls, names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 410
-- arg: calls=20, syncs of a thread from which on they are looked at
-- arg: rate=10, syncs per second, over the time from the thread's first one to its last
-- advice: Sync once for many changes: one transaction around them (in SQLite BEGIN ... COMMIT, or
-- advice: synchronous=NORMAL with WAL), group commit, a thread that syncs for all. Files that can be
-- advice: made again need none: write under another name, rename, and sync once.
-- column: Time (ns) = time in these calls
-- column: Calls = how many
-- column: Avg (ns) = time per call
-- column: Max (ns) = longest
-- column: Calls per Second = between the first and the last
-- column: Pid = process
-- column: Tid = thread
-- column: Function = function called
-- column: Path = file; empty where the call names none
CREATE TEMP TABLE sync AS
SELECT globalTid, nameId, path, start, end
FROM file_calls
WHERE what = 'sync'
UNION ALL
-- calls that name no file
SELECT globalTid, nameId, NULL, start, end
FROM sl_os_calls
WHERE what = 'sync' AND nameId IN (SELECT id FROM io_functions WHERE what = 'sync') AND pathId IS NULL AND end >= start;

CREATE TEMP TABLE thread AS
SELECT globalTid, count(*) AS n, sum(end - start) AS ns, max(end) - min(start) AS span
FROM sync
GROUP BY globalTid
HAVING n >= :calls AND n * 1e9 >= :rate * span;

-- One sync of them is needed. Threads wait side by side.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'Thread ' || (globalTid & 0xFFFFFF) || coalesce(' (' || name || ')', '') || ' waited {' || ns || ' ns} in {'
		|| n || '} syncs, {' || (ns / n) || ' ns} each, {' || CAST(n * 1e9 / max(span, 1) AS INTEGER)
		|| '} per second' || coalesce(named, '') || coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT start || ' ' || end || ' ' || (sync.globalTid & 0xFFFFFF) FROM sync WHERE sync.globalTid = waiter.globalTid
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT *, CAST(ns * (1 - 1.0 / n) AS INTEGER) AS cost, (SELECT ns FROM wall) AS wall,
		(SELECT iif(2 * sum(end - start) >= thread.ns, '; most are of ', '; the largest known part of ') || path FROM sync WHERE sync.globalTid = thread.globalTid AND path IS NOT NULL
			GROUP BY path ORDER BY sum(end - start) DESC LIMIT 1) AS named,
		(SELECT '; {' || sum(c.ns) || ' ns} of it at ' || place FROM call_places AS c
			WHERE c.globalTid = thread.globalTid AND c.nameId IN (SELECT id FROM io_functions WHERE what = 'sync')
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at,
		(SELECT name FROM thread_names AS t WHERE t.globalTid = thread.globalTid) AS name
	FROM thread
	ORDER BY cost DESC
	LIMIT 1
) AS waiter
WHERE cost >= 5000000 AND 50 * cost > wall;

SELECT
	sum(end - start) AS "Time (ns)",
	count(*) AS "Calls",
	round(1.0 * sum(end - start) / count(*), 1) AS "Avg (ns)",
	max(end - start) AS "Max (ns)",
	round(count(*) * 1e9 / max(max(end) - min(start), 1), 1) AS "Calls per Second",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid & 0xFFFFFF AS "Tid",
	value AS "Function",
	path AS "Path"
FROM sync LEFT JOIN StringIds ON StringIds.id = nameId
WHERE globalTid IN (SELECT globalTid FROM thread)
GROUP BY globalTid, nameId, path
ORDER BY 1 DESC, globalTid, path
LIMIT :rows;
