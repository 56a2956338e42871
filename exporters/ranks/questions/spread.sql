-- title: How long are the steps of each rank?
-- about: Quantiles of its own work (all but waits for the GPU and for other ranks, and the GPU's own work) and of the whole step, ms; first the rank
-- about: with the largest 99 % of its own.
-- column: rank = the rank
-- column: host = its node
-- column: steps = how many
-- column: ownP50 = half of its steps have no more work of their own
-- column: ownP99 = 99 % of its steps have no more
-- column: stepP50 = half of its steps are not longer
-- column: stepP99 = 99 % of its steps are not longer
-- column: longest = the longest step
WITH k AS (
	SELECT "rank", min(host) AS host FROM SL_RANKS WHERE run = :run GROUP BY "rank"
), s AS (
	SELECT "rank", ("end" - "start" - gpuNs + coalesce(gpuBusyNs - collNs, 0)) / 1e6 AS own, ("end" - "start") / 1e6 AS took FROM SL_STEPS WHERE run = :run
), q AS (
	SELECT "rank", count(*) AS steps, percentile_cont(0.5) WITHIN GROUP (ORDER BY own) AS ownP50, percentile_cont(0.99) WITHIN GROUP (ORDER BY own) AS ownP99,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS stepP50, percentile_cont(0.99) WITHIN GROUP (ORDER BY took) AS stepP99, max(took) AS longest
	FROM s GROUP BY "rank"
)
SELECT q."rank", k.host, steps, ownP50, ownP99, stepP50, stepP99, longest
FROM q LEFT JOIN k ON k."rank" = q."rank"
ORDER BY ownP99 DESC, q."rank"
LIMIT :top;
