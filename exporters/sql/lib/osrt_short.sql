-- short(nameId, count, lost, timed, time, least, most, errors, bytes): per function, exact sums of calls of the C library that have
-- no row in OSRT_API: those below the threshold and, in lost and time, those whose row was lost. timed: of how many time is the
-- time; NULL where some of a function's are counted without a clock reading and others are not. A step of a WITH.
short AS MATERIALIZED (
	SELECT nameId, sum(count) AS count, sum(lostCount) AS lost, sum(totalNs + lostTotalNs) AS time,
		iif(max(coalesce(isUntimed, 0) AND totalNs > 0), NULL, sum(iif(totalNs = 0, 0, count) + lostCount)) AS timed,
		min(minNs) FILTER (WHERE totalNs + lostTotalNs > 0) AS least, max(maxNs) FILTER (WHERE totalNs + lostTotalNs > 0) AS most,
		sum(errorCount) AS errors, sum(bytes) AS bytes
	FROM SL_OSRT_TOTALS
	GROUP BY nameId
)
