-- title: GPU Health Summary
-- about: Counters of GPUs by NVML (--gpu-health): clocks, power, temperature, time throttled by reason, memory, utilization, PCIe and
-- about: NVLink; and events of the driver (XID errors, ECC, resets), by kind. A level counts until its next sample; sums are per second.
-- needs: SL_COUNTERS.gpuId or SL_GPU_EVENTS = counters of GPUs
-- default: 902 quiet
-- column: GPU = number of the GPU
-- column: Samples = how many; of events: how many happened
-- column: Covered (%) = share of the recording of which the value is known
-- column: Mean = by time
-- column: Min = least of the samples
-- column: Med = half of the time it was as low or lower
-- column: P90 = 90 % of the time
-- column: Max = most of the samples
-- column: Total = what came together between samples, of sums
-- column: Unit = of Mean to Max; that of Total is the same without /s, and ns where Unit is % of the time
-- column: Counter = what; of events: kind and code, and when it happened first
-- column: Of = process or link, where it is not the GPU
-- include: counter_sums

SELECT
	gpu AS "GPU",
	n AS "Samples",
	round(100.0 * covered / nullif((SELECT max(duration) FROM ANALYSIS_DETAILS), 0), 1) AS "Covered (%)",
	round(mean, 3) AS "Mean",
	round(least, 3) AS "Min",
	round(med, 3) AS "Med",
	round(p90, 3) AS "P90",
	round(most, 3) AS "Max",
	round(total, 3) AS "Total",
	unit AS "Unit",
	name AS "Counter",
	of AS "Of"
FROM (
	SELECT 0 AS part, coalesce(c.gpuId, scopeId) AS gpu, s.*,
		unit, name, CASE scope WHEN 'gpu' THEN '' ELSE scope || ' ' || coalesce(scopeName, CASE scope
			WHEN 'process' THEN scopeId >> 24 & 0xFFFFFF ELSE scopeId END, '') END AS of, c.id AS at
	FROM counter_sum AS s JOIN counter_unit AS c USING (id)
	WHERE scope IN ('gpu', 'process', 'link')
	UNION ALL
	SELECT 1, gpuId, NULL, count(*), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'events',
		kind || coalesce(' ' || code, '') || ' (first at ' || round(min(timestamp) / 1e9, 3) || ' s)',
		coalesce('instance ' || max(gpuInstance), ''), min(timestamp)
	FROM SL_GPU_EVENTS
	GROUP BY gpuId, kind, code
)
ORDER BY gpu, part, of, at;
