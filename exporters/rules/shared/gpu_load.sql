-- gpu_load(globalPid, deviceId, n, ns, wall): how many kernels a process ran on a GPU, and the time in which at least one
-- ran; without those of NCCL, in which ranks wait for each other.
CREATE TEMP TABLE gpu_load AS
WITH op AS (
	SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
	WHERE end >= start AND shortName NOT IN (SELECT id FROM StringIds WHERE value GLOB 'nccl*')
	UNION ALL
	SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE end >= start
), fresh AS (
	-- of each, the part that none before it covers
	SELECT globalPid, deviceId, end - max(start, coalesce(max(end) OVER (PARTITION BY globalPid, deviceId
		ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS ns
	FROM op
)
SELECT globalPid, deviceId, count(*) AS n, sum(max(ns, 0)) AS ns, (SELECT wall.ns FROM wall) AS wall
FROM fresh
GROUP BY globalPid, deviceId;
