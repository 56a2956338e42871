-- title: GPU busy
-- about: Time in which a GPU did something for a process, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 30 single
WITH reach AS (
	SELECT start, end, max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM (SELECT globalPid, deviceId, start, end FROM SL_GPU_WORK WHERE end >= start LIMIT -1)
)
SELECT '', NULL, sum(max(end - max(start, coalesce(before, start)), 0)), 1
FROM reach
HAVING count(*) > 0;
