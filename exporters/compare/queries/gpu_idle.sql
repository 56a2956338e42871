-- title: GPU idle
-- about: Time between the first and the last that a GPU did for a process in which it did nothing, all GPUs together.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET or CUPTI_ACTIVITY_KIND_GRAPH_TRACE = GPU
-- unit: ns
-- default: 40 single
WITH work(globalPid, deviceId, start, end) AS (
	SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
), reach AS (
	SELECT start, max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM work
	WHERE end >= start
)
SELECT '', NULL, sum(max(start - coalesce(before, start), 0)), 1
FROM reach
HAVING count(*) > 0;
