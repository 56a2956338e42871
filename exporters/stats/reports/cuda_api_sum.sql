-- title: CUDA API Summary
-- about: Time in CUDA runtime and driver calls, per function. A version suffix of four digits
-- about: (_v7000) is left out of the name.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- default: 30
-- alias: cudaapisum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls of the function
-- column: Num Calls = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Name = function
--
-- Only the first step sees every row: it sorts them once into a histogram (key, value, how many), from
-- which all figures follow exactly, the median included. That is cheaper than ranking all rows.
WITH hist AS MATERIALIZED (
	SELECT nameId, end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE end IS NOT NULL
	GROUP BY 1, 2
), named AS MATERIALIZED (
	SELECT CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
			ELSE coalesce(value, '[unknown ' || nameId || ']') END AS name,
		dur, sum(n) AS n
	FROM hist LEFT JOIN StringIds ON StringIds.id = nameId
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT name, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM named
	GROUP BY name
), ranked AS (
	SELECT name, dur, n, sum(n) OVER (PARTITION BY name ORDER BY dur) AS upto
	FROM named
), spread AS (
	SELECT t.name, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.name = r.name
	GROUP BY t.name
)
SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Num Calls",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	name AS "Name"
FROM total JOIN spread USING (name)
ORDER BY time DESC, name;
