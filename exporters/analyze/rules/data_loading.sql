-- title: GPU Waits for Data
-- about: Times in which a GPU had nothing to do while its process, or one that this had started (a DataLoader's
-- about: workers), was busy reading files.
-- needs: SL_GPU_WORK = GPU work
-- needs: OSRT_API.pathId or OSRT_FILE_ACCESS_EVENTS = file access
-- uses: file_calls, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 390
-- alias: dataloader
-- arg: gap=50, microseconds from which on a GPU counts as idle
-- arg: share=10, per cent of the time from the GPU's first work to its last from which on it is a finding
-- advice: Read ahead: more DataLoader workers (num_workers), prefetch_factor, persistent_workers, a thread that
-- advice: prepares the next batch while the GPU works. Many small files: pack them into few large ones (tar,
-- advice: WebDataset, LMDB, Parquet) and read these in large pieces. Cheaper decoding, or on the GPU (DALI).
-- column: Time (ns) = time in calls on files while the GPU was idle
-- column: Calls = how many
-- column: Files = different files
-- column: Bytes = bytes read by these calls
-- column: Avg (bytes) = the same per file
-- column: Pid = process that read
-- column: Folder = where the files are
CREATE TEMP TABLE idle AS
SELECT globalPid, deviceId, end AS start, next AS end
FROM sl_gpu_busy
WHERE next - end >= :gap * 1000;

-- The process that a process works for: itself where it uses a GPU, else the next ancestor that does, else the only one there is.
CREATE TEMP TABLE master AS
WITH RECURSIVE gpu AS MATERIALIZED (
	SELECT DISTINCT globalPid FROM sl_gpu_busy
), parent AS MATERIALIZED (
	SELECT globalPid, max(parentGlobalPid) AS parent FROM SL_PROCESS_TREE GROUP BY 1
), reader AS MATERIALIZED (
	SELECT DISTINCT globalTid / 0x1000000 * 0x1000000 AS pid FROM file_calls
), up(pid, at, steps) AS (
	SELECT pid, pid, 0 FROM reader
	UNION ALL
	SELECT up.pid, parent.parent, steps + 1 FROM up JOIN parent ON parent.globalPid = up.at
	WHERE up.at NOT IN gpu AND parent.parent IS NOT NULL AND steps < 50
)
SELECT pid, coalesce((SELECT at FROM up WHERE up.pid = reader.pid AND at IN gpu ORDER BY steps LIMIT 1),
	CASE WHEN (SELECT count(*) FROM gpu) = 1 THEN (SELECT globalPid FROM gpu) END) AS gpu
FROM reader;

-- Files that are read. Code that is loaded late is no data, nor is a file that is only asked about: Python looks at every
-- folder of a path to find out where a module is.
CREATE TEMP TABLE data AS
SELECT DISTINCT path FROM file_calls
WHERE what IN ('open', 'read') AND path NOT GLOB '*.py' AND path NOT GLOB '*.pyc' AND path NOT GLOB '*.so*';

-- Reading, and the work of a thread between two files (decoding): until it waits for something, or 10 ms pass.
CREATE TEMP TABLE loading AS
WITH call AS (
	SELECT globalTid, start, end, 1 AS file
	FROM file_calls
	WHERE what IN ('open', 'stat', 'read') AND path IN (SELECT path FROM data)
	UNION ALL
	SELECT globalTid, start, end, 0 FROM OSRT_API
	WHERE end - start > 50000 AND nameId NOT IN (SELECT id FROM io_functions)
		AND globalTid IN (SELECT globalTid FROM file_calls)
	UNION ALL
	SELECT globalTid, start, end, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE end - start > 50000 AND globalTid IN (SELECT globalTid FROM file_calls)
), turn AS (
	SELECT *, file = 0 OR start > 10000000 + max(end) OVER (PARTITION BY globalTid ORDER BY start
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS breaks
	FROM call
), run AS (
	SELECT *, sum(coalesce(breaks, 0)) OVER (PARTITION BY globalTid ORDER BY start ROWS UNBOUNDED PRECEDING) AS nr
	FROM turn
)
SELECT globalTid, min(start) AS start, max(end) AS end
FROM run
WHERE file
GROUP BY globalTid, nr;

-- Idle and loading at once: both are swept over in the order of time.
CREATE TEMP TABLE starved AS
WITH edge AS (
	SELECT globalPid, deviceId, start AS time, 1 AS idle, 0 AS loading FROM idle
	UNION ALL SELECT globalPid, deviceId, end, -1, 0 FROM idle
	UNION ALL
	SELECT g.globalPid, g.deviceId, l.start, 0, 1
	FROM loading AS l JOIN master ON master.pid = l.globalTid / 0x1000000 * 0x1000000
		JOIN (SELECT DISTINCT globalPid, deviceId FROM idle) AS g ON g.globalPid = master.gpu
	UNION ALL
	SELECT g.globalPid, g.deviceId, l.end, 0, -1
	FROM loading AS l JOIN master ON master.pid = l.globalTid / 0x1000000 * 0x1000000
		JOIN (SELECT DISTINCT globalPid, deviceId FROM idle) AS g ON g.globalPid = master.gpu
), moment AS (
	SELECT globalPid, deviceId, time, sum(idle) AS idle, sum(loading) AS loading
	FROM edge GROUP BY 1, 2, 3
), state AS (
	SELECT globalPid, deviceId, time,
		sum(idle) OVER gpu AS idle, sum(loading) OVER gpu AS loading,
		lead(time) OVER (PARTITION BY globalPid, deviceId ORDER BY time) AS next
	FROM moment
	WINDOW gpu AS (PARTITION BY globalPid, deviceId ORDER BY time ROWS UNBOUNDED PRECEDING)
)
SELECT globalPid, deviceId, sum(next - time) AS ns
FROM state
WHERE idle > 0 AND loading > 0
GROUP BY 1, 2;

-- The calls on files that began while the GPU that starved most was idle.
CREATE TEMP TABLE fed AS
WITH worst AS MATERIALIZED (
	SELECT globalPid, deviceId FROM starved ORDER BY ns DESC, globalPid, deviceId LIMIT 1
), point AS (
	SELECT start AS time, end AS until, 0 AS id FROM idle JOIN worst USING (globalPid, deviceId)
	UNION ALL
	SELECT start, NULL, file_calls.rowid
	FROM file_calls JOIN master ON master.pid = file_calls.globalTid / 0x1000000 * 0x1000000
		JOIN worst ON worst.globalPid = master.gpu
	WHERE path IN (SELECT path FROM data)
), placed AS (
	SELECT id, time, max(until) OVER (ORDER BY time, id ROWS UNBOUNDED PRECEDING) AS until FROM point
)
SELECT c.globalTid, c.start, c.end, c.what, c.path, CASE what WHEN 'read' THEN bytes END AS bytes,
	rtrim(c.path, replace(c.path, '/', '')) AS folder
FROM placed JOIN file_calls AS c ON c.rowid = placed.id
WHERE placed.id > 0 AND time < until;

SELECT
	CASE WHEN 100 * cost > 3 * :share * span THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'GPU ' || sl_gpu(globalPid, deviceId) || ' of process ' || (globalPid / 0x1000000 % 0x1000000) || ' had nothing to do for {' || cost
		|| ' ns} while files were read for it, ' || CAST(100 * cost / span AS INTEGER)
		|| ' % of the time it was in use: {' || calls || '} calls on {' || files || ' file|files}'
		|| coalesce(named, '') || coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT start || ' ' || end || ' ' || (globalTid & 0xFFFFFF) FROM fed ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalPid, deviceId, ns AS cost,
		(SELECT max(end) - min(start) FROM sl_gpu_busy AS b
			WHERE b.globalPid = starved.globalPid AND b.deviceId = starved.deviceId) AS span,
		(SELECT count(*) FROM fed) AS calls,
		(SELECT count(DISTINCT path) FROM fed) AS files,
		(SELECT '; the longest are made at ' || place FROM call_places AS c
			WHERE c.globalTid IN (SELECT globalTid FROM fed)
				AND c.nameId IN (SELECT id FROM io_functions WHERE what IN ('open', 'stat', 'read'))
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at,
		(SELECT iif(2 * count(*) >= (SELECT count(*) FROM fed), ', most of them in ', ', the largest part in ') || folder
			FROM fed GROUP BY folder ORDER BY count(*) DESC, folder LIMIT 1) AS named
	FROM starved
	ORDER BY ns DESC, globalPid, deviceId
	LIMIT 1
)
WHERE calls >= 10 AND cost >= 5000000 AND 100 * cost > :share * span;

SELECT
	sum(end - start) AS "Time (ns)",
	count(*) AS "Calls",
	count(DISTINCT path) AS "Files",
	sum(bytes) AS "Bytes",
	round(total(bytes) / count(DISTINCT path), 1) AS "Avg (bytes)",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	folder AS "Folder"
FROM fed
GROUP BY globalTid / 0x1000000, folder
ORDER BY 1 DESC, "Pid", folder
LIMIT :rows;
