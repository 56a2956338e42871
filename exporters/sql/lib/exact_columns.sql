-- exact(id, total, n, mean, median, min, max, stddev, p...): the figures of rows in stats(key, ...) and those in
-- short(nameId, count, lost, timed, time, least, most) of calls without one. Counts, times and extremes are of all calls, the
-- distribution is of rows.
exact AS (
	SELECT id, coalesce(stats.total, 0) + coalesce(time, 0) AS total,
		coalesce(n, 0) + coalesce(short.count + lost, 0) AS n,
		1.0 * (coalesce(stats.total, 0) + coalesce(time, 0)) / nullif(coalesce(n, 0) + iif(short.nameId IS NULL, 0, timed), 0) AS mean,
		median, min(coalesce(min, least), coalesce(least, min)) AS min,
		max(coalesce(max, most), coalesce(most, max)) AS max,
		/* percentiles: p{i}, */
		stddev
	FROM (SELECT key AS id FROM stats UNION SELECT nameId FROM short)
		LEFT JOIN stats ON key = id LEFT JOIN short ON nameId = id
)
