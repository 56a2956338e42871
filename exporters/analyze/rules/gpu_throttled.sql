-- title: Throttled GPU
-- about: Time in which a GPU's driver held its clocks down, by reason: the GPU's own counters of it, so nothing between two samples is
-- about: missed. Low utilization is no reason to mention.
-- needs: SL_COUNTERS.gpuId = counters of GPUs: --gpu-health=10
-- default: 175
-- arg: share=2, per cent of the time that makes it worth mentioning
-- advice: Power: a higher limit (nvidia-smi -pl), if the machine has the power supply. Thermal: cooling, dust, neighbours. HW Power Brake:
-- advice: the power supply. Application Clocks, Base Clocks: they were set so (nvidia-smi -q -d CLOCK).
-- column: Throttled (ns) = time
-- column: Share (%) = of the time that was sampled
-- column: GPU = number of the GPU
-- column: Reason = what the driver gives
CREATE TEMP TABLE throttled AS
SELECT c.gpuId, substr(name, 12) AS reason, CAST(sum(value) AS INTEGER) AS ns, max(timestamp) - min(timestamp) AS sampled
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES ON counterId = c.id
WHERE scope = 'gpu' AND name LIKE 'Throttled: %' AND name <> 'Throttled: Low Utilization' AND isSum
GROUP BY c.gpuId, name
HAVING sum(value) > 0 AND 100 * sum(value) > :share * (max(timestamp) - min(timestamp));

SELECT
	CASE WHEN 10 * ns > sampled THEN 'severe' ELSE 'bad' END AS severity,
	NULL AS cost,
	'The clocks of GPU ' || gpuId || ' were held down for {' || ns || ' ns}, ' || round(100.0 * ns / sampled, 1) || ' % of the time: '
		|| reason || CASE reasons WHEN 1 THEN '' ELSE ' (and for other reasons)' END
		|| coalesce(', at ' || (SELECT CAST(round(max(value)) AS INTEGER) FROM SL_COUNTERS AS p JOIN SL_COUNTER_SAMPLES ON counterId = p.id
			WHERE p.gpuId = worst.gpuId AND scope = 'gpu' AND name = CASE WHEN reason LIKE '%Therm%' THEN 'Temperature' ELSE 'Power' END)
			|| CASE WHEN reason LIKE '%Therm%' THEN ' C' ELSE ' W' END || ' at most', '') || '.' AS finding
FROM (SELECT *, count(*) OVER (PARTITION BY gpuId) AS reasons FROM throttled) AS worst
ORDER BY 1.0 * ns / sampled DESC
LIMIT 1;

SELECT
	ns AS "Throttled (ns)",
	round(100.0 * ns / sampled, 2) AS "Share (%)",
	gpuId AS "GPU",
	reason AS "Reason"
FROM throttled
ORDER BY 2 DESC, gpuId, reason
LIMIT :rows;
