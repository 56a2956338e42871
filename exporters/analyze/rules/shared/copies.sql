-- copies(globalPid, deviceId, contextId, greenContextId, streamId, start, end, bytes, kind, srcKind, dstKind,
-- srcDeviceId, dstDeviceId, callStart, callEnd, globalTid, name, blocking): what GPUs copied ('kind' is
-- copyKind) and the call that asked for it; migrations of unified memory and copies of graphs have no call.
-- correlation ids are unique within a process only. blocking: 1 the call returns when the copy is done, 0 it may
-- return before.
-- uses: cuda_calls
-- (Columns have types so that the index serves a comparison with columns that have them.)
CREATE TEMP TABLE copies_call(pid INTEGER, correlationId INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER,
	PRIMARY KEY (pid, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO copies_call
SELECT globalTid >> 24, correlationId, start, end, globalTid, nameId
FROM cuda_calls
WHERE what = 'copy' AND correlationId IS NOT NULL AND globalTid IS NOT NULL AND EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMCPY);

CREATE TEMP TABLE copies AS
SELECT globalPid, deviceId, contextId, greenContextId, streamId, m.start, m.end, bytes, copyKind AS kind, srcKind,
	dstKind, srcDeviceId, dstDeviceId, c.start AS callStart, c.end AS callEnd, c.globalTid, value AS name,
	value NOT GLOB '*Async*' AS blocking
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
	LEFT JOIN copies_call AS c ON pid = globalPid >> 24 AND c.correlationId = m.correlationId
	LEFT JOIN StringIds ON StringIds.id = nameId
WHERE m.end >= m.start;
