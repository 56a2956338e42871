-- title: Syscall Summary
-- about: Time in system calls as the kernel saw them, per call, over all of them, however short. Median and deviation are
-- about: of those that have a row (at or above the threshold); syscall_exact_sum has their number.
-- needs: SYSCALL or SL_SYSCALL_TOTALS = syscall
-- default: 230
-- remark: SELECT CASE WHEN EXISTS (SELECT 1 FROM SL_SYSCALL_TOTALS WHERE count > 0) THEN 'Med and StdDev of calls with a row'
-- remark: WHEN EXISTS (SELECT 1 FROM main.SL_SYSCALL_TOTALS WHERE count > 0) THEN 'only calls with a row' END
-- include: exact_heads
-- column: Name = system call
WITH stats AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(nameId, end - start)
		FROM SYSCALL
		WHERE end IS NOT NULL
	))
	WHERE key IS NOT NULL
),
-- include: syscall_short
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
