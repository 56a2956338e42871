-- nvprof.sql - tables of nvprof, attached as old, into those of schema.sql. Run by nvprof.c, a part at a time:
--
--   -- @part TABLE NEEDS...   the rows of main.TABLE, where old has all tables of NEEDS; without TABLE: a step before
--
-- Columns of nvprof that old lacks (of another version) are read as NULL: old is views of the file's tables. Functions:
-- nv_full(symbol), nv_base(symbol): a kernel's name as people write it, and without scope, parameters and template arguments;
-- nv_call(kind, cbid): the name of a call of the runtime (0) or the driver (1); nv_word(blob, i): its i-th 32-bit word.

-- @part
CREATE TEMP TABLE texts (id INTEGER PRIMARY KEY, value TEXT UNIQUE);
INSERT INTO texts VALUES (0, '');
-- Calls of all threads; nvprof has pthread_self() for a thread: they get numbers of their own, and that for a name.
CREATE TEMP TABLE calls AS
SELECT 0 AS kind, cbid, start, end, processId, threadId & 0xFFFFFFFF AS threadId, correlationId, returnValue FROM old_RUNTIME
UNION ALL
SELECT 1, cbid, start, end, processId, threadId & 0xFFFFFFFF, correlationId, returnValue FROM old_DRIVER;
CREATE TEMP TABLE marks AS
SELECT id, flags, timestamp, objectKind, nv_word(objectId, 0) AS processId, nv_word(objectId, 1) AS threadId, name, domain
FROM old_MARKER;
CREATE TEMP TABLE threads AS
SELECT processId, threadId, row_number() OVER (ORDER BY processId, threadId) AS tid,
	1 << 48 | (processId & 0xFFFFFF) << 24 | (row_number() OVER (ORDER BY processId, threadId) & 0xFFFFFF) AS globalTid
FROM (SELECT processId, threadId FROM calls UNION SELECT processId, threadId FROM marks WHERE objectKind = 2);
CREATE UNIQUE INDEX temp.threads_of ON threads(processId, threadId);
-- The process of work is that of its call; of work without one, the only process.
CREATE TEMP TABLE launches (correlationId INTEGER PRIMARY KEY, processId INTEGER);
INSERT OR IGNORE INTO launches SELECT correlationId, processId FROM calls ORDER BY start;
CREATE TEMP TABLE work AS
SELECT correlationId FROM old_KERNEL UNION SELECT correlationId FROM old_MEMCPY UNION SELECT correlationId FROM old_MEMCPY2
UNION SELECT correlationId FROM old_MEMSET UNION SELECT correlationId FROM old_SYNCHRONIZATION;
CREATE TEMP TABLE owner (correlationId INTEGER PRIMARY KEY, globalPid INTEGER);
INSERT INTO owner SELECT w.correlationId, 1 << 48 | (coalesce(l.processId, (SELECT min(processId) FROM launches), 0) & 0xFFFFFF) << 24
FROM work AS w LEFT JOIN launches AS l ON l.correlationId = w.correlationId WHERE w.correlationId IS NOT NULL;
CREATE TEMP TABLE zero AS
SELECT coalesce(min(t), 0) AS t FROM (
	SELECT min(start) AS t FROM calls UNION ALL SELECT min(nullif(start, 0)) FROM old_KERNEL
	UNION ALL SELECT min(nullif(start, 0)) FROM old_MEMCPY UNION ALL SELECT min(nullif(start, 0)) FROM old_MEMCPY2
	UNION ALL SELECT min(nullif(start, 0)) FROM old_MEMSET UNION ALL SELECT min(timestamp) FROM marks);
CREATE TEMP TABLE until AS
SELECT coalesce(max(t), 0) AS t FROM (
	SELECT max(end) AS t FROM calls UNION ALL SELECT max(end) FROM old_KERNEL UNION ALL SELECT max(end) FROM old_MEMCPY
	UNION ALL SELECT max(end) FROM old_MEMCPY2 UNION ALL SELECT max(end) FROM old_MEMSET UNION ALL SELECT max(timestamp) FROM marks);
CREATE TEMP TABLE names AS
SELECT _id_ AS id, value AS mangled, nv_full(value) AS full, nv_base(value) AS base FROM old_StringTable;
CREATE UNIQUE INDEX temp.names_of ON names(id);
CREATE TEMP TABLE functions AS SELECT kind, cbid, nv_call(kind, cbid) AS name FROM (SELECT DISTINCT kind, cbid FROM calls);
INSERT OR IGNORE INTO texts(value)
SELECT mangled FROM names UNION SELECT full FROM names UNION SELECT base FROM names UNION SELECT name FROM functions
UNION SELECT 'thread ' || printf('0x%x', threadId) FROM threads;

-- @part StringIds
INSERT INTO StringIds SELECT id, value FROM texts;

-- @part TARGET_INFO_SESSION_START_TIME
INSERT INTO TARGET_INFO_SESSION_START_TIME
SELECT t, strftime('%Y-%m-%dT%H:%M:%S', t / 1000000000, 'unixepoch'), NULL, NULL, NULL FROM zero WHERE t > 1000000000000000000;

-- @part ANALYSIS_DETAILS
INSERT INTO ANALYSIS_DETAILS SELECT 1 << 48, until.t - zero.t, 0, until.t - zero.t FROM zero, until;

-- @part PROCESSES
INSERT INTO PROCESSES SELECT DISTINCT 1 << 48 | (processId & 0xFFFFFF) << 24, processId, 'process ' || processId FROM threads;

-- @part ThreadNames
INSERT INTO ThreadNames SELECT x.id, NULL, globalTid FROM threads JOIN texts AS x ON x.value = 'thread ' || printf('0x%x', threadId);

-- @part CUPTI_ACTIVITY_KIND_RUNTIME RUNTIME|DRIVER
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
SELECT c.start - zero.t, max(c.end, c.start) - zero.t, c.kind, t.globalTid, c.correlationId, x.id, coalesce(c.returnValue, 0), NULL
FROM calls AS c, zero JOIN threads AS t ON t.processId = c.processId AND t.threadId = c.threadId
	JOIN functions AS f ON f.kind = c.kind AND f.cbid = c.cbid JOIN texts AS x ON x.value = f.name
ORDER BY c.start;

-- @part CUPTI_ACTIVITY_KIND_KERNEL KERNEL
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName,
	mangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,
	localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements)
SELECT k.start - zero.t, k.end - zero.t, deviceId, contextId, streamId, k.correlationId, o.globalPid, f.id, b.id, m.id,
	coalesce(registersPerThread, 0), coalesce(gridX, 0), coalesce(gridY, 0), coalesce(gridZ, 0), coalesce(blockX, 0),
	coalesce(blockY, 0), coalesce(blockZ, 0), coalesce(staticSharedMemory, 0), coalesce(dynamicSharedMemory, 0),
	coalesce(localMemoryPerThread, 0), coalesce(localMemoryTotal, 0), coalesce(gridId, 0), '[]'
FROM old_KERNEL AS k, zero LEFT JOIN owner AS o ON o.correlationId = k.correlationId LEFT JOIN names AS n ON n.id = k.name
	JOIN texts AS f ON f.value = coalesce(n.full, '') JOIN texts AS b ON b.value = coalesce(n.base, '')
	JOIN texts AS m ON m.value = coalesce(n.mangled, '')
WHERE k.start > 0 AND k.end >= k.start
ORDER BY k.start;

-- @part CUPTI_ACTIVITY_KIND_MEMCPY MEMCPY|MEMCPY2
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind,
	dstKind, srcDeviceId, srcContextId, dstDeviceId, dstContextId, copyCount)
SELECT c.start - zero.t, c.end - zero.t, deviceId, contextId, streamId, c.correlationId, o.globalPid, bytes, copyKind,
	-- CUPTI's numbers of memories begin with "unknown", those of nsys end with it.
	CASE srcKind WHEN 0 THEN 7 ELSE srcKind - 1 END, CASE dstKind WHEN 0 THEN 7 ELSE dstKind - 1 END,
	srcDeviceId, srcContextId, dstDeviceId, dstContextId, 1
FROM (
	SELECT start, end, deviceId, contextId, streamId, correlationId, bytes, copyKind, srcKind, dstKind, NULL AS srcDeviceId,
		NULL AS srcContextId, NULL AS dstDeviceId, NULL AS dstContextId FROM old_MEMCPY
	UNION ALL
	SELECT start, end, deviceId, contextId, streamId, correlationId, bytes, copyKind, srcKind, dstKind, srcDeviceId, srcContextId,
		dstDeviceId, dstContextId FROM old_MEMCPY2
) AS c, zero LEFT JOIN owner AS o ON o.correlationId = c.correlationId
WHERE c.start > 0 AND c.end >= c.start
ORDER BY c.start;

-- @part CUPTI_ACTIVITY_KIND_MEMSET MEMSET
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, value, bytes, memKind)
SELECT s.start - zero.t, s.end - zero.t, deviceId, contextId, streamId, s.correlationId, o.globalPid, value, bytes,
	CASE memoryKind WHEN 0 THEN 7 ELSE memoryKind - 1 END
FROM old_MEMSET AS s, zero LEFT JOIN owner AS o ON o.correlationId = s.correlationId
WHERE s.start > 0 AND s.end >= s.start
ORDER BY s.start;

-- @part CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SYNCHRONIZATION
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId)
SELECT s.start - zero.t, s.end - zero.t, coalesce((SELECT min(c.deviceId) FROM old_CONTEXT AS c WHERE c.contextId = s.contextId), 0),
	s.contextId, s.streamId, s.correlationId, o.globalPid, s.type, coalesce(s.cudaEventId, 4294967295)
FROM old_SYNCHRONIZATION AS s, zero LEFT JOIN owner AS o ON o.correlationId = s.correlationId
WHERE s.start > 0 AND s.end >= s.start
ORDER BY s.start;

-- @part NVTX_EVENTS MARKER
-- Flags: 1 a mark, 2 the start of a range, 4 its end, which has its id.
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, endGlobalTid, domainId)
SELECT m.timestamp - zero.t, e.timestamp - zero.t, CASE WHEN m.flags & 1 THEN 34 WHEN e.threadId IS m.threadId THEN 59 ELSE 60 END,
	s.value, t.globalTid, CASE WHEN e.threadId IS NOT m.threadId THEN u.globalTid END, 0
FROM marks AS m, zero LEFT JOIN (SELECT id, min(timestamp) AS timestamp, processId, threadId FROM marks WHERE flags & 4 GROUP BY id) AS e
	ON e.id = m.id AND m.flags & 2
	LEFT JOIN old_StringTable AS s ON s._id_ = m.name
	LEFT JOIN threads AS t ON t.processId = m.processId AND t.threadId = m.threadId
	LEFT JOIN threads AS u ON u.processId = e.processId AND u.threadId = e.threadId
WHERE m.flags & 3
ORDER BY m.timestamp;

-- @part TARGET_INFO_GPU DEVICE
INSERT INTO TARGET_INFO_GPU (vmId, id, name, l2CacheSize, totalMemory, memoryBandwidth, clockRate, smCount, cuDevice, constantMemory)
SELECT 1 << 48, d.id, s.value, d.l2CacheSize, d.globalMemorySize, d.globalMemoryBandwidth * 1000, d.coreClockRate * 1000,
	d.numMultiprocessors, d.id, d.constantMemorySize
FROM old_DEVICE AS d LEFT JOIN old_StringTable AS s ON s._id_ = d.name GROUP BY d.id;

-- @part TARGET_INFO_CUDA_DEVICE DEVICE
INSERT INTO TARGET_INFO_CUDA_DEVICE
SELECT d.id, d.id, p.processId, NULL, d.numMultiprocessors FROM old_DEVICE AS d, (SELECT DISTINCT processId FROM threads) AS p GROUP BY 2, 3;
