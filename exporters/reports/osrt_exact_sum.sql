-- title: OS Runtime Summary, Exact
-- about: Time in libc and pthread calls, per function, over all calls: those with a row, those below the
-- about: threshold that were only counted, and those whose row was lost.
-- needs: OSRT_API or SL_OSRT_TOTALS = OS Runtime trace
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls; calls counted without a clock reading add nothing
-- column: Num Calls = all calls
-- column: Rows = calls that have a row
-- column: Short = calls below the threshold, only counted
-- column: Lost = calls above it whose row was lost
-- column: Avg (ns) = Total Time / Num Calls
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: Errors = calls that failed
-- column: Bytes = bytes that reads and writes moved
-- column: Name = function
WITH moved(name) AS (
	-- functions whose return value is a number of bytes
	VALUES ('read'), ('pread'), ('readv'), ('preadv'), ('preadv2'), ('write'), ('pwrite'), ('writev'),
		('pwritev'), ('pwritev2'), ('send'), ('sendto'), ('sendmsg'), ('recv'), ('recvfrom'),
		('recvmsg'), ('sendfile'), ('splice'), ('tee'), ('vmsplice'), ('copy_file_range'),
		('getrandom'), ('process_vm_readv'), ('process_vm_writev')
), part AS (
	SELECT nameId, count(*) AS rows, 0 AS short, 0 AS lost, sum(end - start) AS time,
		min(end - start) AS least, max(end - start) AS most, count(errnum) AS errors,
		sum(max(returnValue, 0)) AS bytes
	FROM OSRT_API
	WHERE eventClass = 27
	GROUP BY nameId
	UNION ALL
	SELECT nameId, 0, sum(count), sum(lostCount), sum(totalNs + lostTotalNs),
		min(minNs) FILTER (WHERE totalNs > 0), max(maxNs) FILTER (WHERE totalNs > 0),
		sum(errorCount), sum(bytes)
	FROM SL_OSRT_TOTALS
	GROUP BY nameId
)
SELECT
	round(100.0 * sum(time) / sum(sum(time)) OVER (), 1) AS "Time (%)",
	sum(time) AS "Total Time (ns)",
	sum(rows + short + lost) AS "Num Calls",
	sum(rows) AS "Rows",
	sum(short) AS "Short",
	sum(lost) AS "Lost",
	round(1.0 * sum(time) / sum(rows + short + lost), 1) AS "Avg (ns)",
	min(least) AS "Min (ns)",
	max(most) AS "Max (ns)",
	sum(errors) AS "Errors",
	sum(CASE WHEN rows = 0 OR replace(replace(value, '64', ''), '__', '') IN moved
			OR replace(replace(replace(value, '64', ''), '__', ''), '_chk', '') IN moved
		THEN bytes END) AS "Bytes",
	coalesce(value, '[unknown ' || nameId || ']') AS "Name"
FROM part LEFT JOIN StringIds ON StringIds.id = nameId
GROUP BY nameId
ORDER BY "Total Time (ns)" DESC, "Name";
