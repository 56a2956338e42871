-- title: Idle Tensor Cores
-- about: Programs that multiply matrices for a good part of the time, and do so beside the tensor cores: in a type that these do not
-- about: take, or in shapes that they cannot.
-- needs: GPU_METRICS = GPU metrics: --gpu-metrics-devices=all
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- uses: gpu_device, metric_load
-- default: 172
-- arg: active=10, per cent; Tensor Active below that, on average while the GPU worked
-- arg: share=30, per cent of the kernels' time that multiplications of matrices must take
-- advice: Use types that tensor cores multiply (bf16, fp16, tf32: torch.set_float32_matmul_precision('high'), fp8), with sizes that
-- advice: are multiples of 8 (of 16 for fp8 and int8).
-- column: Share (%) = of the kernels' time
-- column: Kernels = how many ran
-- column: Total Time (ns) = time of all
-- column: GPU = number of the GPU
-- column: Kernel = multiplication of matrices, by its name
CREATE TEMP TABLE by_name AS
SELECT gpuId, detail, coalesce(value, '') AS name, sum(n) AS n, sum(ns) AS ns,
	value LIKE '%gemm%' OR value LIKE '%nvjet%' OR value LIKE '%xmma%' OR value LIKE '%matmul%' OR value LIKE '%cutlass%kernel%' AS multiplies
FROM sl_gpu_sums JOIN gpu_device USING (globalPid, deviceId) LEFT JOIN StringIds ON id = detail
WHERE what = 'kernel'
GROUP BY gpuId, detail;

CREATE TEMP TABLE beside AS
SELECT l.gpuId, min(mean) AS mean, sum(ns) FILTER (WHERE multiplies) AS gemm, sum(ns) AS ns
FROM metric_load AS l JOIN by_name USING (gpuId)
WHERE metric IN ('Tensor Active', 'Tensor Active / FP16 Active')
GROUP BY l.typeId
HAVING min(mean) < :active AND 100 * sum(ns) FILTER (WHERE multiplies) > :share * sum(ns);

SELECT
	'bad' AS severity,
	NULL AS cost,
	'Multiplications of matrices took ' || round(100.0 * gemm / ns, 1) || ' % of the kernels'' time on GPU ' || gpuId || ' ({' || gemm
		|| ' ns}), with the tensor cores active for ' || round(mean, 1) || ' % of it all.' AS finding
FROM beside
ORDER BY gemm DESC
LIMIT 1;

SELECT
	round(100.0 * b.ns / beside.ns, 1) AS "Share (%)",
	b.n AS "Kernels",
	b.ns AS "Total Time (ns)",
	gpuId AS "GPU",
	name AS "Kernel"
FROM by_name AS b JOIN beside USING (gpuId)
WHERE multiplies
ORDER BY b.ns DESC, name
LIMIT :rows;
