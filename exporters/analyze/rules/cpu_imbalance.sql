-- title: CPU Load Imbalance
-- about: Threads or processes that share a job, and wait for the one that has the most of it: at barriers, in
-- about: pthread_join, or for processes to end.
-- needs: SCHED_EVENTS = context switch
-- uses: sched_threads, names
-- gain: own
-- default: 450
-- arg: ratio=0.5, CPU time of the least busy to that of the busiest below which a job is badly divided
-- advice: Divide by cost and not by number of items: smaller pieces that threads fetch when they are ready
-- advice: (OpenMP schedule(dynamic), a queue, chunksize=1 of a pool), the largest first.
-- column: CPU Time (ns) = time it ran on CPUs
-- column: Of Busiest (%) = the same as share of the busiest of its group
-- column: Barrier Wait (ns) = time in pthread_barrier_wait
-- column: Pid = process
-- column: Tid = thread; empty for processes
-- column: Name = of the thread or process
-- column: Group = what is compared: threads of a process, or processes with the same parent

-- Threads of one process that have the same name, or processes that lived side by side with one parent. Those that did
-- next to nothing belong to something else. A name inherited from the process that created them means
-- nothing: a pipeline's stages have it, too, which live as long as the stream and sleep while they have no input. Threads
-- that share a job begin it together, and are busy until their part is done, or wait at a barrier.
CREATE TEMP TABLE peer AS
WITH thread AS MATERIALIZED (
	SELECT globalTid, ran FROM sched_threads WHERE runs > 0
), life AS MATERIALIZED (
	SELECT globalTid, first AS start, last AS end, 2 * (ran + waited) < last - first AS sleeps
	FROM sched_threads
	WHERE first IS NOT NULL
), waits AS MATERIALIZED (
	SELECT globalTid, sum(end - start) AS ns
	FROM sl_os_calls
	WHERE what = 'barrier' AND end >= start
	GROUP BY 1
), child AS (
	SELECT globalPid, max(parentGlobalPid) AS parent, min(start) AS start,
		coalesce(max(end), (SELECT end FROM wall)) AS end, max(CASE WHEN kind = 2 THEN exe ELSE '' END) AS exe
	FROM SL_PROCESS_TREE
	WHERE parentGlobalPid IS NOT NULL
	GROUP BY globalPid
), crew AS (
	SELECT parent, exe FROM child GROUP BY 1, 2 HAVING count(*) > 1 AND max(start) < min(end)
), every AS (
	SELECT 'threads' AS what,
		(t.pid || ' ' || coalesce(t.name, '')) || CASE WHEN born THEN ' ' || (waits.ns IS NOT NULL) ELSE '' END AS job,
		t.globalTid, t.name, ran, waits.ns AS barrier, born AND waits.ns IS NULL AS doubtful,
		max(waits.ns IS NOT NULL) OVER (PARTITION BY t.pid, t.name) AS meets, life.start, life.end
	FROM (
		SELECT thread.globalTid, ran, thread.globalTid / 0x1000000 AS pid, own.name,
			own.name IS NULL OR own.name IS first.name OR own.name IS substr(process_names.name, 1, 15) AS born
		FROM thread LEFT JOIN thread_names AS own USING (globalTid)
			LEFT JOIN thread_names AS first ON first.globalTid = thread.globalTid / 0x1000000 * 0x1000000
				+ thread.globalTid / 0x1000000 % 0x1000000
			LEFT JOIN process_names ON process_names.pid = thread.globalTid / 0x1000000
	) AS t JOIN life USING (globalTid) LEFT JOIN waits USING (globalTid)
	-- the first thread of a process only where it takes part
	WHERE waits.ns IS NOT NULL OR (t.pid % 0x1000000 <> t.globalTid % 0x1000000 AND NOT (born AND sleeps))
	UNION ALL
	SELECT 'processes', c.parent || ' ' || c.exe, c.globalPid,
		(SELECT name FROM process_names WHERE pid = c.globalPid / 0x1000000), sum(ran), NULL, 0, 0, NULL, NULL
	FROM child AS c JOIN crew ON crew.parent = c.parent AND crew.exe = c.exe
		JOIN thread AS t ON t.globalTid / 0x1000000 = c.globalPid / 0x1000000
	GROUP BY c.globalPid
)
SELECT what, job, globalTid, name, ran, barrier, busiest
FROM (
	SELECT *, max(ran) OVER longest AS busiest, first_value(start) OVER longest AS first,
		first_value(end) OVER longest AS last
	FROM every
	WINDOW longest AS (PARTITION BY what, job ORDER BY ran DESC, globalTid
		ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE (50 * ran >= busiest OR barrier IS NOT NULL) AND NOT (doubtful AND (meets OR 5 * abs(start - first) > last - first));

CREATE TEMP TABLE job AS
WITH joins AS MATERIALIZED (
	SELECT globalTid / 0x1000000 AS pid, sum(end - start) AS ns
	FROM sl_os_calls
	WHERE what = 'join' AND nameId IN (SELECT id FROM StringIds WHERE value = 'pthread_join')
	GROUP BY 1
)
SELECT what, job, count(*) AS n, max(name) AS name, min(ran) AS least, max(ran) AS most, avg(ran) AS mean,
	count(barrier) AS meeting, coalesce(avg(barrier), 0) AS barrier,
	max(CASE what WHEN 'processes' THEN 1e18 ELSE coalesce(joins.ns, 0) END) AS joined,
	max(globalTid) / 0x1000000 % 0x1000000 AS pid
FROM peer LEFT JOIN joins ON joins.pid = globalTid / 0x1000000
GROUP BY what, job
HAVING count(*) > 1;

-- Each step is as long as the largest share; with even ones it would be as long as the mean. At barriers the mean of
-- the waits is just that.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	CAST(cost AS INTEGER) AS cost,
	n || ' ' || what || coalesce(' (' || name || ')', '')
		|| CASE what WHEN 'threads' THEN ' of process ' || pid ELSE '' END
		|| ' share a job badly: the busiest ran for {' || most || ' ns}, the least busy for {' || least || ' ns}'
		|| CASE WHEN meeting > 0 THEN '; they waited for each other at barriers for {' || CAST(barrier AS INTEGER)
			|| ' ns} each' ELSE '' END || '.' AS finding,
	(SELECT start || ' ' || end || ' ' || (globalTid & 0xFFFFFF) FROM sl_os_calls AS c WHERE c.what = iif(meeting > 1, 'barrier', 'join')
		AND c.end > c.start AND c.globalTid / 0x1000000 % 0x1000000 = pid AND wanted.what = 'threads'
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT *, CASE WHEN meeting > 1 THEN barrier ELSE min(most - mean, joined) END AS cost,
		(SELECT ns FROM wall) AS wall
	FROM job
	WHERE least < :ratio * most
	ORDER BY cost DESC
	LIMIT 1
) AS wanted
WHERE cost >= 5000000 AND 50 * cost > wall;

SELECT
	ran AS "CPU Time (ns)",
	round(100.0 * ran / busiest, 1) AS "Of Busiest (%)",
	barrier AS "Barrier Wait (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	CASE what WHEN 'threads' THEN globalTid & 0xFFFFFF END AS "Tid",
	name AS "Name",
	what AS "Group"
FROM peer
WHERE job IN (SELECT job FROM job WHERE least < :ratio * most)
ORDER BY busiest DESC, job, ran DESC, globalTid
LIMIT :rows;
