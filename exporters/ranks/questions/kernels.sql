-- title: Which kernels take the GPUs' time, and on which rank longest?
-- about: Of all ranks; NCCL's kernels, in which ranks wait, apart.
-- column: name = kernel
-- column: s = time, s
-- column: n = how many
-- column: meanUs = mean over all ranks, us
-- column: slowestRank = the rank with the largest mean
-- column: ratio = its mean against that of all
WITH r AS (
	SELECT name, "rank", sum(ns) AS ns, sum(n) AS n FROM SL_KERNELS
	WHERE run = :run AND name NOT LIKE 'nccl%' GROUP BY name, "rank"
), m AS (
	SELECT r.*, ns * 1e0 / n AS mean, max(ns * 1e0 / n) OVER (PARTITION BY name) AS most FROM r
)
SELECT name, sum(ns) / 1e9 AS s, CAST(sum(n) AS BIGINT) AS n, sum(ns) * 1e-3 / sum(n) AS meanUs, min(CASE WHEN mean = most THEN "rank" END) AS slowestRank,
	max(most) / (sum(ns) * 1e0 / sum(n)) AS ratio
FROM m
GROUP BY name
ORDER BY s DESC, name
LIMIT :top;
