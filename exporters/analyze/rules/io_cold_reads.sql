-- title: Reads from Disk
-- about: Opens and reads of files that were not in memory, so that the thread had to wait for the disk.
-- about: From context switches: time asleep in the uninterruptible state, inside such calls. Where there
-- about: are none: reads that took longer than 0.1 ms and were slower than 500 MB/s.
-- needs: OSRT_API.pathId or OSRT_FILE_ACCESS_EVENTS = file access
-- uses: file_calls, sched_threads, names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 420
-- advice: Read ahead while something else is being computed: a prefetching thread, posix_fadvise
-- advice: (POSIX_FADV_WILLNEED) or readahead for the files that come next, larger pieces, several reads
-- advice: at a time. Copy data that is used again to a faster disk or to memory before the run. A first
-- advice: run after a start of the machine is always cold.
-- column: Disk Wait (ns) = time waited for the disk
-- column: Calls = calls that waited
-- column: Avg (ns) = waiting per such call
-- column: Max (ns) = longest call that waited
-- column: Bytes = bytes that these calls brought; empty of stdio, which fills its buffer with more than a call asks for
-- column: Pid = process
-- column: Tid = thread
-- column: Function = function called
-- column: Path = file
-- Opening a file that is also written may wait for the written data. In the order of threads and time: of the calls of a
-- thread, the one that began last has the highest rowid.
CREATE TEMP TABLE fetch AS
SELECT globalTid, start, end, what, nameId, path, iif(stdio, NULL, bytes) AS bytes FROM file_calls
WHERE what IN ('read', 'stat')
	OR what = 'open' AND path NOT IN (SELECT path FROM file_calls WHERE what IN ('write', 'sync'))
ORDER BY globalTid, start;

CREATE TEMP TABLE cold AS
WITH slept AS MATERIALIZED (
	SELECT globalTid, start, end FROM sched_disk
), point AS (
	-- sleeps and calls of a thread in turn: a sleep is inside the call that began last, if inside any
	SELECT globalTid, start, end, NULL AS call FROM slept
	UNION ALL
	SELECT globalTid, start, NULL, rowid FROM fetch WHERE globalTid IN (SELECT globalTid FROM slept)
), placed AS (
	SELECT start, end, max(call) OVER (PARTITION BY globalTid ORDER BY start, call IS NULL
		ROWS UNBOUNDED PRECEDING) AS call
	FROM point
), inside AS (
	SELECT call, sum(p.end - p.start) AS ns
	FROM placed AS p CROSS JOIN fetch AS c ON c.rowid = p.call
	WHERE p.end <= c.end
	GROUP BY call
)
SELECT globalTid, start, end, nameId, path, bytes, ns
FROM inside CROSS JOIN fetch ON fetch.rowid = inside.call
UNION ALL
SELECT globalTid, start, end, nameId, path, bytes, end - start
FROM fetch
WHERE what = 'read' AND NOT EXISTS (SELECT 1 FROM sched_threads)
	AND end - start > 100000 AND coalesce(bytes, 0) < 0.5 * (end - start);

CREATE TEMP TABLE file AS
SELECT globalTid, path, rtrim(path, replace(path, '/', '')) AS folder, sum(ns) AS ns, count(*) AS n, sum(bytes) AS bytes
FROM cold
GROUP BY globalTid, path;

SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'Thread ' || (globalTid & 0xFFFFFF) || coalesce(' (' || name || ')', '') || ' waited {' || cost
		|| ' ns} for the disk in {' || n || ' call|calls} on files that were not in memory'
		|| CASE WHEN bytes > 0 THEN ' ({' || bytes || ' B})' ELSE '' END
		|| CASE threads WHEN 1 THEN '' WHEN 2 THEN '; so did another thread, for less'
			ELSE '; so did ' || (threads - 1) || ' other threads, for less' END
		|| CASE WHEN 2 * path_ns > cost THEN '. Most of it was for ' || path
			ELSE '. There are {' || files || '} such files, most in ' || folder END
		|| coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT start || ' ' || end || ' ' || (c.globalTid & 0xFFFFFF) FROM cold AS c WHERE c.globalTid = waiter.globalTid
		ORDER BY ns DESC, start LIMIT 1) AS worst
FROM (
	SELECT *, (SELECT ns FROM wall) AS wall,
		(SELECT path FROM file WHERE file.globalTid = thread.globalTid ORDER BY ns DESC, path LIMIT 1) AS path,
		(SELECT max(ns) FROM file WHERE file.globalTid = thread.globalTid) AS path_ns,
		(SELECT folder FROM file WHERE file.globalTid = thread.globalTid
			GROUP BY folder ORDER BY sum(ns) DESC, folder LIMIT 1) AS folder,
		(SELECT '; the longest calls are made at ' || place FROM call_places AS c
			WHERE c.globalTid = thread.globalTid AND c.nameId IN (SELECT nameId FROM cold WHERE cold.globalTid = c.globalTid)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at,
		(SELECT name FROM thread_names AS t WHERE t.globalTid = thread.globalTid) AS name
	FROM (
		SELECT globalTid, sum(ns) AS cost, sum(n) AS n, total(bytes) AS bytes, count(*) AS files,
			count(*) OVER () AS threads
		FROM file
		GROUP BY globalTid
		ORDER BY cost DESC, globalTid
		LIMIT 1
	) AS thread
) AS waiter
-- Every first run waits for a disk a little: 5 %, and not just 2.
WHERE cost >= 10000000 AND 20 * cost > wall;

SELECT
	sum(ns) AS "Disk Wait (ns)",
	count(*) AS "Calls",
	round(1.0 * sum(ns) / count(*), 1) AS "Avg (ns)",
	max(end - start) AS "Max (ns)",
	sum(bytes) AS "Bytes",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid & 0xFFFFFF AS "Tid",
	value AS "Function",
	path AS "Path"
FROM cold LEFT JOIN StringIds ON StringIds.id = nameId
GROUP BY globalTid, nameId, path
ORDER BY 1 DESC, globalTid, path
LIMIT :rows;
