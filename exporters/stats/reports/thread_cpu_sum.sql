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
-- column: Run Wait (ns) = time it was runnable but had no CPU, from its birth on; empty where wakeups were not recorded
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
), thread AS (
	SELECT globalTid,
		coalesce(sum(end - start) FILTER (WHERE state = 'running'), 0) AS cpu_time,
		count(*) FILTER (WHERE state = 'running') AS runs,
		count(*) FILTER (WHERE preempted) AS preempted,
		count(*) FILTER (WHERE state NOT IN ('running', 'runnable', 'ended')) AS blocked,
		coalesce(sum(end - start) FILTER (WHERE state NOT IN ('running', 'runnable') AND NOT open), 0) AS blocked_time,
		sum(end - start) FILTER (WHERE state = 'runnable' AND NOT open) AS waited,
		max(end - start) FILTER (WHERE state = 'running') AS longest,
		avg(end - start) FILTER (WHERE state = 'running') AS mean,
		count(DISTINCT iif(state = 'running', cpu, lastCpu)) AS cpus
	FROM sl_thread_states
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
