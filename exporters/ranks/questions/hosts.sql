-- title: Which hosts are slow?
-- about: Means over the steps of the ranks of a host, first the host with most work of its own: all but waits for its GPUs, and what they do.
-- column: host = node
-- column: ranks = how many it has
-- column: stepMs = duration of a step
-- column: ownMs = of that, all but waits for the GPU and for other ranks, and the GPU's own work
-- column: gpuMs = GPU busy with other than NCCL
-- column: dataMs = waiting for other threads and processes (workers that load data)
-- column: runnableMs = waiting for a CPU
SELECT k.host, count(DISTINCT s."rank") AS ranks, avg(s."end" - s."start") / 1e6 AS stepMs,
	avg(s."end" - s."start" - s.gpuNs + coalesce(s.gpuBusyNs - s.collNs, 0)) / 1e6 AS ownMs, avg(s.gpuBusyNs - s.collNs) / 1e6 AS gpuMs,
	avg(s.dataNs) / 1e6 AS dataMs, avg(s.runnableNs) / 1e6 AS runnableMs
FROM SL_STEPS AS s JOIN SL_RANKS AS k ON k.run = s.run AND k."rank" = s."rank"
WHERE s.run = :run
GROUP BY k.host
ORDER BY ownMs DESC, k.host
LIMIT :top;
