-- gpu_busy(globalPid, deviceId, contextId, start, end): when a process kept a GPU busy: the union of
-- gpu_ops, so rows of one process and GPU neither overlap nor touch. contextId is NULL where a process uses
-- several on the GPU. In order of process, GPU, start.
-- uses: gpu_ops
CREATE TEMP TABLE gpu_used AS
SELECT globalPid, deviceId, CASE WHEN min(nullif(contextId, 0)) = max(contextId) THEN max(contextId) END AS contextId
FROM (SELECT DISTINCT globalPid, deviceId, contextId FROM gpu_ops)
GROUP BY globalPid, deviceId;

-- A row that starts behind the end of all before it begins an interval, and tells where the last one ended: the only rows
-- that need to be kept of so many. A row at the end of time closes the last.
CREATE TEMP TABLE gpu_busy AS
WITH op AS (
	SELECT globalPid, deviceId, start, end FROM gpu_ops
	UNION ALL
	SELECT globalPid, deviceId, 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF FROM gpu_used
), edge AS (
	SELECT globalPid, deviceId, start, max(end) OVER (PARTITION BY globalPid, deviceId
		ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM op
), island AS (
	SELECT globalPid, deviceId, start, lead(before) OVER (PARTITION BY globalPid, deviceId ORDER BY start) AS end
	FROM edge
	WHERE before IS NULL OR start > before
)
SELECT island.globalPid, island.deviceId, contextId, start, end
FROM island JOIN gpu_used ON gpu_used.globalPid IS island.globalPid AND gpu_used.deviceId IS island.deviceId
WHERE end IS NOT NULL;
