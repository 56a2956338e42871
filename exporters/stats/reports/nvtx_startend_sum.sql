-- title: NVTX Start/End Range Summary
-- about: Time of closed start/end ranges of NVTX, per name. They may end on another thread.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- alias: nvtxsssum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the name
-- column: Instances = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Range = domain:text; the default domain has no name
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
WITH domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId, min(coalesce(text, value)) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75
	GROUP BY 1, 2
), hist AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId, textId, text, end - start AS dur, count(*) AS n
	FROM NVTX_EVENTS
	WHERE eventType = 60 AND end IS NOT NULL
	GROUP BY 1, 2, 3, 4, 5
), named AS MATERIALIZED (
	SELECT coalesce(domain.name, '') || ':' || coalesce(text, value, '') AS name, dur, sum(n) AS n
	FROM hist LEFT JOIN domain USING (process, domainId) LEFT JOIN StringIds ON StringIds.id = textId
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
	calls AS "Instances",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	name AS "Range"
FROM total JOIN spread USING (name)
ORDER BY time DESC, name;
