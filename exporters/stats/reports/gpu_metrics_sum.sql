-- title: GPU Metrics Summary
-- about: Hardware metrics of GPUs (--gpu-metrics-devices), in the whole recording, in the steps (as step_sum has them), and with
-- about: ranges by name in NVTX ranges. Each sample counts for the time that it is about, and for its part within a range.
-- about: Ranges are times of the host: kernels that a range launches may run later, unless it waits for them.
-- about: Ranges shorter than 10 samples are left out: they would show their neighbours.
-- needs: GPU_METRICS = GPU metrics
-- default: 901 quiet
-- arg: range=<name>, the ranges that are steps: text or domain:text, % stands for anything
-- arg: ranges, rows for NVTX ranges by name, too
-- column: GPU = number of the GPU
-- column: Samples = how many the figures are made from
-- column: Covered (%) = share of the time that they cover
-- column: Mean = by time
-- column: P10 = 10 % of the time it was as low or lower
-- column: Med = half of the time
-- column: P90 = 90 % of the time
-- column: Max = highest sample
-- column: Metric = name, with its unit; clocks are in Hz
-- column: Of = recording, steps or range
-- column: Range = name of the ranges, # stands for numbers of steps
-- column: Instances = how many of them
-- column: Note = why there are no figures, or of how many ranges they are
-- include: gpu_spans
-- include: gpu_samples

-- Spans of one name are one set; its number stands for it in large tables.
CREATE TEMP TABLE metric_set AS
SELECT row_number() OVER () AS id, typeId, kind, name, count(*) AS instances, sum(is_used) AS used, sum(end - start) AS ns, max(ns) AS period
FROM (SELECT *, kind = 0 OR end - start >= 10 * ns AS is_used FROM gpu_span JOIN gpu_period ON typeId & 0xFF = gpuId)
GROUP BY typeId, kind, name;

-- The weight of a sample: ns within each set.
CREATE TEMP TABLE metric_part(typeId INTEGER, start INTEGER, setId INTEGER, ns INTEGER, PRIMARY KEY (typeId, start, setId)) WITHOUT ROWID;
INSERT INTO metric_part
SELECT s.typeId, s.start, m.id, sum(min(s.end, g.end) - max(s.start, g.start))
FROM metric_set AS m
	CROSS JOIN gpu_span AS g ON g.kind = m.kind AND g.name IS m.name AND g.gpuId = m.typeId & 0xFF
	CROSS JOIN (SELECT typeId AS longestType, max(end - start) AS longest FROM gpu_sample GROUP BY typeId) ON longestType = m.typeId
	CROSS JOIN gpu_sample AS s ON s.typeId = m.typeId AND s.start > g.start - longest AND s.start < g.end AND s.end > g.start
WHERE m.kind = 0 OR g.end - g.start >= 10 * period
GROUP BY 1, 2, 3;

CREATE TEMP TABLE metric_value AS
SELECT setId, metricId, coalesce(exact, value) AS value, sum(ns) AS ns, count(*) AS n
FROM GPU_METRICS AS g CROSS JOIN metric_part AS p ON p.typeId = g.typeId AND p.start = g.timestamp
GROUP BY setId, metricId, coalesce(exact, value);

WITH ranked AS (
	SELECT *, sum(ns) OVER (PARTITION BY setId, metricId ORDER BY value) AS upto,
		sum(ns) OVER (PARTITION BY setId, metricId) AS total
	FROM metric_value
), figure AS (
	SELECT setId, metricId, sum(n) AS n, max(total) AS covered, sum(value * ns) * 1.0 / max(total) AS mean,
		min(value) FILTER (WHERE 10 * upto >= total) AS p10, min(value) FILTER (WHERE 2 * upto >= total) AS med,
		min(value) FILTER (WHERE 10 * upto >= 9 * total) AS p90, max(value) AS most
	FROM ranked
	GROUP BY 1, 2
), metric AS (
	SELECT typeId, metricId, max(metricName) AS metricName FROM TARGET_INFO_GPU_METRICS GROUP BY 1, 2
)
SELECT
	typeId & 0xFF AS "GPU",
	iif(enough, n, 0) AS "Samples",
	round(100.0 * iif(enough, covered, 0) / nullif(span.ns, 0), 1) AS "Covered (%)",
	iif(enough, round(mean, 2), NULL) AS "Mean",
	iif(enough, p10, NULL) AS "P10",
	iif(enough, med, NULL) AS "Med",
	iif(enough, p90, NULL) AS "P90",
	iif(enough, most, NULL) AS "Max",
	coalesce(metricName, 'metric ' || metricId) AS "Metric",
	CASE kind WHEN 0 THEN 'recording' WHEN 1 THEN 'steps' ELSE 'range' END AS "Of",
	coalesce(name, '') AS "Range",
	instances AS "Instances",
	CASE WHEN enough AND (kind = 0 OR used = instances) THEN ''
		WHEN enough THEN (instances - used) || ' of ' || instances || ' shorter than 10 samples'
		WHEN used > 0 THEN 'fewer than 10 samples'
		ELSE 'too short at ' || CASE WHEN period < 1000000 THEN round(1e6 / period, 1) || ' kHz' ELSE round(1e9 / period, 1) || ' Hz' END
		END AS "Note"
FROM (
	SELECT span.typeId, span.kind, span.name, instances, used, span.ns, period, metric.metricId, metricName, n, covered, mean,
		p10, med, p90, most, coalesce(n, 0) >= 10 AS enough
	FROM metric_set AS span JOIN metric USING (typeId)
		LEFT JOIN figure AS f ON f.setId = span.id AND f.metricId = metric.metricId
) AS span
ORDER BY typeId & 0xFF, typeId, kind, ns DESC, name, metricId;
