-- title: OS Runtime Summary, Exact
-- about: Time in libc and pthread calls, per function, over all calls: those with a row, those below the
-- about: threshold that were only counted, and those whose row was lost.
-- needs: OSRT_API or SL_OSRT_TOTALS = OS Runtime trace
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls; calls counted without a clock reading add nothing
-- column: Num Calls = all calls that returned
-- column: Rows = calls that have a row
-- column: Short = calls below the threshold, only counted
-- column: Lost = calls above it whose row was lost
-- column: Avg (ns) = mean of the calls that were timed: all, or of locks those that waited; empty where it is not known which were (single characters of stdio)
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: Errors = calls that failed, of those with a row and the short ones
-- column: Bytes = bytes they moved; empty where the result of a call is no number of bytes
-- column: Name = function
WITH
-- include: osrt_short
, part AS (
	SELECT nameId, count(*) AS rows, 0 AS short, 0 AS lost, count(*) AS timed, sum(end - start) AS time,
		min(end - start) AS least, max(end - start) AS most, count(errnum) AS errors,
		total(max(returnValue, 0)) AS bytes -- nonsense, and large, for functions that return pointers
	FROM OSRT_API
	WHERE eventClass = 27
	GROUP BY nameId
	UNION ALL
	SELECT nameId, 0, count, lost, timed, time, least, most, errors, bytes
	FROM short
)
SELECT
	round(100.0 * sum(time) / sum(sum(time)) OVER (), 1) AS "Time (%)",
	sum(time) AS "Total Time (ns)",
	sum(rows + short + lost) AS "Num Calls",
	sum(rows) AS "Rows",
	sum(short) AS "Short",
	sum(lost) AS "Lost",
	round(1.0 * sum(time) / nullif(iif(count(timed) < count(*), NULL, sum(timed)), 0), 1) AS "Avg (ns)",
	min(least) AS "Min (ns)",
	max(most) AS "Max (ns)",
	sum(errors) AS "Errors",
	CASE WHEN sum(rows) = 0 OR nameId IN (SELECT nameId FROM SL_FUNCTION_KINDS WHERE returnsBytes)
		THEN CAST(total(bytes) AS INTEGER) END AS "Bytes",
	coalesce(value, '[unknown ' || nameId || ']') AS "Name"
FROM part LEFT JOIN StringIds ON StringIds.id = nameId
GROUP BY nameId
ORDER BY "Total Time (ns)" DESC, "Name";
