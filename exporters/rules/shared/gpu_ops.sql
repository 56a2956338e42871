-- gpu_ops(globalPid, deviceId, contextId, streamId, start, end, correlationId, what, bytes): what GPUs
-- did: 'kernel', 'memcpy', 'memset', 'graph'.
CREATE TEMP VIEW gpu_ops AS
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'kernel' AS what, NULL AS bytes
FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'memcpy', bytes
FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'memset', bytes
FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE end >= start
UNION ALL
SELECT globalPid, deviceId, contextId, streamId, start, end, correlationId, 'graph', NULL
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE end >= start;
