-- title: Oversubscribed CPUs
-- about: Times in which more threads of the program wanted to run than there were CPUs for them, from context
-- about: switches. CPUs are those that it was ever seen on, so that a smaller set (taskset, containers) counts, or
-- about: all of the machine where other programs kept it from them.
-- needs: SCHED_EVENTS = context switch
-- uses: sched_threads, names
-- gain: own
-- default: 440
-- arg: factor=1.5, threads per CPU above which there are too many
-- arg: share=10, per cent of the wall time from which on it is a finding
-- advice: Start no more threads that compute than there are CPUs: OMP_NUM_THREADS, torch.set_num_threads,
-- advice: fewer DataLoader workers or make jobs; libraries that start a pool each (OpenMP, BLAS, OpenCV)
-- advice: multiply with the processes. Give the thread that feeds the GPU a CPU of its own.
-- column: Run Wait (ns) = time the thread was able to run but had no CPU
-- column: CPU Time (ns) = time it ran
-- column: Wait (%) = Run Wait as share of both
-- column: Preempted = times it was able to go on, but lost the CPU for a while
-- column: Pid = process
-- column: Tid = thread
-- column: Process = name of the process
-- column: Thread Name = name of the thread
-- Where it did not get even those CPUs while it had threads for all of them, other processes used them.
CREATE TEMP TABLE machine AS
WITH seen AS (
	SELECT count(*) AS cpus FROM sched_cpus
)
SELECT CASE
	WHEN (SELECT 1.0 * sum(ns * running) / sum(ns) FROM sched_level WHERE threads >= cpus) < 0.7 * cpus
	THEN max(cpus, coalesce((SELECT max(CAST(value AS INTEGER)) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores'), 0))
	ELSE cpus END AS cpus
FROM seen;

-- Threads that compute lose little by queueing, as a whole: the CPUs are busy. One that feeds a GPU keeps that waiting.
SELECT
	CASE WHEN 10 * feeder_wait > wall THEN 'severe' ELSE 'bad' END AS severity,
	CASE WHEN 50 * feeder_wait > wall THEN feeder_wait END AS cost,
	'For {' || crowded || ' ns}, ' || CAST(min(100, 100.0 * crowded / wall) AS INTEGER)
		|| ' % of the run, more threads wanted to run than the ' || cpus || ' CPU' || CASE cpus WHEN 1 THEN '' ELSE 's' END
		|| ' could take: ' || round(1.0 * area / crowded, 1) || ' on average, ' || most
		|| ' at most. Threads stood in the queue for {' || waited || ' ns} and ran for {' || ran || ' ns}'
		|| coalesce('; one that calls CUDA stood there for {' || feeder_wait || ' ns}', '') || '.'
		|| CASE WHEN got < 0.7 * cpus THEN ' Other programs had ' || printf('%.0f', 100 - 100.0 * got / cpus)
			|| ' % of the CPUs meanwhile.' ELSE '' END AS finding
FROM (
	SELECT sum(ns) AS crowded, 1.0 * sum(ns * running) / sum(ns) AS got,
		sum(ns * threads) AS area, max(threads) AS most,
		(SELECT cpus FROM machine) AS cpus, (SELECT ns FROM wall) AS wall,
		(SELECT sum(waited) FROM sched_threads) AS waited,
		(SELECT sum(ran) FROM sched_threads) AS ran,
		(SELECT max(waited) FROM sched_threads
			WHERE globalTid IN (SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME)) AS feeder_wait
	FROM sched_level
	WHERE threads > :factor * (SELECT cpus FROM machine)
)
WHERE crowded >= 50000000 AND 100 * crowded > :share * wall;

SELECT
	waited AS "Run Wait (ns)",
	ran AS "CPU Time (ns)",
	round(100.0 * waited / nullif(waited + ran, 0), 1) AS "Wait (%)",
	preempted AS "Preempted",
	t.globalTid / 0x1000000 % 0x1000000 AS "Pid",
	t.globalTid & 0xFFFFFF AS "Tid",
	(SELECT name FROM process_names WHERE pid = t.globalTid / 0x1000000) AS "Process",
	name AS "Thread Name"
FROM sched_threads AS t LEFT JOIN thread_names USING (globalTid)
WHERE waited > 0
ORDER BY waited DESC, globalTid
LIMIT :rows;
