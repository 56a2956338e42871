-- title: File Access Summary
-- about: Opens, reads and writes, per file. From OSRT_FILE_ACCESS_EVENTS where it was recorded (every
-- about: call), else from the calls in OSRT_API (those at or above the threshold).
-- needs: OSRT_FILE_ACCESS_EVENTS or OSRT_API.pathId = file access
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
WITH plain(word, type) AS (
	-- for reports without SL_FUNCTIONS: what a call does, as in ENUM_OSRT_FILE_ACCESS_EVENT_TYPE; twins such as
	-- __pread64_chk count as pread.
	VALUES ('open', 1), ('open_2', 1), ('openat', 1), ('openat_2', 1), ('creat', 1), ('mkstemp', 1),
		('mkostemp', 1), ('mkstemps', 1), ('mkostemps', 1), ('shm_open', 1), ('opendir', 1),
		('fopen', 1), ('freopen', 1), ('tmpfile', 1), ('connect', 1), ('accept', 1), ('accept4', 1),
		('read', 3), ('pread', 3), ('readv', 3), ('preadv', 3), ('preadv2', 3), ('preadvv2', 3),
		('sendfile', 3), ('copy_file_range', 3), ('splice', 3), ('tee', 3), ('getdents', 3),
		('recv', 3), ('recvfrom', 3), ('recvmsg', 3),
		('fread', 3), ('fread_unlocked', 3), ('fgets', 3), ('fgets_unlocked', 3), ('getline', 3),
		('getdelim', 3), ('fgetc', 3), ('getc', 3), ('fwrite', 4), ('fwrite_unlocked', 4), ('fputs', 4),
		('fputs_unlocked', 4), ('puts', 4), ('fprintf', 4), ('printf', 4), ('vfprintf', 4), ('vprintf', 4),
		('dprintf', 4), ('fputc', 4), ('putc', 4),
		('write', 4), ('pwrite', 4), ('writev', 4), ('pwritev', 4), ('pwritev2', 4), ('pwritevv2', 4),
		('vmsplice', 4), ('send', 4), ('sendto', 4), ('sendmsg', 4)
), kind AS MATERIALIZED (
	SELECT nameId AS id, io AS type
	FROM SL_FUNCTIONS
	WHERE io IN (1, 3, 4)
	UNION ALL
	SELECT id, type
	FROM StringIds JOIN plain ON word = replace(replace(replace(value, '__', ''), '_chk', ''), '64', '')
	WHERE NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS)
), part AS (
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
