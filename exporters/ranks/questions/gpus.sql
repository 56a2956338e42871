-- title: Which GPU is slow?
-- about: The same kernels against the median of the ranks with the same type of GPU, weighted by time: above 1 is slower (clock, heat).
-- column: rank = the rank
-- column: host = its node
-- column: gpu = its GPU
-- column: slower = time of its kernels against what the median rank takes for them
WITH k AS (
	SELECT DISTINCT "rank", host, coalesce(gpuName, '') AS gpu FROM SL_RANKS WHERE run = :run
), r AS (
	SELECT s.name, s."rank", k.host, k.gpu, sum(s.ns) * 1e0 / sum(s.n) AS mean, sum(s.ns) AS ns
	FROM SL_KERNELS AS s JOIN k ON k."rank" = s."rank"
	WHERE s.run = :run AND s.name NOT LIKE 'nccl%'
	GROUP BY s.name, s."rank", k.host, k.gpu
), m AS (
	SELECT name, gpu, percentile_cont(0.5) WITHIN GROUP (ORDER BY mean) AS median FROM r GROUP BY name, gpu
)
SELECT r."rank", r.host, r.gpu, sum(r.ns) / sum(m.median * r.ns / r.mean) AS slower
FROM r JOIN m ON m.name = r.name AND m.gpu = r.gpu
WHERE r.mean > 0 AND m.median > 0
GROUP BY r."rank", r.host, r.gpu
ORDER BY slower DESC, r."rank"
LIMIT :top;
