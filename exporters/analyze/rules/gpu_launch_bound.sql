-- title: Launch Bound GPU
-- about: GPUs whose multiprocessors (SMs) have nothing to do most of the time, while most kernels are so short that launching takes
-- about: longer than running.
-- needs: GPU_METRICS = GPU metrics: --gpu-metrics-devices=all
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- uses: gpu_device, metric_load
-- default: 170
-- arg: active=40, per cent; SMs Active below that, on average while the GPU worked
-- arg: short=10, microseconds; kernels below that are short
-- arg: share=50, per cent of the kernels that must be short
-- advice: Do more in one launch: fuse kernels (torch.compile, XLA), make batches larger, or record the steps into a CUDA
-- advice: graph and launch that.
-- column: Kernels = how many ran
-- column: Avg (ns) = mean duration
-- column: Total Time (ns) = time of all
-- column: GPU = number of the GPU
-- column: Kernel = its name
CREATE TEMP TABLE idle AS
SELECT gpuId, mean FROM metric_load WHERE metric = 'SMs Active' AND mean < :active;

CREATE TEMP TABLE short AS
SELECT gpuId, sum(n) AS n, sum(n * mean) AS short
FROM (
	SELECT key >> 16 AS process, key & 0xFFFF AS deviceId, n, mean
	FROM sl_stats_rows((
		SELECT sl_stats((globalPid >> 24 & 0xFFFFFF) << 16 | deviceId, end - start < 1000 * :short)
		FROM CUPTI_ACTIVITY_KIND_KERNEL
		WHERE EXISTS (SELECT 1 FROM idle)
	))
) AS s JOIN gpu_device AS o ON (o.globalPid >> 24 & 0xFFFFFF) = s.process AND o.deviceId = s.deviceId
GROUP BY gpuId;

SELECT
	'bad' AS severity,
	NULL AS cost,
	'On GPU ' || gpuId || ', ' || round(mean, 1) || ' % of the SMs were active while it worked; {' || CAST(round(short) AS INTEGER) || '} of {' || n
		|| '} kernels ran for less than ' || :short || ' us: the launches set the pace.' AS finding
FROM idle JOIN short USING (gpuId)
WHERE 100 * short > :share * n
ORDER BY mean
LIMIT 1;

SELECT
	sum(n) AS "Kernels",
	round(1.0 * sum(ns) / sum(n), 1) AS "Avg (ns)",
	sum(ns) AS "Total Time (ns)",
	gpuId AS "GPU",
	coalesce(value, '[unknown ' || detail || ']') AS "Kernel"
FROM sl_gpu_sums JOIN gpu_device USING (globalPid, deviceId) LEFT JOIN StringIds ON id = detail
WHERE what = 'kernel' AND gpuId IN (SELECT gpuId FROM idle)
GROUP BY gpuId, detail
HAVING sum(ns) < 1000 * :short * sum(n)
ORDER BY 1 DESC, 3 DESC, 5
LIMIT :rows;
