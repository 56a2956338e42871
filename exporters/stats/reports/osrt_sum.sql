-- title: OS Runtime Summary
-- about: Time in libc and pthread calls, per function, over all calls, however short. Median and deviation are of the calls
-- about: that have a row (those at or above the threshold); osrt_exact_sum has their number.
-- needs: OSRT_API or SL_OSRT_TOTALS = OS Runtime trace
-- default: 20
-- alias: osrtsum
-- remark: SELECT CASE WHEN EXISTS (SELECT 1 FROM SL_OSRT_TOTALS WHERE count > 0) THEN 'Med and StdDev of calls'
-- remark: WHEN EXISTS (SELECT 1 FROM main.SL_OSRT_TOTALS WHERE count > 0) THEN 'only calls' END || coalesce((
-- remark: SELECT printf(' >= %g us', value / 1000.0) FROM META_DATA_CAPTURE WHERE name = 'OSRT_OPTIONS:THRESHOLD_NS'), ' with a row')
-- include: exact_heads
-- column: Name = function
WITH stats AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(nameId, end - start)
		FROM OSRT_API
		WHERE eventClass = 27
	))
	WHERE key IS NOT NULL
),
-- include: osrt_short
,
-- include: exact_columns
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Num Calls",
	-- include: stats_columns
	coalesce(value, '[unknown ' || exact.id || ']') AS "Name"
FROM exact LEFT JOIN StringIds ON StringIds.id = exact.id
ORDER BY total DESC, "Name";
