-- title: CPUs Taken by Others
-- about: Times in which threads of the program waited for a CPU while it had fewer of them than it was ever seen on: other programs
-- about: of the machine had the rest, or a limit (cpu.max of its container, taskset of single threads) kept it from them.
-- needs: SCHED_EVENTS = context switch
-- uses: sched_threads, names
-- default: 442
-- arg: share=20, per cent of the wall time from which on it is a finding
-- advice: Measure on a machine of its own: all other findings hold for the share of the CPUs that was left. On a shared one ask for
-- advice: CPUs (cpuset, requests and limits of the pod, --cpus-per-task of Slurm), or look for the neighbour: pidstat 1.
-- column: Run Wait (ns) = time the thread was able to run but had no CPU
-- column: CPU Time (ns) = time it ran
-- column: Wait (%) = Run Wait as share of both
-- column: Pid = process
-- column: Tid = thread
-- column: Process = name of the process
-- column: Thread Name = name of the thread
-- At least this much: of CPUs on which the program never came to run nothing is known.
CREATE TEMP TABLE taken AS
SELECT
	coalesce(sum(ns), 0) AS ns,
	coalesce(sum(ns * min(threads - running, cpus - running)), 0) AS area,
	coalesce(1.0 * sum(ns * running) / sum(ns), 0) AS had,
	cpus
FROM sched_level, (SELECT count(*) AS cpus FROM sched_cpus)
WHERE threads > running AND running < cpus;

SELECT
	CASE WHEN 2 * ns > wall THEN 'bad' ELSE 'info' END AS severity,
	NULL AS cost,
	'For {' || ns || ' ns}, ' || CAST(min(100, 100.0 * ns / wall) AS INTEGER) || ' % of the run, threads waited for a CPU for {'
		|| area || ' ns} in all, though the program had ' || round(had, 1) || ' of the ' || cpus || ' CPU' || CASE cpus WHEN 1 THEN '' ELSE 's' END
		|| ' that it was seen on: other programs had the rest, or a limit kept it from them.' AS finding
FROM taken, (SELECT ns AS wall FROM wall)
WHERE ns >= 50000000 AND 100 * ns > :share * wall;

SELECT
	waited AS "Run Wait (ns)",
	ran AS "CPU Time (ns)",
	round(100.0 * waited / nullif(waited + ran, 0), 1) AS "Wait (%)",
	t.globalTid / 0x1000000 % 0x1000000 AS "Pid",
	t.globalTid & 0xFFFFFF AS "Tid",
	(SELECT name FROM process_names WHERE pid = t.globalTid / 0x1000000) AS "Process",
	name AS "Thread Name"
FROM sched_threads AS t LEFT JOIN thread_names USING (globalTid)
WHERE waited > 0
ORDER BY waited DESC, t.globalTid
LIMIT :rows;
