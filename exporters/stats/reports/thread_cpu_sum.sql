-- title: Thread CPU Summary
-- about: What each thread did with its time, from context switches. An interval counts when both its ends
-- about: were seen; one that is open when the recording ends lasts until then.
-- needs: SCHED_EVENTS = context switch
-- default: 900 quiet
-- column: CPU Time (ns) = time on a CPU, from switch to switch, interrupts included; the clock readings of the kernel's own figure (getrusage) lie microseconds apart from these at each of the Runs
-- column: CPU (%) = the same as share of the session
-- column: Runs = times it got a CPU
-- column: Preempted = times it lost the CPU while it could have gone on
-- column: Blocked = times it gave the CPU up to wait
-- column: Blocked Time (ns) = time it waited for something, until it was woken; with the Run Wait where wakeups were not recorded
-- column: Run Wait (ns) = time it was runnable but had no CPU; empty where wakeups were not recorded
-- column: Avg Run (ns) = mean time on a CPU without a break
-- column: Max Run (ns) = longest time on a CPU without a break
-- column: CPUs = how many different CPUs it ran on
-- column: Pid = process
-- column: Tid = thread
-- column: Process = name of the process
-- column: Thread Name = last name of the thread
WITH bounds AS MATERIALIZED (
	SELECT max(coalesce((SELECT max(duration) FROM ANALYSIS_DETAILS), 0), max(start)) AS stop
	FROM SCHED_EVENTS
), event AS (
	-- every row with its columns of SL_SCHED_DETAIL, then with the row that follows it
	SELECT e.globalTid, e.start, e.cpu, e.isSchedIn, e.threadState, d.preempted, d.wakeupTime
	FROM SCHED_EVENTS AS e LEFT JOIN SL_SCHED_DETAIL AS d
		ON d.start = e.start AND d.globalTid = e.globalTid
			AND (e.isSchedIn = 1) = (d.preempted IS NULL)
), span AS (
	SELECT globalTid, start, cpu, isSchedIn,
		coalesce(preempted, threadState = 1) AS preempted, threadState,
		lead(start) OVER thread AS next_start,
		lead(isSchedIn) OVER thread AS next_in,
		lead(wakeupTime) OVER thread AS wakeup
	FROM event
	WINDOW thread AS (PARTITION BY globalTid ORDER BY start, isSchedIn DESC)
), piece AS (
	SELECT globalTid, isSchedIn, cpu, preempted, threadState,
		CASE WHEN isSchedIn AND next_in IS NOT 1 THEN coalesce(next_start, stop) - start END AS ran,
		CASE WHEN NOT isSchedIn AND next_in = 1 THEN next_start - start END AS off,
		CASE WHEN NOT isSchedIn AND next_in = 1 THEN
			CASE WHEN preempted = 1 THEN next_start - start
				WHEN wakeup IS NOT NULL THEN next_start - max(wakeup, start) END
		END AS waited
	FROM span, bounds
), thread AS (
	SELECT globalTid,
		coalesce(sum(ran), 0) AS cpu_time,
		count(*) FILTER (WHERE isSchedIn) AS runs,
		count(*) FILTER (WHERE NOT isSchedIn AND preempted = 1) AS preempted,
		count(*) FILTER (WHERE NOT isSchedIn AND preempted IS NOT 1 AND threadState IS NOT 5) AS blocked,
		coalesce(sum(off), 0) - coalesce(sum(waited), 0) AS blocked_time,
		sum(waited) AS waited,
		max(ran) AS longest,
		avg(ran) AS mean,
		count(DISTINCT cpu) AS cpus
	FROM piece
	GROUP BY globalTid
)
SELECT
	cpu_time AS "CPU Time (ns)",
	round(100.0 * cpu_time / (SELECT nullif(stop, 0) FROM bounds), 1) AS "CPU (%)",
	runs AS "Runs",
	preempted AS "Preempted",
	blocked AS "Blocked",
	blocked_time AS "Blocked Time (ns)",
	waited AS "Run Wait (ns)",
	round(mean, 1) AS "Avg Run (ns)",
	longest AS "Max Run (ns)",
	cpus AS "CPUs",
	(globalTid >> 24) & 0xFFFFFF AS "Pid",
	globalTid & 0xFFFFFF AS "Tid",
	(SELECT max(name) FROM PROCESSES AS p WHERE p.globalPid >> 24 = thread.globalTid >> 24) AS "Process",
	(SELECT max(value) FROM ThreadNames AS t JOIN StringIds ON StringIds.id = t.nameId
		WHERE t.globalTid = thread.globalTid) AS "Thread Name"
FROM thread
ORDER BY cpu_time DESC, globalTid;
