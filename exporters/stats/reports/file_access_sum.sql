-- title: File Access Summary
-- about: Opens, reads and writes, per file: all calls, however short (OSRT_FILE_ACCESS_EVENTS where it was recorded, else rows of
-- about: OSRT_API and SL_FILE_TOTALS), unless a part of the time was asked for. Those of which the file is not known have the
-- about: last row. Calls of stdio (fread, fgets, printf, ...) move bytes of a stream's buffer and are apart from those that enter
-- about: the kernel (read, pread, write, ...): what the kernel was asked to fill or empty the buffer is not among them. Functions
-- about: that do not say how many bytes they moved (fscanf, fgetwc, recvmmsg, ...) add none.
-- needs: OSRT_FILE_ACCESS_EVENTS or OSRT_API.pathId or SL_FILE_TOTALS = file access
-- default: 910 quiet
-- remark: SELECT 'by file only calls' ||
-- remark: coalesce((SELECT printf(' >= %g us', value / 1000.0) FROM META_DATA_CAPTURE WHERE name = 'OSRT_OPTIONS:THRESHOLD_NS'), ' with a row')
-- remark: FROM main.SL_OSRT_TOTALS JOIN SL_FUNCTIONS USING (nameId) WHERE io IN (3, 4) AND count > 0
-- remark: AND NOT EXISTS (SELECT 1 FROM SL_FILE_TOTALS) AND NOT EXISTS (SELECT 1 FROM OSRT_FILE_ACCESS_EVENTS) LIMIT 1
-- lacks: SELECT 'without what ' || group_concat(way, ', ') || ' moved' FROM (
-- lacks: SELECT 'mmap' AS way WHERE EXISTS (SELECT 1 FROM OSRT_API JOIN StringIds ON id = nameId WHERE fileAccessId IS NOT NULL
-- lacks: AND value IN ('mmap', 'mmap64')) UNION SELECT 'POSIX AIO' FROM StringIds WHERE value IN ('aio_read', 'aio_read64', 'aio_write',
-- lacks: 'aio_write64', 'lio_listio', 'lio_listio64') AND id IN (SELECT nameId FROM OSRT_API UNION SELECT nameId FROM SL_OSRT_TOTALS)
-- lacks: UNION SELECT 'io_uring' FROM StringIds WHERE value IN ('io_uring_setup', 'io_uring_enter')
-- lacks: AND id IN (SELECT nameId FROM SYSCALL UNION SELECT nameId FROM SL_SYSCALL_TOTALS)
-- lacks: UNION SELECT 'io_uring' FROM DIAGNOSTIC_EVENT WHERE text LIKE 'io_uring: %'
-- lacks: UNION SELECT 'io_uring' FROM ThreadNames JOIN StringIds ON id = nameId WHERE value GLOB 'iou-sqp-[0-9]*' OR value GLOB 'iou-wrk-[0-9]*')
-- column: Time (%) = share of the I/O Time of all listed rows
-- column: I/O Time (ns) = time in reads and writes
-- column: Opens = times it was opened
-- column: Reads = calls that read
-- column: Read (bytes) = bytes read
-- column: Read Time (ns) = time in reads
-- column: Avg Read (bytes) = bytes per read
-- column: Writes = calls that wrote; copy_file_range, sendfile, splice and tee read one file and write to another, in no more time
-- column: Written (bytes) = bytes written
-- column: Write Time (ns) = time in writes
-- column: Avg Write (bytes) = bytes per write
-- column: Interface = POSIX: calls that enter the kernel, STDIO: those on a stream's buffer; empty: not recorded which
-- column: Path = path, peer address of a socket, or what the kernel calls it; the last row: calls of which the file is not known
WITH
-- include: io_functions
,
-- include: osrt_short
, copies AS (
	SELECT nameId FROM SL_FUNCTION_KINDS WHERE copies
), part AS (
	SELECT filePath AS path, eventType AS type, stdio, count(*) AS n, sum(endedAt - startedAt) AS time,
		total(bytesProcessed) AS bytes
	FROM OSRT_FILE_ACCESS_EVENTS AS e JOIN OSRT_FILE_ACCESS_DESCRIPTORS AS d USING (fileAccessId)
		LEFT JOIN kind ON kind.id = apiCallId
	GROUP BY 1, 2, 3
	UNION ALL
	SELECT value, type, stdio, n, time, bytes
	FROM (
		SELECT pathId, type, stdio, count(*) AS n, sum(end - start) AS time, total(coalesce(bytesDone, 0)) AS bytes
		FROM OSRT_API JOIN kind ON kind.id = nameId
		WHERE (type <> 1 OR errnum IS NULL)
			-- fflush() is a write that moves no bytes.
			AND (type = 1 OR bytesDone IS NOT NULL OR errnum IS NOT NULL OR NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS))
			AND NOT EXISTS (SELECT 1 FROM OSRT_FILE_ACCESS_EVENTS)
		GROUP BY 1, 2, 3
	) LEFT JOIN StringIds ON StringIds.id = pathId
	WHERE value IS NOT NULL OR EXISTS (SELECT 1 FROM SL_FUNCTIONS)
	UNION ALL
	SELECT filePath, eventType, isStdio, count, totalNs, bytes
	FROM SL_FILE_TOTALS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
	UNION ALL
	-- Calls in the exact totals of functions that those of files lack. A call that copies has totals of the file that it
	-- wrote to, whether or not it has a row, and is read in those of functions.
	SELECT NULL, type, stdio, sum(n), sum(time), sum(bytes)
	FROM (
		SELECT type, stdio, iif(type = 1, count - errors, count) + lost AS n, time, bytes
		FROM short JOIN kind ON kind.id = nameId
		UNION ALL
		SELECT eventType, isStdio, -count, -totalNs, -bytes FROM SL_FILE_TOTALS
		UNION ALL
		SELECT 4, 0, count - errors + lost, 0, bytes FROM short JOIN copies USING (nameId)
		UNION ALL
		SELECT 4, 0, 1, 0, bytesDone FROM OSRT_API JOIN copies USING (nameId) WHERE errnum IS NULL
	)
	WHERE NOT EXISTS (SELECT 1 FROM OSRT_FILE_ACCESS_EVENTS)
	GROUP BY type, stdio
	HAVING sum(n) > 0
), file AS (
	SELECT path, stdio,
		total(n) FILTER (WHERE type = 1) AS opens,
		total(n) FILTER (WHERE type = 3) AS reads,
		total(bytes) FILTER (WHERE type = 3) AS got,
		total(time) FILTER (WHERE type = 3) AS read_time,
		total(n) FILTER (WHERE type = 4) AS writes,
		total(bytes) FILTER (WHERE type = 4) AS put,
		total(time) FILTER (WHERE type = 4) AS write_time
	FROM part
	GROUP BY path, stdio
)
SELECT
	round(coalesce(100 * (read_time + write_time) / sum(read_time + write_time) OVER (), 0), 1) AS "Time (%)",
	CAST(read_time + write_time AS INTEGER) AS "I/O Time (ns)",
	CAST(opens AS INTEGER) AS "Opens",
	CAST(reads AS INTEGER) AS "Reads",
	CAST(got AS INTEGER) AS "Read (bytes)",
	CAST(read_time AS INTEGER) AS "Read Time (ns)",
	round(got / reads, 1) AS "Avg Read (bytes)",
	CAST(writes AS INTEGER) AS "Writes",
	CAST(put AS INTEGER) AS "Written (bytes)",
	CAST(write_time AS INTEGER) AS "Write Time (ns)",
	round(put / writes, 1) AS "Avg Write (bytes)",
	CASE stdio WHEN 0 THEN 'POSIX' WHEN 1 THEN 'STDIO' END AS "Interface",
	coalesce(path, '[file not known]') AS "Path"
FROM file
ORDER BY path IS NULL, "I/O Time (ns)" DESC, opens DESC, path, stdio;
