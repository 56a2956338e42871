-- title: Page Fault Summary
-- about: Major page faults, per process and file: memory that was touched and had to be read first. All of them are here,
-- about: but those that SL_LOST_EVENTS counts. Waited is the time without a CPU that ended within a millisecond before.
-- needs: SL_PAGE_FAULTS = page fault
-- default: 915 quiet
-- column: Time (%) = share of the Waited of all listed rows
-- column: Waited (ns) = time that threads had no CPU, right before; empty without context switches
-- column: Faults = how many
-- column: Avg (ns) = Waited per fault
-- column: Threads = that had them
-- column: From (bytes) = least offset in the file
-- column: To (bytes) = largest offset in the file
-- column: Process = name and id
-- column: Path = file whose pages were read; empty: memory of no file, which was swapped out
WITH switches AS (
	SELECT globalTid, isSchedIn, start AS gone, lead(start) OVER (PARTITION BY globalTid ORDER BY start) AS back
	FROM SCHED_EVENTS WHERE globalTid IN (SELECT globalTid FROM SL_PAGE_FAULTS)
), events AS (
	SELECT globalTid, back AS time, gone, back, NULL AS fault FROM switches WHERE NOT isSchedIn AND back IS NOT NULL
	UNION ALL SELECT globalTid, start, NULL, NULL, rowid FROM SL_PAGE_FAULTS
), last AS (
	SELECT fault, globalTid, time, max(gone) OVER before AS gone, max(back) OVER before AS back
	FROM events WINDOW before AS (PARTITION BY globalTid ORDER BY time, fault ROWS UNBOUNDED PRECEDING)
), waits AS (
	SELECT fault, CASE WHEN time - back < 1000000 AND back IS NOT lag(back) OVER (PARTITION BY globalTid ORDER BY time)
		THEN back - gone WHEN EXISTS (SELECT 1 FROM SCHED_EVENTS) THEN 0 END AS waited
	FROM last WHERE fault IS NOT NULL
), sums AS (
	SELECT sum(waited) AS waited, count(*) AS n, count(DISTINCT globalTid) AS threads, min(offset) AS least,
		max(offset) AS most, globalTid >> 24 AS pid, pathId
	FROM SL_PAGE_FAULTS AS f JOIN waits ON waits.fault = f.rowid
	GROUP BY pid, pathId
)
SELECT
	round(100.0 * waited / nullif(sum(waited) OVER (), 0), 1) AS "Time (%)",
	waited AS "Waited (ns)",
	n AS "Faults",
	round(1.0 * waited / n, 1) AS "Avg (ns)",
	threads AS "Threads",
	least AS "From (bytes)",
	most AS "To (bytes)",
	coalesce((SELECT name FROM PROCESSES WHERE globalPid >> 24 = sums.pid) || ' ', '') || (pid & 0xffffff) AS "Process",
	CASE WHEN pathId IS NULL THEN '[unknown]' ELSE coalesce(value, '[unknown]') END AS "Path"
FROM sums LEFT JOIN StringIds ON StringIds.id = pathId
ORDER BY coalesce(waited, 0) DESC, n DESC, "Process", "Path";
