-- title: OS Runtime Summary
-- about: Time in libc and pthread calls, per function. Only calls that have a row (those at or above
-- about: the threshold) count; osrt_exact_sum adds the shorter ones.
-- needs: OSRT_API = OS Runtime trace
-- default: 20
-- alias: osrtsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls of the function
-- column: Num Calls = how many
-- include: stats_heads
-- column: Name = function
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(nameId, end - start)
		FROM OSRT_API
		WHERE eventClass = 27
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Num Calls",
	-- include: stats_columns
	coalesce(value, '[unknown ' || key || ']') AS "Name"
FROM stats LEFT JOIN StringIds ON StringIds.id = key
ORDER BY total DESC, "Name";
