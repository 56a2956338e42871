-- title: OS Runtime Trace
-- about: Every libc and pthread call that has a row, in order of time.
-- needs: OSRT_API = OS Runtime trace
-- alias: osrttrace
-- column: Start (ns) = entry, since the start of the session
-- column: Duration (ns) = until return
-- column: Name = function
-- column: Return = value returned
-- column: Errno = errno of a failed call
-- column: Pid = process
-- column: Tid = thread
-- column: Thread Name = last name of the thread
-- column: Level = 0: called by the program, 1: by a traced function of level 0, ...
-- column: FD = file descriptor it works on
-- column: Offset = position in the file that the call named
-- column: Bytes Asked = bytes the caller asked to move
-- column: Bytes Done = bytes that were moved
-- column: Path = path the call names, or what the descriptor refers to
SELECT
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	coalesce(name.value, '[unknown ' || c.nameId || ']') AS "Name",
	returnValue AS "Return",
	errnum AS "Errno",
	(c.globalTid >> 24) & 0xFFFFFF AS "Pid",
	c.globalTid & 0xFFFFFF AS "Tid",
	thread.value AS "Thread Name",
	nestingLevel AS "Level",
	fd AS "FD",
	fileOffset AS "Offset",
	bytesAsked AS "Bytes Asked",
	bytesDone AS "Bytes Done",
	path.value AS "Path"
FROM OSRT_API AS c
	LEFT JOIN StringIds AS name ON name.id = c.nameId
	LEFT JOIN StringIds AS path ON path.id = c.pathId
	LEFT JOIN (SELECT globalTid, max(nameId) AS nameId FROM ThreadNames GROUP BY globalTid) AS t
		ON t.globalTid = c.globalTid
	LEFT JOIN StringIds AS thread ON thread.id = t.nameId
WHERE eventClass = 27
ORDER BY start, c.globalTid, nestingLevel, end DESC;
