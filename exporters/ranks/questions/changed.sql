-- title: What changed since another run?
-- about: Kernels, calls, files, parts of the steps and waits for ranks of this run against those of --base: what is new, gone, called more often, or longer, by
-- about: what it costs; by turns work (kernels, calls, files), and where it shows (steps, waits). Runs of another length are compared per step, where both have steps.
-- needs: base
-- column: kind = kernel, call, file, step (a part of the ranks' time in steps), wait (for the last rank of a collective)
-- column: name = its name
-- column: change = new, gone, more, fewer (calls per step, by a tenth at least), slower, faster
-- column: beforeN = how many in the other run
-- column: afterN = how many in this one
-- column: beforeUs = mean in the other run, us
-- column: afterUs = mean in this one, us
-- column: costS = what the difference costs in this run, s; below 0: it is faster
WITH p AS (
	SELECT run, count(*) AS n, sum(cpuNs) AS cpu, sum(runnableNs) AS runnable, sum(gpuNs) AS gpu, sum(fileNs) AS file, sum(networkNs) AS network,
		sum(lockNs + gilNs) AS locked, sum(sleepNs) AS slept, sum(otherNs) AS other
	FROM SL_STEPS WHERE run IN (:run, :base) GROUP BY run
), c AS (
	SELECT run, op, sum("end" - "start") - count(*) * min("end" - "start") AS ns
	FROM SL_COLLECTIVES WHERE run IN (:run, :base) AND commHash IS NOT NULL AND "start" IS NOT NULL
	GROUP BY run, commHash, seq, op
	HAVING count(*) > 1
), e AS (
	SELECT 'kernel' AS kind, name, run, sum(n) AS n, sum(ns) AS ns FROM SL_KERNELS WHERE run IN (:run, :base) GROUP BY name, run
	UNION ALL
	SELECT 'call', name, run, sum(n), sum(ns) FROM SL_CALLS WHERE run IN (:run, :base) GROUP BY name, run
	UNION ALL
	SELECT 'file', op || ' ' || path, run, sum(n), sum(ns) FROM SL_FILES WHERE run IN (:run, :base) GROUP BY op || ' ' || path, run
	UNION ALL
	SELECT 'wait', op, run, count(*), sum(ns) FROM c GROUP BY op, run
	UNION ALL
	SELECT 'step', 'computing', run, n, cpu FROM p
	UNION ALL
	SELECT 'step', 'waiting for a CPU', run, n, runnable FROM p
	UNION ALL
	SELECT 'step', 'GPU, other ranks', run, n, gpu FROM p
	UNION ALL
	SELECT 'step', 'files', run, n, file FROM p
	UNION ALL
	SELECT 'step', 'network', run, n, network FROM p
	UNION ALL
	SELECT 'step', 'locks, GIL', run, n, locked FROM p
	UNION ALL
	SELECT 'step', 'sleeping', run, n, slept FROM p
	UNION ALL
	SELECT 'step', 'other waits', run, n, other FROM p
), scale AS (
	-- Steps of this run for one of the other.
	SELECT coalesce(sum(CASE WHEN run = :run THEN n END) * 1e0 / sum(CASE WHEN run = :base THEN n END), 1) AS steps FROM p
), k AS (
	SELECT kind, name, sum(CASE WHEN run = :base THEN n ELSE 0 END) AS n0, sum(CASE WHEN run = :run THEN n ELSE 0 END) AS n1,
		sum(CASE WHEN run = :base THEN ns ELSE 0 END) AS ns0, sum(CASE WHEN run = :run THEN ns ELSE 0 END) AS ns1
	FROM e GROUP BY kind, name
), r AS (
	SELECT kind, name, CASE WHEN n0 = 0 THEN 'new' WHEN n1 = 0 THEN 'gone' WHEN n1 > 1.1 * n0 * scale.steps THEN 'more' WHEN n1 < 0.9 * n0 * scale.steps THEN 'fewer'
			WHEN ns1 >= ns0 * scale.steps THEN 'slower' ELSE 'faster' END AS change,
		n0, n1, ns0, ns1, ns1 - ns0 * scale.steps AS cost, CASE WHEN kind IN ('step', 'wait') THEN 1 ELSE 0 END AS part
	FROM k CROSS JOIN scale
	WHERE n0 + n1 > 0 AND ns0 + ns1 > 0
), o AS (
	-- Spark takes no window in ORDER BY.
	SELECT r.*, row_number() OVER (PARTITION BY part ORDER BY abs(cost) DESC, kind, name) AS place FROM r
)
SELECT kind, name, change, CAST(n0 AS BIGINT) AS beforeN, CAST(n1 AS BIGINT) AS afterN, CASE WHEN n0 > 0 THEN ns0 * 1e-3 / n0 END AS beforeUs,
	CASE WHEN n1 > 0 THEN ns1 * 1e-3 / n1 END AS afterUs, cost / 1e9 AS costS
FROM o
ORDER BY place, part
LIMIT :top;
