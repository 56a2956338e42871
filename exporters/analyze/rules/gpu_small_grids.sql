-- title: Small Grids
-- about: GPUs that are at work nearly all the time, with few of their multiprocessors (SMs): kernels whose grids have fewer blocks
-- about: than the GPU has SMs leave the rest of it idle.
-- needs: GPU_METRICS = GPU metrics: --gpu-metrics-devices=all
-- uses: gpu_device, metric_load
-- default: 171
-- arg: busy=80, per cent; GR Active above that, on average while the GPU worked
-- arg: active=50, per cent; SMs Active below that
-- advice: Give a kernel more blocks (larger batches, split-k, smaller tiles), or run several kernels at once in streams.
-- column: Kernels = how many ran
-- column: Blocks = of the grid, on average
-- column: SMs = that the GPU has; empty: not known
-- column: Total Time (ns) = time of all
-- column: GPU = number of the GPU
-- column: Kernel = its name
CREATE TEMP TABLE sparse AS
SELECT g.gpuId, g.mean AS busy, s.mean AS active, nullif(max(smCount), 0) AS sms
FROM metric_load AS g JOIN metric_load AS s ON s.typeId = g.typeId AND s.metric = 'SMs Active'
	LEFT JOIN TARGET_INFO_GPU AS t ON t.id = g.gpuId
WHERE g.metric = 'GR Active' AND g.mean > :busy AND s.mean < :active
GROUP BY g.typeId;

-- Kernels that leave SMs without a block.
CREATE TEMP TABLE small AS
SELECT gpuId, shortName, count(*) AS n, avg(gridX * gridY * gridZ) AS blocks, sum(end - start) AS ns
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN gpu_device AS o ON o.globalPid = k.globalPid AND o.deviceId = k.deviceId
	JOIN sparse USING (gpuId)
WHERE gridX * gridY * gridZ < coalesce(sms, 9223372036854775807) AND end >= start
GROUP BY gpuId, shortName;

SELECT
	'bad' AS severity,
	NULL AS cost,
	'GPU ' || gpuId || ' was at work ' || round(busy, 1) || ' % of the time (GR Active), with ' || round(active, 1) || ' % of its SMs active'
		|| coalesce((SELECT '; {' || sum(n) || ' kernel|kernels} of {' || sum(ns) || ' ns} in all had fewer blocks than its ' || sms || ' SMs'
			FROM small WHERE small.gpuId = sparse.gpuId AND sms IS NOT NULL HAVING count(*) > 0), '') || '.' AS finding
FROM sparse
ORDER BY active
LIMIT 1;

SELECT
	n AS "Kernels",
	round(blocks, 1) AS "Blocks",
	sms AS "SMs",
	ns AS "Total Time (ns)",
	gpuId AS "GPU",
	coalesce(value, '[unknown ' || shortName || ']') AS "Kernel"
FROM small JOIN sparse USING (gpuId) LEFT JOIN StringIds ON id = shortName
ORDER BY ns DESC, 6
LIMIT :rows;
