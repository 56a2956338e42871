-- title: File Access Summary
-- about: Opens, reads and writes, per file. From OSRT_FILE_ACCESS_EVENTS where it was recorded (every
-- about: call), else from the calls in OSRT_API (those at or above the threshold); all shorter reads and writes are
-- about: added from SL_FILE_TOTALS, where the report has them and no part of its time was asked for.
-- needs: OSRT_FILE_ACCESS_EVENTS or OSRT_API.pathId or SL_FILE_TOTALS = file access
-- default: 910 quiet
-- column: Time (%) = share of the I/O Time of all listed rows
-- column: I/O Time (ns) = time in reads and writes
-- column: Opens = times it was opened
-- column: Reads = calls that read
-- column: Read (bytes) = bytes read
-- column: Read Time (ns) = time in reads
-- column: Avg Read (bytes) = bytes per read
-- column: Writes = calls that wrote
-- column: Written (bytes) = bytes written
-- column: Write Time (ns) = time in writes
-- column: Avg Write (bytes) = bytes per write
-- column: Path = path, peer address of a socket, or what the kernel calls it
WITH
-- include: io_functions
, part AS (
	SELECT filePath AS path, eventType AS type, count(*) AS n, sum(endedAt - startedAt) AS time,
		total(bytesProcessed) AS bytes
	FROM OSRT_FILE_ACCESS_EVENTS AS e JOIN OSRT_FILE_ACCESS_DESCRIPTORS AS d USING (fileAccessId)
	GROUP BY 1, 2
	UNION ALL
	SELECT value, type, n, time, bytes
	FROM (
		SELECT pathId, type, count(*) AS n, sum(end - start) AS time, total(coalesce(bytesDone, 0)) AS bytes
		FROM OSRT_API JOIN kind ON kind.id = nameId
		WHERE pathId IS NOT NULL AND (type <> 1 OR errnum IS NULL)
			-- fflush() is a write that moves no bytes.
			AND (type = 1 OR bytesDone IS NOT NULL OR NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS))
			AND NOT EXISTS (SELECT 1 FROM OSRT_FILE_ACCESS_EVENTS)
		GROUP BY 1, 2
	) JOIN StringIds ON StringIds.id = pathId
	UNION ALL
	SELECT filePath, eventType, count, totalNs, bytes
	FROM SL_FILE_TOTALS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
), file AS (
	SELECT path,
		total(n) FILTER (WHERE type = 1) AS opens,
		total(n) FILTER (WHERE type = 3) AS reads,
		total(bytes) FILTER (WHERE type = 3) AS got,
		total(time) FILTER (WHERE type = 3) AS read_time,
		total(n) FILTER (WHERE type = 4) AS writes,
		total(bytes) FILTER (WHERE type = 4) AS put,
		total(time) FILTER (WHERE type = 4) AS write_time
	FROM part
	GROUP BY path
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
	path AS "Path"
FROM file
ORDER BY "I/O Time (ns)" DESC, opens DESC, path;
