-- The table of a report of ranges by name: stats(key, n, ...).
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	key AS "Range"
FROM stats
ORDER BY total DESC, key;
