-- title: Run Queue Latency
-- about: How long threads that could run had no CPU, from context switches: after a wake-up, until they ran; and after they had been
-- about: preempted, until they ran again. The sum of both is what /proc/PID/schedstat calls the run delay. Where some are not known,
-- about: Not Known counts them: sums are then at least so much, and the other figures are of those that are known.
-- needs: SCHED_EVENTS = context switch
-- arg: cpu, a row per CPU (the one that they ran on then) in place of one per thread
-- column: Run Wait (ns) = time without a CPU, Woken Wait + Preempted Wait
-- column: Wake-Ups = times a thread was woken and got a CPU; its birth is one
-- column: Woken Wait (ns) = time from wake-up to CPU
-- column: Med (ns) = half of the wake-ups took so long, or less
-- column: P99 (ns) = 99 % of them
-- column: Max (ns) = longest of them
-- column: Preempted = times a thread lost the CPU while it could have gone on, and got one again
-- column: Preempted Wait (ns) = time until then
-- column: Max Preempted (ns) = longest of them
-- column: Not Known = times a thread got a CPU, and how long it had waited for it is not recorded: no wake-up, or rows are missing
-- column: CPU = number of the CPU, or all
-- column: Pid = process
-- column: Tid = thread
-- column: Process = name of the process
-- column: Thread Name = last name of the thread
WITH wait AS MATERIALIZED (
	-- a wait that is over, and whose part without a CPU is not known, has no ns
	SELECT iif(coalesce(:cpu, 0), cpu, NULL) AS cpu, iif(coalesce(:cpu, 0), NULL, globalTid) AS thread,
		preempted, iif(state = 'runnable', end - start, NULL) AS ns
	FROM sl_thread_states
	WHERE NOT open AND end IS NOT NULL AND (state = 'runnable' OR state <> 'running' AND wakeupTime IS NULL)
), ranked AS (
	SELECT cpu, thread, ns, row_number() OVER (PARTITION BY cpu, thread ORDER BY ns) AS nr, count(*) OVER (PARTITION BY cpu, thread) AS n
	FROM wait
	WHERE NOT preempted AND ns IS NOT NULL
), woken AS (
	SELECT cpu, thread, min(ns) FILTER (WHERE 2 * nr >= n) AS med, min(ns) FILTER (WHERE 100 * nr >= 99 * n) AS p99
	FROM ranked
	GROUP BY cpu, thread
), sums AS (
	SELECT cpu, thread,
		count(ns) FILTER (WHERE NOT preempted) AS wakes,
		sum(ns) FILTER (WHERE NOT preempted) AS woken_ns,
		max(ns) FILTER (WHERE NOT preempted) AS woken_max,
		count(*) FILTER (WHERE preempted) AS preempts,
		sum(ns) FILTER (WHERE preempted) AS preempted_ns,
		max(ns) FILTER (WHERE preempted) AS preempted_max,
		count(*) FILTER (WHERE ns IS NULL) AS unknown
	FROM wait
	GROUP BY cpu, thread
)
SELECT
	coalesce(woken_ns, 0) + coalesce(preempted_ns, 0) AS "Run Wait (ns)",
	wakes AS "Wake-Ups",
	coalesce(woken_ns, 0) AS "Woken Wait (ns)",
	med AS "Med (ns)",
	p99 AS "P99 (ns)",
	woken_max AS "Max (ns)",
	preempts AS "Preempted",
	coalesce(preempted_ns, 0) AS "Preempted Wait (ns)",
	preempted_max AS "Max Preempted (ns)",
	unknown AS "Not Known",
	coalesce(s.cpu, 'all') AS "CPU",
	(s.thread >> 24) & 0xFFFFFF AS "Pid",
	s.thread & 0xFFFFFF AS "Tid",
	(SELECT max(name) FROM PROCESSES AS p WHERE p.globalPid >> 24 = s.thread >> 24) AS "Process",
	(SELECT max(value) FROM ThreadNames AS t JOIN StringIds ON StringIds.id = t.nameId WHERE t.globalTid = s.thread) AS "Thread Name"
FROM sums AS s LEFT JOIN woken AS w ON w.cpu IS s.cpu AND w.thread IS s.thread
ORDER BY 1 DESC, s.cpu, s.thread;
