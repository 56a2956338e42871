-- title: Syscall Summary, Exact
-- about: Time in system calls as the kernel saw them, per call, over all of them: those with a row and those below
-- about: the threshold that were only counted.
-- needs: SYSCALL or SL_SYSCALL_TOTALS = syscall
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls
-- column: Num Calls = all calls
-- column: Rows = calls that have a row
-- column: Short = calls below the threshold, only counted
-- column: Avg (ns) = Total Time / Num Calls
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: Errors = calls that failed
-- column: Name = system call
WITH
-- include: syscall_short
, part AS (
	SELECT nameId, count(*) AS rows, 0 AS short, sum(end - start) AS time, min(end - start) AS least,
		max(end - start) AS most, count(errnum) AS errors
	FROM SYSCALL
	WHERE end IS NOT NULL
	GROUP BY nameId
	UNION ALL
	SELECT nameId, 0, count, time, least, most, errors
	FROM short
)
SELECT
	round(100.0 * sum(time) / sum(sum(time)) OVER (), 1) AS "Time (%)",
	sum(time) AS "Total Time (ns)",
	sum(rows + short) AS "Num Calls",
	sum(rows) AS "Rows",
	sum(short) AS "Short",
	round(1.0 * sum(time) / sum(rows + short), 1) AS "Avg (ns)",
	min(least) AS "Min (ns)",
	max(most) AS "Max (ns)",
	sum(errors) AS "Errors",
	coalesce(value, '[unknown ' || nameId || ']') AS "Name"
FROM part LEFT JOIN StringIds ON StringIds.id = nameId
GROUP BY nameId
ORDER BY "Total Time (ns)" DESC, "Name";
