-- sched_spans(globalTid, what, start, end, preempted): what threads did between context switches: 'run' on a
-- CPU, 'wait' able to run but without a CPU, 'sleep' until they were woken, 'disk' the same in the state that the
-- kernel calls uninterruptible. Where wakeups were not recorded, waiting after a sleep counts as part of it. Spans
-- whose end was not seen are left out, save the last run of a thread. preempted: 1 where a thread that waits had
-- to give up the CPU, 0 where it had been woken. Of a machine that was recorded as a whole: the traced processes
-- and what they started.
CREATE TEMP TABLE sched_spans AS
WITH mine AS MATERIALIZED (
	SELECT globalPid FROM SL_PROCESS_TREE WHERE traced = 1 OR kind <> 0
), event AS (
	SELECT e.globalTid, e.start, e.isSchedIn, e.threadState,
		coalesce(d.preempted, e.threadState = 1) AS preempted, d.wakeupTime
	FROM SCHED_EVENTS AS e LEFT JOIN SL_SCHED_DETAIL AS d
		ON d.start = e.start AND d.globalTid = e.globalTid
			AND (e.isSchedIn = 1) = (d.preempted IS NULL)
	WHERE e.globalTid / 0x1000000 * 0x1000000 IN mine OR NOT EXISTS (SELECT 1 FROM mine)
), pair AS (
	SELECT globalTid, start, isSchedIn, threadState, preempted,
		lead(start) OVER thread AS next,
		lead(isSchedIn) OVER thread AS next_in,
		lead(wakeupTime) OVER thread AS wakeup
	FROM event
	WINDOW thread AS (PARTITION BY globalTid ORDER BY start, isSchedIn DESC)
), span AS (
	SELECT globalTid,
		CASE WHEN isSchedIn THEN 'run' WHEN preempted = 1 THEN 'wait' WHEN threadState = 3 THEN 'disk'
			ELSE 'sleep' END AS what,
		start, coalesce(next, max(start, (SELECT end FROM wall))) AS end, preempted = 1 AS preempted,
		CASE WHEN NOT isSchedIn AND preempted IS NOT 1 AND wakeup BETWEEN start AND next THEN wakeup END AS woken
	FROM pair
	WHERE next_in = NOT isSchedIn OR (next IS NULL AND isSchedIn)
)
SELECT globalTid, what, start, coalesce(woken, end) AS end, preempted FROM span
UNION ALL
SELECT globalTid, 'wait', woken, end, 0 FROM span WHERE woken < end;
