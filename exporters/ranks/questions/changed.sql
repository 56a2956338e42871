-- title: What changed since another run?
-- about: Mean times of kernels, calls and files of this run against those of --base, by what the difference costs.
-- needs: base
-- column: kind = kernel, call, file
-- column: name = its name
-- column: beforeUs = mean in the other run, us
-- column: afterUs = mean in this one, us
-- column: costS = what the difference costs in this run, s; below 0: it is faster
WITH e AS (
	SELECT 'kernel' AS kind, name, run, sum(n) AS n, sum(ns) AS ns FROM SL_KERNELS WHERE run IN (:run, :base) GROUP BY name, run
	UNION ALL
	SELECT 'call', name, run, sum(n), sum(ns) FROM SL_CALLS WHERE run IN (:run, :base) GROUP BY name, run
	UNION ALL
	SELECT 'file', op || ' ' || path, run, sum(n), sum(ns) FROM SL_FILES WHERE run IN (:run, :base) GROUP BY op || ' ' || path, run
), k AS (
	SELECT kind, name, sum(CASE WHEN run = :base THEN ns END) * 1e0 / sum(CASE WHEN run = :base THEN n END) AS a,
		sum(CASE WHEN run = :run THEN ns END) * 1e0 / sum(CASE WHEN run = :run THEN n END) AS b, sum(CASE WHEN run = :run THEN n END) AS n
	FROM e GROUP BY kind, name
)
SELECT kind, name, a / 1e3 AS beforeUs, b / 1e3 AS afterUs, (b - a) * n / 1e9 AS costS
FROM k
WHERE a IS NOT NULL AND b IS NOT NULL
ORDER BY abs((b - a) * n) DESC, kind, name
LIMIT :top;
