-- title: GPU idle
-- about: Time between the first and the last that a GPU did for a process in which it did nothing, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 40 single
WITH reach AS (
	SELECT start, max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM (SELECT globalPid, deviceId, start, end FROM SL_GPU_WORK WHERE end >= start LIMIT -1)
)
SELECT '', NULL, sum(max(start - coalesce(before, start), 0)), 1
FROM reach
HAVING count(*) > 0;
