-- title: Why is a rank slow?
-- about: Where the time of its steps goes, against the median of the ranks: the excess per step, ms, and the largest part of it.
-- column: rank = the rank
-- column: cause = part with the largest excess; none: it has none
-- column: excessMs = that excess per step
-- column: gpuMs = GPU busy with other than NCCL
-- column: cpuMs = computing
-- column: fileMs = files and disks
-- column: networkMs = network
-- column: lockMs = locks and the GIL
-- column: runnableMs = waiting for a CPU
-- column: sleepMs = sleeping
-- column: otherMs = pipes, queues, children
WITH r AS (
	SELECT "rank", avg(gpuBusyNs - collNs) AS gpu, avg(cpuNs) AS cpu, avg(fileNs) AS file, avg(networkNs) AS network, avg(lockNs + gilNs) AS locked,
		avg(runnableNs) AS runnable, avg(sleepNs) AS slept, avg(otherNs) AS other
	FROM SL_STEPS WHERE run = :run GROUP BY "rank"
), m AS (
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY gpu) AS gpu, percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu) AS cpu,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY file) AS file, percentile_cont(0.5) WITHIN GROUP (ORDER BY network) AS network,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY locked) AS locked, percentile_cont(0.5) WITHIN GROUP (ORDER BY runnable) AS runnable,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY slept) AS slept, percentile_cont(0.5) WITHIN GROUP (ORDER BY other) AS other
	FROM r
), d AS (
	SELECT "rank", coalesce(r.gpu - m.gpu, 0) / 1e6 AS gpuMs, (r.cpu - m.cpu) / 1e6 AS cpuMs, (r.file - m.file) / 1e6 AS fileMs,
		(r.network - m.network) / 1e6 AS networkMs, (r.locked - m.locked) / 1e6 AS lockMs, (r.runnable - m.runnable) / 1e6 AS runnableMs,
		(r.slept - m.slept) / 1e6 AS sleepMs, (r.other - m.other) / 1e6 AS otherMs
	FROM r CROSS JOIN m
), x AS (
	SELECT *, greatest(gpuMs, cpuMs, fileMs, networkMs, lockMs, runnableMs, sleepMs, otherMs) AS excessMs FROM d
)
SELECT "rank", CASE CASE WHEN excessMs > 0 THEN excessMs ELSE -1 END WHEN -1 THEN 'none' WHEN gpuMs THEN 'GPU' WHEN fileMs THEN 'files' WHEN networkMs THEN 'network' WHEN lockMs THEN 'locks, GIL'
		WHEN runnableMs THEN 'waiting for a CPU' WHEN sleepMs THEN 'sleeping' WHEN cpuMs THEN 'computing' ELSE 'other waits' END AS cause,
	excessMs, gpuMs, cpuMs, fileMs, networkMs, lockMs, runnableMs, sleepMs, otherMs
FROM x
ORDER BY excessMs DESC, "rank"
LIMIT :top;
