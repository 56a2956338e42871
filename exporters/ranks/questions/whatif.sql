-- title: What if no rank straggled?
-- about: A bound: each step without what its slowest rank does more than the median one, of its own work.
-- column: seconds = what the steps took, s
-- column: withoutStragglers = at least so many, s
-- column: lost = share of the time, at most
WITH s AS (
	SELECT step, max("end" - "start" - gpuNs + coalesce(gpuBusyNs - collNs, 0)) AS slowest,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY "end" - "start" - gpuNs + coalesce(gpuBusyNs - collNs, 0)) AS typical,
		avg("end" - "start") AS took
	FROM SL_STEPS WHERE run = :run GROUP BY step
)
SELECT sum(took) / 1e9 AS seconds, sum(took - (slowest - typical)) / 1e9 AS withoutStragglers, 1 - sum(took - (slowest - typical)) / sum(took) AS lost
FROM s
LIMIT :top;
