-- title: Memory Bound GPU
-- about: GPUs whose memory is at its limit: more arithmetic would cost nothing, less traffic is what helps.
-- needs: GPU_METRICS = GPU metrics: --gpu-metrics-devices=all
-- uses: gpu_device, metric_load
-- default: 173
-- arg: share=75, per cent of the memory's bandwidth, read and written, on average while the GPU worked
-- advice: Move fewer bytes: fuse kernels that read what others have just written, use narrower types, keep data in caches and
-- advice: shared memory. sightline ncu prints the command that shows a kernel's traffic.
-- column: GPU = number of the GPU
-- column: Mean (%) = of the bandwidth, on average while it worked
-- column: Max (%) = highest sample
-- column: Samples = how many
-- column: Metric = which
CREATE TEMP TABLE full AS
SELECT gpuId, sum(mean) AS mean
FROM metric_load
WHERE metric IN ('DRAM Read Bandwidth', 'DRAM Write Bandwidth', 'DRAM Bandwidth')
GROUP BY typeId
HAVING sum(mean) > :share;

SELECT
	'info' AS severity,
	NULL AS cost,
	'The memory of GPU ' || gpuId || ' was at ' || round(mean, 1) || ' % of its bandwidth while the GPU worked (read and written): it sets the pace.'
		AS finding
FROM full
ORDER BY mean DESC
LIMIT 1;

SELECT
	gpuId AS "GPU",
	round(mean, 1) AS "Mean (%)",
	round(most, 1) AS "Max (%)",
	n AS "Samples",
	metric AS "Metric"
FROM metric_load
WHERE metric LIKE 'DRAM%Bandwidth' AND gpuId IN (SELECT gpuId FROM full)
ORDER BY 2 DESC, 1, metric
LIMIT :rows;
