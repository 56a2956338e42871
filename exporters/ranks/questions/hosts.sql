-- title: Which hosts are slow?
-- about: Means over the steps of the ranks of a host, slowest first.
-- column: host = node
-- column: ranks = how many it has
-- column: stepMs = duration of a step
-- column: gpuMs = GPU busy with other than NCCL
-- column: dataMs = waiting for other threads and processes (workers that load data)
-- column: runnableMs = waiting for a CPU
SELECT k.host, count(DISTINCT s."rank") AS ranks, avg(s."end" - s."start") / 1e6 AS stepMs, avg(s.gpuBusyNs - s.collNs) / 1e6 AS gpuMs,
	avg(s.dataNs) / 1e6 AS dataMs, avg(s.runnableNs) / 1e6 AS runnableMs
FROM SL_STEPS AS s JOIN SL_RANKS AS k ON k.run = s.run AND k."rank" = s."rank"
WHERE s.run = :run
GROUP BY k.host
ORDER BY coalesce(gpuMs, 0) + dataMs + runnableMs DESC, k.host
LIMIT :top;
