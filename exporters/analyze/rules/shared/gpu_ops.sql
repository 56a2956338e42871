-- gpu_ops(globalPid, deviceId, contextId, streamId, start, end, correlationId, what, bytes, detail):
-- what GPUs did: 'kernel', 'memcpy', 'memset', 'graph'. detail: of kernels shortName, of copies copyKind.
CREATE TEMP VIEW gpu_ops AS
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'kernel' AS what, NULL AS bytes,
	shortName AS detail
FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'memcpy', bytes, copyKind
FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'memset', bytes, NULL
FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'graph', NULL, NULL
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE end >= start;
