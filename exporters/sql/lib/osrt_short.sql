-- short(nameId, count, lost, time, least, most, errors, bytes): per function, exact sums of calls of the C library that have
-- no row in OSRT_API: those below the threshold and, in lost and time, those whose row was lost. A step of a WITH.
short AS MATERIALIZED (
	SELECT nameId, sum(count) AS count, sum(lostCount) AS lost, sum(totalNs + lostTotalNs) AS time,
		min(minNs) FILTER (WHERE totalNs > 0) AS least, max(maxNs) FILTER (WHERE totalNs > 0) AS most,
		sum(errorCount) AS errors, sum(bytes) AS bytes
	FROM SL_OSRT_TOTALS
	GROUP BY nameId
)
