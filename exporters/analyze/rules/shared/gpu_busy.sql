-- gpu_busy(gpu, globalPid, deviceId, contextId, start, end, next): when a process kept a GPU busy: the union of
-- gpu_ops, so rows of one process and GPU neither overlap nor touch; next is when the one behind it starts, NULL for the
-- last. gpu numbers pairs of process and GPU from 0 on, in their order. contextId is NULL where a process uses several on
-- the GPU. In order of gpu, start.
-- uses: gpu_ops
CREATE TEMP TABLE gpu_used AS
SELECT row_number() OVER (ORDER BY globalPid, deviceId) - 1 AS gpu, globalPid, deviceId,
	CASE WHEN min(nullif(contextId, 0)) = max(contextId) THEN max(contextId) END AS contextId
FROM (SELECT DISTINCT globalPid, deviceId, contextId FROM gpu_ops)
GROUP BY globalPid, deviceId;

-- A row that starts behind the end of all before it begins an interval, and tells where the last one ended: the only rows
-- that need to be kept of so many. A row at the end of time closes the last.
CREATE TEMP TABLE gpu_busy(gpu INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, start INTEGER, end INTEGER,
	next INTEGER, PRIMARY KEY (gpu, end)) WITHOUT ROWID;
INSERT INTO gpu_busy
WITH op AS (
	SELECT globalPid, deviceId, start, end, 0 AS closes FROM gpu_ops
	UNION ALL
	SELECT globalPid, deviceId, 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1 FROM gpu_used
), edge AS (
	SELECT globalPid, deviceId, start, closes, max(end) OVER (PARTITION BY globalPid, deviceId
		ORDER BY start, closes ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM op
), island AS (
	SELECT globalPid, deviceId, start, closes, lead(before) OVER gpu AS end,
		lead(CASE WHEN NOT closes THEN start END) OVER gpu AS next
	FROM edge
	WHERE before IS NULL OR start > before OR closes
	WINDOW gpu AS (PARTITION BY globalPid, deviceId ORDER BY start, closes)
)
SELECT gpu, island.globalPid, island.deviceId, contextId, start, end, next
FROM island JOIN gpu_used ON gpu_used.globalPid IS island.globalPid AND gpu_used.deviceId IS island.deviceId
WHERE NOT closes;
