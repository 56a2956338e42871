-- gpu_busy(globalPid, deviceId, contextId, start, end): when a process kept a GPU busy: the union of
-- gpu_ops, so rows of one process and GPU neither overlap nor touch. contextId is NULL where it was
-- several. In order of process, GPU, start.
-- uses: gpu_ops
CREATE TEMP TABLE gpu_busy AS
WITH edge AS (
	SELECT globalPid, deviceId, contextId, start, end, max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM gpu_ops
), island AS (
	SELECT globalPid, deviceId, contextId, start, end,
		count(*) FILTER (WHERE before IS NULL OR start > before) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS UNBOUNDED PRECEDING) AS nr
	FROM edge
)
SELECT globalPid, deviceId,
	CASE WHEN min(nullif(contextId, 0)) = max(contextId) THEN max(contextId) END AS contextId,
	min(start) AS start, max(end) AS end
FROM island
GROUP BY globalPid, deviceId, nr;
