-- title: How much of the collectives is hidden behind other work?
-- about: Per rank, means over its steps: time in which kernels of NCCL ran, and in which nothing else of the GPU ran meanwhile. That includes
-- about: waits for other ranks. First the rank with most time that is not hidden.
-- column: rank = the rank
-- column: host = its node
-- column: stepMs = duration of a step
-- column: collMs = collectives
-- column: exposedMs = of that, with no other work of the GPU
-- column: hidden = share of the collectives that other work hides
-- column: exposedShare = share of the step that is exposed
WITH k AS (
	SELECT "rank", min(host) AS host FROM SL_RANKS WHERE run = :run GROUP BY "rank"
), s AS (
	SELECT "rank", avg("end" - "start") AS took, avg(collNs) AS coll, avg(exposedCollNs) AS exposed FROM SL_STEPS WHERE run = :run AND collNs IS NOT NULL GROUP BY "rank"
)
SELECT s."rank", k.host, took / 1e6 AS stepMs, coll / 1e6 AS collMs, exposed / 1e6 AS exposedMs, CASE WHEN coll > 0 THEN 1 - exposed / coll END AS hidden,
	exposed / took AS exposedShare
FROM s LEFT JOIN k ON k."rank" = s."rank"
ORDER BY exposedMs DESC, s."rank"
LIMIT :top;
