-- file_calls(globalTid, start, end, what, nameId, path, bytes, stdio): calls on regular files: 'open', 'stat' (and other
-- questions to folders), 'read', 'write', 'sync', 'close'. From OSRT_API where its calls know their paths, else from the rows
-- of --osrt-file-access.
-- stdio: 1: on a stream's buffer, whose bytes and calls are not those of the kernel.
-- unbuffered(fileAccessId): open files behind streams that have no buffer; their calls have stdio 0.
-- io_functions(id, what, stdio): the same for names of functions in StringIds.
CREATE TEMP TABLE io_functions AS
SELECT nameId AS id, file AS what, isStdio AS stdio
FROM SL_FUNCTION_KINDS
WHERE file IN ('open', 'stat', 'read', 'write', 'sync', 'close');

-- Open files behind streams without a buffer: a call reads or writes the file itself.
CREATE TEMP TABLE unbuffered(fileAccessId INTEGER PRIMARY KEY);
INSERT OR IGNORE INTO unbuffered
SELECT fileAccessId FROM OSRT_API
WHERE EXISTS (SELECT 1 FROM SL_FUNCTION_KINDS WHERE file = 'buffer') AND bytesAsked = 0 AND fileAccessId IS NOT NULL
	AND nameId IN (SELECT nameId FROM SL_FUNCTION_KINDS WHERE file = 'buffer');

CREATE TEMP TABLE file_calls AS
WITH path AS MATERIALIZED (
	SELECT id, value FROM StringIds
	WHERE value LIKE '/_%' AND value NOT GLOB '/dev/*' AND value NOT GLOB '/proc/*' AND value NOT GLOB '/sys/*'
), thread AS MATERIALIZED (
	SELECT globalTid % 0x1000000 AS tid, max(globalTid) AS globalTid FROM ThreadNames GROUP BY 1
)
SELECT * FROM (
	SELECT globalTid, start, end, what, nameId, path.value AS path, bytesDone AS bytes,
		stdio AND coalesce(fileAccessId NOT IN unbuffered, 1) AS stdio
	FROM OSRT_API JOIN io_functions ON io_functions.id = nameId JOIN path ON path.id = pathId
	WHERE end >= start
	-- without paths no call is looked at
	LIMIT CASE WHEN EXISTS (SELECT 1 FROM OSRT_API WHERE pathId IS NOT NULL) THEN -1 ELSE 0 END
)
UNION ALL
SELECT coalesce(globalTid, (SELECT max(globalVid) FROM ANALYSIS_DETAILS) + processId * 0x1000000 + threadId),
	startedAt, endedAt, what, apiCallId, filePath, bytesProcessed, stdio
FROM OSRT_FILE_ACCESS_EVENTS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
	JOIN io_functions ON io_functions.id = apiCallId LEFT JOIN thread ON tid = threadId
WHERE filePath LIKE '/_%' AND filePath NOT GLOB '/dev/*' AND filePath NOT GLOB '/proc/*'
	AND filePath NOT GLOB '/sys/*' AND NOT EXISTS (SELECT 1 FROM OSRT_API WHERE pathId IS NOT NULL);
