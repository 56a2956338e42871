-- short(nameId, count, lost, timed, time, least, most, errors): per system call, exact sums of those without a row in SYSCALL, because they
-- were below the threshold. A step of a WITH.
short AS MATERIALIZED (
	SELECT nameId, sum(count) AS count, 0 AS lost, sum(count) AS timed, sum(totalNs) AS time, min(minNs) AS least, max(maxNs) AS most,
		sum(errorCount) AS errors
	FROM SL_SYSCALL_TOTALS
	GROUP BY nameId
)
