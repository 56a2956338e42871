-- title: Busy Links
-- about: GPUs whose PCIe or NVLink connection carries most of what it can, on average while they worked: copies and collectives wait
-- about: for it.
-- needs: GPU_METRICS = GPU metrics: --gpu-metrics-devices=all
-- uses: gpu_device, metric_load
-- default: 174
-- arg: share=60, per cent of what the link can carry in one direction
-- advice: Send less (narrower types, no copies that repeat), keep data on the GPU, or overlap copies with work; between GPUs see
-- advice: rule nccl_exposed. RX is what the GPU receives.
-- column: GPU = number of the GPU
-- column: Mean (%) = of what the link can carry, on average while it worked
-- column: Max (%) = highest sample
-- column: Samples = how many
-- column: Metric = which link and direction
-- NVLink's own set counts kinds of packets: those of one direction are its load together.
CREATE TEMP TABLE link AS
SELECT gpuId, typeId, CASE WHEN metric LIKE 'PCIe%' THEN 'PCIe' ELSE 'NVLink' END AS link, iif(metric LIKE '% RX %' OR metric LIKE '% RX', 'RX', 'TX') AS way,
	sum(mean) AS mean, max(most) AS most, min(n) AS n
FROM metric_load
WHERE metric IN ('PCIe RX Throughput', 'PCIe TX Throughput', 'NVLink RX', 'NVLink TX') OR metric LIKE 'NVLink _X Re% Data'
GROUP BY typeId, link, way;

SELECT
	'bad' AS severity,
	NULL AS cost,
	link || ' ' || way || ' of GPU ' || gpuId || ' carried ' || round(mean, 1) || ' % of what it can on average while the GPU worked.' AS finding
FROM link
WHERE mean > :share
ORDER BY mean DESC
LIMIT 1;

SELECT
	gpuId AS "GPU",
	round(mean, 1) AS "Mean (%)",
	round(most, 1) AS "Max (%)",
	n AS "Samples",
	link || ' ' || way AS "Metric"
FROM link
WHERE EXISTS (SELECT 1 FROM link WHERE mean > :share)
ORDER BY 2 DESC, 1, 5
LIMIT :rows;
