-- title: Clock Ramp-Up
-- about: GPUs whose clock is lower in the first seconds of the work than later: measurements of these seconds mislead.
-- needs: SL_COUNTERS.gpuId = counters of GPUs: --gpu-health=10
-- default: 176
-- uses: gpu_device
-- arg: first=2, seconds from the first kernel on (without CUDA trace from the first sample)
-- arg: share=90, per cent of the median below which the first seconds are slow
-- advice: Leave the first seconds out of measurements (--delay, a warm-up), or lock the clocks (nvidia-smi -lgc).
-- column: GPU = number of the GPU
-- column: First (MHz) = mean SM clock in the first seconds
-- column: Median (MHz) = of all samples from there on
-- column: Of Median (%) = First in per cent of it
-- column: Samples = how many in the first seconds
CREATE TEMP TABLE clock AS
SELECT c.gpuId, timestamp AS at, value
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES ON counterId = c.id
WHERE scope = 'gpu' AND name = 'SM Clock' AND value IS NOT NULL
	AND timestamp >= coalesce((SELECT min(first) FROM sl_gpu_sums JOIN gpu_device USING (globalPid, deviceId)
		WHERE what IN ('kernel', 'graph') AND gpu_device.gpuId = c.gpuId), timestamp);

CREATE TEMP TABLE ramp AS
WITH ranked AS (
	SELECT *, min(at) OVER (PARTITION BY gpuId) AS begun, max(at) OVER (PARTITION BY gpuId) AS ended,
		row_number() OVER (PARTITION BY gpuId ORDER BY value) AS rank, count(*) OVER (PARTITION BY gpuId) AS cnt
	FROM clock
)
SELECT gpuId, begun, avg(value) FILTER (WHERE at < begun + 1e9 * :first) AS first, count(*) FILTER (WHERE at < begun + 1e9 * :first) AS n,
	min(value) FILTER (WHERE 2 * rank >= cnt) AS median
FROM ranked
GROUP BY gpuId
-- else the first seconds are most of it
HAVING max(ended) - max(begun) >= 2e9 * :first AND n > 1 AND 100 * first < :share * median;

SELECT
	'info' AS severity,
	NULL AS cost,
	'The SM clock of GPU ' || gpuId || ' was ' || CAST(round(first / 1e6) AS INTEGER) || ' MHz in the first ' || :first || ' s of its work, '
		|| round(100.0 * first / median, 1) || ' % of its median, ' || CAST(round(median / 1e6) AS INTEGER) || ' MHz.' AS finding,
	begun || ' ' || CAST(begun + 1e9 * :first AS INTEGER) || ' GPU ' || gpuId AS worst
FROM ramp
ORDER BY first / median
LIMIT 1;

SELECT
	gpuId AS "GPU",
	round(first / 1e6, 1) AS "First (MHz)",
	round(median / 1e6, 1) AS "Median (MHz)",
	round(100.0 * first / median, 1) AS "Of Median (%)",
	n AS "Samples"
FROM ramp
ORDER BY 4, 1
LIMIT :rows;
