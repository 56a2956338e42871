-- title: GPU busy
-- about: Time in which a GPU did something for a process, all GPUs together.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET or CUPTI_ACTIVITY_KIND_GRAPH_TRACE = GPU
-- unit: ns
-- default: 30 single
WITH work(globalPid, deviceId, start, end) AS (
	SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL SELECT globalPid, deviceId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
), reach AS (
	SELECT start, end, max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM work
	WHERE end >= start
)
SELECT '', NULL, sum(max(end - max(start, coalesce(before, start)), 0)), 1
FROM reach
HAVING count(*) > 0;
