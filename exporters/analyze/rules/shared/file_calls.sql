-- file_calls(globalTid, start, end, what, nameId, path, bytes): calls on regular files: 'open', 'stat' (and other
-- questions to folders), 'read', 'write', 'sync', 'close'. From OSRT_API where its calls know their paths, else from
-- what --osrt-file-access recorded.
-- io_functions(id, what): the same for names of functions in StringIds; twins such as __pread64_chk are there too.
CREATE TEMP TABLE io_functions AS
WITH plain(word, what) AS (
	VALUES ('open', 'open'), ('open_2', 'open'), ('openat', 'open'), ('openat_2', 'open'), ('fopen', 'open'),
		('opendir', 'stat'), ('stat', 'stat'), ('lstat', 'stat'), ('fstat', 'stat'), ('fstatat', 'stat'),
		('statx', 'stat'), ('xstat', 'stat'), ('fxstat', 'stat'), ('lxstat', 'stat'), ('fxstatat', 'stat'),
		('access', 'stat'), ('faccessat', 'stat'), ('readdir', 'stat'), ('readdir_r', 'stat'),
		('getdents', 'stat'), ('scandir', 'stat'), ('readlink', 'stat'), ('realpath', 'stat'),
		('read', 'read'), ('pread', 'read'), ('readv', 'read'), ('preadv', 'read'), ('preadv2', 'read'),
		('preadvv2', 'read'), ('fread', 'read'), ('fread_unlocked', 'read'), ('fgets', 'read'),
		('fgets_unlocked', 'read'), ('getline', 'read'), ('getdelim', 'read'), ('sendfile', 'read'),
		('copy_file_range', 'read'),
		('write', 'write'), ('pwrite', 'write'), ('writev', 'write'), ('pwritev', 'write'),
		('pwritev2', 'write'), ('pwritevv2', 'write'), ('fwrite', 'write'), ('fwrite_unlocked', 'write'),
		('fsync', 'sync'), ('fdatasync', 'sync'), ('sync_file_range', 'sync'), ('syncfs', 'sync'),
		('sync', 'sync'), ('msync', 'sync'), ('close', 'close'), ('fclose', 'close')
)
SELECT id, what
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
	SELECT globalTid, start, end, what, nameId, path.value AS path, bytesDone AS bytes
	FROM OSRT_API JOIN io_functions ON io_functions.id = nameId JOIN path ON path.id = pathId
	WHERE end >= start
	-- without paths no call is looked at
	LIMIT CASE WHEN EXISTS (SELECT 1 FROM OSRT_API WHERE pathId IS NOT NULL) THEN -1 ELSE 0 END
)
UNION ALL
SELECT coalesce(globalTid, (SELECT max(globalVid) FROM ANALYSIS_DETAILS) + processId * 0x1000000 + threadId),
	startedAt, endedAt, what, apiCallId, filePath, bytesProcessed
FROM OSRT_FILE_ACCESS_EVENTS JOIN OSRT_FILE_ACCESS_DESCRIPTORS USING (fileAccessId)
	JOIN io_functions ON io_functions.id = apiCallId LEFT JOIN thread ON tid = threadId
WHERE filePath LIKE '/_%' AND filePath NOT GLOB '/dev/*' AND filePath NOT GLOB '/proc/*'
	AND filePath NOT GLOB '/sys/*' AND NOT EXISTS (SELECT 1 FROM OSRT_API WHERE pathId IS NOT NULL);
