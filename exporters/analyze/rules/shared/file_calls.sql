-- file_calls(globalTid, start, end, what, nameId, path, bytes, stdio): calls on regular files: 'open', 'stat' (and other
-- questions to folders), 'read', 'write', 'sync', 'close'. From OSRT_API where its calls know their paths, else from
-- what --osrt-file-access recorded.
-- stdio: 1: on a stream's buffer, whose bytes and calls are not those of the kernel.
-- io_functions(id, what, stdio): the same for names of functions in StringIds; twins such as __pread64_chk are there too.
CREATE TEMP TABLE io_functions AS
WITH plain(word, what, stdio) AS (
	VALUES ('open', 'open', 0), ('open_2', 'open', 0), ('openat', 'open', 0), ('openat_2', 'open', 0), ('fopen', 'open', 1),
		('opendir', 'stat', 0), ('stat', 'stat', 0), ('lstat', 'stat', 0), ('fstat', 'stat', 0), ('fstatat', 'stat', 0),
		('statx', 'stat', 0), ('xstat', 'stat', 0), ('fxstat', 'stat', 0), ('lxstat', 'stat', 0), ('fxstatat', 'stat', 0),
		('access', 'stat', 0), ('faccessat', 'stat', 0), ('readdir', 'stat', 0), ('readdir_r', 'stat', 0),
		('getdents', 'stat', 0), ('scandir', 'stat', 0), ('readlink', 'stat', 0), ('realpath', 'stat', 0),
		('read', 'read', 0), ('pread', 'read', 0), ('readv', 'read', 0), ('preadv', 'read', 0), ('preadv2', 'read', 0),
		('preadvv2', 'read', 0), ('fread', 'read', 1), ('fread_unlocked', 'read', 1), ('fgets', 'read', 1),
		('fgets_unlocked', 'read', 1), ('getline', 'read', 1), ('getdelim', 'read', 1), ('sendfile', 'read', 0),
		('copy_file_range', 'read', 0),
		('write', 'write', 0), ('pwrite', 'write', 0), ('writev', 'write', 0), ('pwritev', 'write', 0),
		('pwritev2', 'write', 0), ('pwritevv2', 'write', 0), ('fwrite', 'write', 1), ('fwrite_unlocked', 'write', 1),
		('fsync', 'sync', 0), ('fdatasync', 'sync', 0), ('sync_file_range', 'sync', 0), ('syncfs', 'sync', 0),
		('sync', 'sync', 0), ('msync', 'sync', 0), ('close', 'close', 0), ('fclose', 'close', 1)
)
SELECT id, what, stdio
FROM StringIds CROSS JOIN plain ON word = replace(replace(replace(value, '__', ''), '_chk', ''), '64', '')
WHERE length(value) < 24; -- names of functions, not all the paths

CREATE TEMP TABLE file_calls AS
WITH path AS MATERIALIZED (
	SELECT id, value FROM StringIds
	WHERE value LIKE '/_%' AND value NOT GLOB '/dev/*' AND value NOT GLOB '/proc/*' AND value NOT GLOB '/sys/*'
), thread AS MATERIALIZED (
	SELECT globalTid % 0x1000000 AS tid, max(globalTid) AS globalTid FROM ThreadNames GROUP BY 1
)
SELECT * FROM (
	SELECT globalTid, start, end, what, nameId, path.value AS path, bytesDone AS bytes, stdio
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
