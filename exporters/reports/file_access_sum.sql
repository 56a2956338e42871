-- title: File Access Summary
-- about: Opens, reads and writes, per file. From OSRT_FILE_ACCESS_EVENTS where it was recorded (every
-- about: call), else from the calls in OSRT_API (those at or above the threshold).
-- needs: OSRT_FILE_ACCESS_EVENTS or OSRT_API = file access
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
WITH named(value, type) AS (
	-- what a call does to the file: 1 open, 3 read, 4 write, as in ENUM_OSRT_FILE_ACCESS_EVENT_TYPE
	VALUES ('open', 1), ('open64', 1), ('openat', 1), ('openat64', 1), ('creat', 1), ('creat64', 1),
		('__open_2', 1), ('__open64_2', 1), ('__openat_2', 1), ('__openat64_2', 1), ('fopen', 1),
		('fopen64', 1), ('freopen', 1), ('freopen64', 1), ('opendir', 1), ('socket', 1),
		('accept', 1), ('accept4', 1),
		('read', 3), ('__read_chk', 3), ('pread', 3), ('__pread_chk', 3), ('pread64', 3),
		('__pread64_chk', 3), ('readv', 3), ('preadv', 3), ('preadv64', 3), ('preadv2', 3),
		('preadv64v2', 3), ('recv', 3), ('__recv_chk', 3), ('recvfrom', 3), ('__recvfrom_chk', 3),
		('recvmsg', 3),
		('write', 4), ('pwrite', 4), ('pwrite64', 4), ('writev', 4), ('pwritev', 4), ('pwritev64', 4),
		('pwritev2', 4), ('pwritev64v2', 4), ('send', 4), ('sendto', 4), ('sendmsg', 4)
), kind AS MATERIALIZED (
	SELECT id, type FROM StringIds JOIN named USING (value)
), part AS (
	SELECT filePath AS path, eventType AS type, count(*) AS n, sum(endedAt - startedAt) AS time,
		sum(bytesProcessed) AS bytes
	FROM OSRT_FILE_ACCESS_EVENTS AS e JOIN OSRT_FILE_ACCESS_DESCRIPTORS AS d USING (fileAccessId)
	GROUP BY 1, 2
	UNION ALL
	SELECT value, type, n, time, bytes
	FROM (
		SELECT pathId, type, count(*) AS n, sum(end - start) AS time, sum(max(returnValue, 0)) AS bytes
		FROM OSRT_API JOIN kind ON kind.id = nameId
		WHERE pathId IS NOT NULL AND errnum IS NULL AND nestingLevel = 0
			AND NOT EXISTS (SELECT 1 FROM OSRT_FILE_ACCESS_EVENTS)
		GROUP BY 1, 2
	) JOIN StringIds ON StringIds.id = pathId
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
