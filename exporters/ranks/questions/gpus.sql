-- title: Which GPU is slow?
-- about: The same kernels against the median of the ranks with the same type of GPU, weighted by time: above 1 is slower (clock, heat).
-- column: rank = the rank
-- column: host = its node
-- column: gpu = its GPU
-- column: slower = time of its kernels against what the median rank takes for them
-- column: throttled = share of the time in which its clock was kept low, idle time apart
-- column: cause = the reason for most of that, as the driver has it
-- column: clockMhz = mean clock of its multiprocessors
-- column: hottest = highest temperature, C
-- column: errors = XID errors, uncorrected ECC errors
WITH k AS (
	SELECT DISTINCT "rank", host, coalesce(gpuName, '') AS gpu FROM SL_RANKS WHERE run = :run
), r AS (
	SELECT s.name, s."rank", k.host, k.gpu, sum(s.ns) * 1e0 / sum(s.n) AS mean, sum(s.ns) AS ns
	FROM SL_KERNELS AS s JOIN k ON k."rank" = s."rank"
	WHERE s.run = :run AND s.name NOT LIKE 'nccl%'
	GROUP BY s.name, s."rank", k.host, k.gpu
), m AS (
	SELECT name, gpu, percentile_cont(0.5) WITHIN GROUP (ORDER BY mean) AS median FROM r GROUP BY name, gpu
), s AS (
	SELECT r."rank", r.host, r.gpu, sum(r.ns) / sum(m.median * r.ns / r.mean) AS slower
	FROM r JOIN m ON m.name = r.name AND m.gpu = r.gpu
	WHERE r.mean > 0 AND m.median > 0
	GROUP BY r."rank", r.host, r.gpu
), life AS (
	SELECT "rank", max("end" - "start") AS ns FROM SL_RANKS WHERE run = :run GROUP BY "rank"
), t AS (
	SELECT "rank", name, sum(total) AS ns FROM SL_GPU_HEALTH
	WHERE run = :run AND name LIKE 'Throttled: %' AND name <> 'Throttled: Low Utilization' GROUP BY "rank", name
), most AS (
	SELECT "rank", max(ns) AS ns FROM t GROUP BY "rank"
), why AS (
	-- Reasons overlap: the time is at least that of the largest.
	SELECT t."rank", t.ns, min(substring(t.name, 12)) AS cause FROM t JOIN most ON most."rank" = t."rank" AND most.ns = t.ns WHERE t.ns > 0 GROUP BY t."rank", t.ns
), h AS (
	SELECT "rank", sum(CASE WHEN name = 'SM Clock' THEN total END) / 1e6 / sum(CASE WHEN name = 'SM Clock' THEN n END) AS clockMhz,
		max(CASE WHEN name = 'Temperature' THEN most END) AS hottest, CAST(sum(CASE WHEN name LIKE 'xid%' OR name = 'ECC Uncorrected' THEN total ELSE 0 END) AS BIGINT) AS errors
	FROM SL_GPU_HEALTH WHERE run = :run GROUP BY "rank"
)
SELECT s."rank", s.host, s.gpu, s.slower, CASE WHEN h."rank" IS NOT NULL THEN coalesce(why.ns * 1e0 / life.ns, 0) END AS throttled, why.cause, h.clockMhz, h.hottest, h.errors
FROM s LEFT JOIN h ON h."rank" = s."rank" LEFT JOIN why ON why."rank" = s."rank" LEFT JOIN life ON life."rank" = s."rank"
ORDER BY slower DESC, s."rank"
LIMIT :top;
