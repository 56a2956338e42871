-- title: Short-Lived Threads
-- about: Threads that are made over and over again, one for each piece of work.
-- needs: OSRT_API = OS Runtime trace
-- uses: names
-- default: 470
-- arg: count=500, threads that one thread makes, from which on it is looked at
-- arg: rate=100, threads per second above which there are many
-- advice: Keep the threads and give them work through a queue: a pool (ThreadPoolExecutor, OpenMP, TBB, std::jthread in
-- advice: a loop of its own), or larger pieces of work.
-- column: Time (ns) = time in pthread_create
-- column: Threads = made
-- column: Avg (ns) = time per thread
-- column: Per Second = over the whole time
-- column: Pid = process
-- column: Tid = thread that made them
-- column: Thread Name = its name
CREATE TEMP TABLE maker AS
WITH create_id AS MATERIALIZED (
	SELECT nameId FROM SL_FUNCTION_KINDS WHERE waits = 'create'
), part AS (
	SELECT globalTid, count(*) AS n, sum(end - start) AS ns FROM sl_os_calls
	WHERE what = 'create' AND end >= start GROUP BY 1
	UNION ALL
	SELECT globalTid, count, totalNs FROM SL_OSRT_TOTALS WHERE nameId IN create_id
)
SELECT globalTid, sum(n) AS n, sum(ns) AS ns, (SELECT ns FROM wall) AS wall
FROM part
GROUP BY globalTid
HAVING sum(n) >= :count AND 1e9 * sum(n) > :rate * (SELECT ns FROM wall);

SELECT
	CASE WHEN 10 * ns > wall THEN 'severe' ELSE 'bad' END AS severity,
	ns AS cost,
	'Thread ' || (globalTid % 0x1000000) || coalesce(' (' || name || ')', '') || ' made {' || n || '} threads, {'
		|| CAST(1e9 * n / wall AS INTEGER) || '} per second, and was busy with that alone for {' || ns || ' ns}.' AS finding,
	(SELECT start || ' ' || end || ' ' || (c.globalTid & 0xFFFFFF) FROM sl_os_calls AS c WHERE c.what = 'create' AND c.end >= c.start
		AND c.globalTid = maker.globalTid ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM maker LEFT JOIN thread_names USING (globalTid)
WHERE ns >= 5000000 AND 50 * ns > wall
ORDER BY ns DESC, globalTid
LIMIT 1;

SELECT
	ns AS "Time (ns)",
	n AS "Threads",
	round(1.0 * ns / n, 1) AS "Avg (ns)",
	round(1e9 * n / wall, 1) AS "Per Second",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid % 0x1000000 AS "Tid",
	name AS "Thread Name"
FROM maker LEFT JOIN thread_names USING (globalTid)
ORDER BY ns DESC, globalTid
LIMIT :rows;
