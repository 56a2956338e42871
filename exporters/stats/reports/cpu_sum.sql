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
), span AS (
	SELECT globalTid, start, cpu, isSchedIn,
		lead(start) OVER thread AS next_start,
		lead(isSchedIn) OVER thread AS next_in,
		lag(cpu) OVER thread AS last_cpu
	FROM SCHED_EVENTS
	WINDOW thread AS (PARTITION BY globalTid ORDER BY start, isSchedIn DESC)
)
SELECT
	cpu AS "CPU",
	coalesce(sum(ran), 0) AS "Busy Time (ns)",
	round(100.0 * coalesce(sum(ran), 0) / nullif(max(stop), 0), 1) AS "Busy (%)",
	count(*) AS "Runs",
	count(DISTINCT globalTid) AS "Threads",
	round(1.0 * sum(ran) / count(ran), 1) AS "Avg Run (ns)",
	max(ran) AS "Max Run (ns)",
	count(*) FILTER (WHERE last_cpu <> cpu) AS "Arrivals"
FROM (
	SELECT cpu, globalTid, last_cpu, stop,
		CASE WHEN next_in IS NOT 1 THEN coalesce(next_start, stop) - start END AS ran
	FROM span, bounds
	WHERE isSchedIn
)
GROUP BY cpu
ORDER BY cpu;
