-- title: Since when is a rank slow, and how often?
-- about: Per minute the rank whose steps do most work of its own (GPU without NCCL, else all but waits for the GPU). One rank in most minutes: persistent; another each
-- about: time: rotating.
-- column: minute = since 1970; in text its begin, UTC
-- column: slowest = the rank
-- column: ratio = its work per step against the median
WITH s AS (
	SELECT CAST(floor("start" / 6e10) AS BIGINT) AS minute, "rank", avg("end" - "start" - gpuNs + coalesce(gpuBusyNs - collNs, 0)) AS ns
	FROM SL_STEPS WHERE run = :run GROUP BY CAST(floor("start" / 6e10) AS BIGINT), "rank"
), m AS (
	SELECT minute, "rank", ns, max(ns) OVER (PARTITION BY minute) AS most FROM s
)
SELECT minute, min(CASE WHEN ns = most THEN "rank" END) AS slowest, max(ns) / percentile_cont(0.5) WITHIN GROUP (ORDER BY ns) AS ratio
FROM m
GROUP BY minute
ORDER BY minute
LIMIT :top;
