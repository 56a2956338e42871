-- counter_sum(id, n, covered, mean, least, med, p90, most, total): the sums of the samples of each counter in SL_COUNTERS. A level
-- holds until the next sample, a sum is about the time since the sample before: its mean, least, ... are per second (of ns:
-- per cent of the time), its total is in its own unit. covered: ns of which something is known.
CREATE TEMP TABLE counter_part AS
SELECT counterId, CASE WHEN NOT isSum THEN value WHEN unit = 'ns' THEN 100.0 * value / ns ELSE 1e9 * value / ns END AS value, ns,
	CASE WHEN isSum THEN value END AS total, nr
FROM (
	SELECT counterId, isSum, unit, value,
		CASE WHEN isSum THEN timestamp - lag(timestamp) OVER of_one
			ELSE coalesce(lead(timestamp) OVER of_one, (SELECT max(duration) FROM ANALYSIS_DETAILS), timestamp) - timestamp END AS ns,
		row_number() OVER of_one AS nr
	FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS AS c ON c.id = counterId
	WINDOW of_one AS (PARTITION BY counterId ORDER BY timestamp)
)
WHERE value IS NOT NULL AND (ns > 0 OR NOT isSum);

CREATE TEMP TABLE counter_sum AS
SELECT counterId AS id, count(*) AS n, max(whole) AS covered, coalesce(sum(value * ns) / nullif(max(whole), 0), avg(value)) AS mean,
	min(value) AS least, min(value) FILTER (WHERE 2 * upto >= whole) AS med, min(value) FILTER (WHERE 10 * upto >= 9 * whole) AS p90,
	max(value) AS most, sum(total) AS total
FROM (
	SELECT *, sum(max(ns, 0)) OVER (PARTITION BY counterId ORDER BY value) AS upto, sum(max(ns, 0)) OVER (PARTITION BY counterId) AS whole
	FROM counter_part
)
GROUP BY counterId;

-- counter_unit: SL_COUNTERS with the unit of the figures.
CREATE TEMP TABLE counter_unit AS
SELECT id, scope, scopeId, scopeName, gpuId, name, isSum,
	CASE WHEN isSum AND unit = 'ns' THEN '% of the time' WHEN isSum THEN unit || '/s' ELSE unit END AS unit
FROM SL_COUNTERS;
