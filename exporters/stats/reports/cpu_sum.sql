-- title: CPU Summary
-- about: How busy each CPU was with the threads that were recorded (all threads of the machine only with
-- about: --cpuctxsw=system-wide), from context switches.
-- needs: SCHED_EVENTS = context switch
-- column: CPU = number of the CPU
-- column: Busy Time (ns) = time it ran recorded threads
-- column: Busy (%) = the same as share of the session
-- column: Runs = times a recorded thread got it
-- column: Threads = different threads that ran on it
-- column: Avg Run (ns) = Busy Time / Runs
-- column: Max Run (ns) = longest time with one thread
-- column: Arrivals = runs of a thread whose run before was on another CPU
WITH bounds AS MATERIALIZED (
	SELECT max(coalesce((SELECT max(duration) FROM ANALYSIS_DETAILS), 0), max(start)) AS stop
	FROM SCHED_EVENTS
)
SELECT
	cpu AS "CPU",
	coalesce(sum(end - start), 0) AS "Busy Time (ns)",
	round(100.0 * coalesce(sum(end - start), 0) / (SELECT nullif(stop, 0) FROM bounds), 1) AS "Busy (%)",
	count(*) AS "Runs",
	count(DISTINCT globalTid) AS "Threads",
	round(1.0 * sum(end - start) / count(end), 1) AS "Avg Run (ns)",
	max(end - start) AS "Max Run (ns)",
	count(*) FILTER (WHERE lastCpu <> cpu) AS "Arrivals"
FROM sl_thread_states
WHERE state = 'running'
GROUP BY cpu
ORDER BY cpu;
