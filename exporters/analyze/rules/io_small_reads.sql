-- title: Small Reads
-- about: Files that are read in so small pieces that the calls cost more than the data: calls that enter the kernel. Those of
-- about: stdio (fread, fgets), which read from a buffer, are none, unless the program took the buffer away (setvbuf).
-- needs: OSRT_API.pathId or OSRT_FILE_ACCESS_EVENTS or SL_OSRT_TOTALS = file access
-- uses: file_calls, names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 400
-- arg: small=4096, bytes per call below which a read is small
-- arg: calls=1000, reads of a thread from which on they are looked at
-- advice: Read larger pieces, 64 KiB or more, and take the small ones from memory: a buffered stream
-- advice: (fopen, io.BufferedReader, std::ifstream), a larger buffer (setvbuf, buffering=), or mmap.
-- column: Time (ns) = time in these reads
-- column: Reads = how many
-- column: Bytes = bytes read
-- column: Avg (bytes) = bytes per read
-- column: Avg (ns) = time per read
-- column: Pid = process
-- column: Tid = thread
-- column: Function = function called
-- column: Path = file; empty for calls that were too short for a row of their own
CREATE TEMP TABLE small AS
WITH file AS (
	-- a file that is read once or twice may well be small itself
	SELECT globalTid, nameId, path, count(*) AS n, sum(bytes) AS bytes, sum(end - start) AS ns
	FROM file_calls
	WHERE what = 'read' AND NOT stdio
	GROUP BY 1, 2, 3
	HAVING n >= 100 AND sum(bytes) < :small * n
), reader AS MATERIALIZED (
	-- is_placed: at a place in a file, not the next bytes of anything
	SELECT f.id, value GLOB '*pread*' AS is_placed
	FROM io_functions AS f JOIN StringIds USING (id)
	WHERE what = 'read' AND NOT stdio
), other AS MATERIALIZED (
	-- read() serves pipes and sockets as well: threads that read files with it, mostly, are meant
	SELECT globalTid FROM (
		SELECT o.globalTid, count(*) AS n,
			count(*) FILTER (WHERE pathId IN (SELECT id FROM StringIds WHERE value LIKE '/_%'
				AND value NOT GLOB '/dev/*' AND value NOT GLOB '/proc/*' AND value NOT GLOB '/sys/*')) AS files
		FROM OSRT_API AS o
		WHERE nameId IN (SELECT id FROM reader WHERE NOT is_placed)
		GROUP BY 1
	)
	WHERE 2 * files < n
), short AS (
	SELECT globalTid, nameId, NULL AS path, sum(count) AS n, sum(bytes) AS bytes, sum(totalNs) AS ns
	FROM SL_OSRT_TOTALS AS t JOIN reader ON reader.id = t.nameId
	WHERE is_placed OR globalTid NOT IN other
	GROUP BY 1, 2
	HAVING n >= 100 AND sum(bytes) < :small * n
)
SELECT * FROM file
UNION ALL
SELECT * FROM short
UNION ALL
-- Short calls on streams without a buffer: the totals are by file, and name the function where the thread reads streams with one alone.
SELECT globalTid, (SELECT iif(count(*) = 1, max(nameId), NULL) FROM SL_OSRT_TOTALS AS t
		WHERE t.globalTid = f.globalTid AND nameId IN (SELECT id FROM io_functions WHERE what = 'read' AND stdio)),
	NULL, sum(count) AS n, sum(bytes), sum(totalNs)
FROM SL_FILE_TOTALS AS f JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
WHERE eventType = 3 AND isStdio = 1 AND fileAccessId IN unbuffered AND filePath LIKE '/_%' AND filePath NOT GLOB '/dev/*'
	AND filePath NOT GLOB '/proc/*' AND filePath NOT GLOB '/sys/*'
GROUP BY globalTid
HAVING n >= 100 AND sum(bytes) < :small * n;

-- The gain of larger pieces: all but one call for each 64 KiB. Threads wait side by side.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'{' || n || '} reads of {' || ((bytes + n / 2) / n) || ' B} on average took {' || ns || ' ns} of thread '
		|| (globalTid & 0xFFFFFF) || coalesce(' (' || name || ')', '')
		|| CASE threads WHEN 1 THEN '' WHEN 2 THEN ', and there is another such thread'
			ELSE ', and there are ' || (threads - 1) || ' more such threads' END
		|| coalesce(named, '') || coalesce(made_at, '') || '.'
		-- streams fill their buffer by a page or a block of the file system, however small the program's own calls are
		|| iif(bytes >= 2048 * n, ' Pieces of this size are often what a buffered stream reads to fill its buffer: a larger one'
			|| ' (setvbuf, buffering=) makes them fewer.', '') AS finding, made_at,
	-- one with a row of its own; short ones are only counted
	(SELECT start || ' ' || end || ' ' || (c.globalTid & 0xFFFFFF) FROM file_calls AS c WHERE c.globalTid = reader.globalTid AND what = 'read'
		AND NOT stdio AND path IN (SELECT path FROM small AS p WHERE p.globalTid = c.globalTid AND path IS NOT NULL)
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalTid, sum(n) AS n, sum(bytes) AS bytes, sum(ns) AS ns, count(*) OVER () AS threads,
		CAST(sum(ns) * (1 - (sum(bytes) / 65536 + 1.0) / sum(n)) AS INTEGER) AS cost,
		-- A file is named as that of most reads where it has half of all reads, short ones included.
		(SELECT iif(2 * sum(of_file.n) >= (SELECT sum(p.n) FROM small AS p WHERE p.globalTid = small.globalTid),
				'; most of them were of ', '; the largest known part, {' || sum(of_file.n) || '}, of ') || path
			FROM (SELECT globalTid, path, n FROM small WHERE path IS NOT NULL
				UNION ALL
				SELECT globalTid, filePath, count FROM SL_FILE_TOTALS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
				WHERE eventType = 3 AND (coalesce(isStdio, 0) = 0 OR fileAccessId IN unbuffered) AND bytes < :small * count) AS of_file
			WHERE of_file.globalTid = small.globalTid
			GROUP BY path ORDER BY sum(of_file.n) DESC, path LIMIT 1) AS named,
		(SELECT '; the longest are made at ' || place FROM call_places AS c
			WHERE c.globalTid = small.globalTid AND c.nameId IN (SELECT nameId FROM small AS p WHERE p.globalTid = c.globalTid)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at,
		(SELECT name FROM thread_names AS t WHERE t.globalTid = small.globalTid) AS name,
		(SELECT ns FROM wall) AS wall
	FROM small
	GROUP BY globalTid
	HAVING sum(n) >= :calls
	ORDER BY cost DESC
	LIMIT 1
) AS reader
WHERE cost >= 5000000 AND 50 * cost > wall;

SELECT
	ns AS "Time (ns)",
	n AS "Reads",
	bytes AS "Bytes",
	round(1.0 * bytes / n, 1) AS "Avg (bytes)",
	round(1.0 * ns / n, 1) AS "Avg (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid & 0xFFFFFF AS "Tid",
	value AS "Function",
	path AS "Path"
FROM small LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY ns DESC, globalTid, path
LIMIT :rows;
