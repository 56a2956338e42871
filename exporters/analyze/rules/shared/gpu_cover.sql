-- gpu_cover(what, globalPid, deviceId, n, ns, total, start, end): how many operations of a kind a process had on a GPU, the
-- time in which at least one of them went on, that of all together, the first start, the last end. what: 'all';
-- 'kernel' (graphs are kernels), 'compute' (the same without NCCL's, in which ranks wait for each other), 'nccl', 'not nccl',
-- 'host copy' (from or to the host), 'not host copy'. Kinds that did not occur have no row.
-- uses: gpu_ops
CREATE TEMP TABLE gpu_cover AS
WITH nccl AS MATERIALIZED (
	SELECT id FROM StringIds WHERE value GLOB 'nccl*'
), op AS (
	SELECT globalPid, deviceId, start, end, what IN ('kernel', 'graph') AS kernel,
		coalesce(what = 'kernel' AND detail IN nccl, 0) AS nccl,
		coalesce(what = 'memcpy' AND detail BETWEEN 1 AND 4, 0) AS host
	FROM gpu_ops
), part AS (
	SELECT 'all' AS what, globalPid, deviceId, start, end FROM op
	UNION ALL SELECT 'kernel', globalPid, deviceId, start, end FROM op WHERE kernel
	UNION ALL SELECT 'compute', globalPid, deviceId, start, end FROM op WHERE kernel AND NOT nccl
	UNION ALL SELECT 'nccl', globalPid, deviceId, start, end FROM op WHERE nccl
	UNION ALL SELECT 'not nccl', globalPid, deviceId, start, end FROM op WHERE NOT nccl
	UNION ALL SELECT 'host copy', globalPid, deviceId, start, end FROM op WHERE host
	UNION ALL SELECT 'not host copy', globalPid, deviceId, start, end FROM op WHERE NOT host
), fresh AS (
	-- what a union gains by another row is what none before it covers
	SELECT *, end - max(start, coalesce(max(end) OVER (PARTITION BY what, globalPid, deviceId
		ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS gain
	FROM part
)
SELECT what, globalPid, deviceId, count(*) AS n, sum(max(gain, 0)) AS ns, sum(end - start) AS total, min(start) AS start,
	max(end) AS end
FROM fresh
GROUP BY what, globalPid, deviceId;
