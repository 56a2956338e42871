-- title: Syscall Summary
-- about: Time in system calls as the kernel saw them, per call. Only calls with a row (those that took at least the
-- about: threshold) count; syscall_exact_sum adds the shorter ones.
-- needs: SYSCALL = syscall
-- default: 230
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls
-- column: Num Calls = how many
-- include: stats_heads
-- column: Name = system call
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(nameId, end - start)
		FROM SYSCALL
		WHERE end IS NOT NULL
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
