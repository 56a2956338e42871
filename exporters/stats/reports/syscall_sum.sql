-- title: Syscall Summary
-- about: Time in system calls as the kernel saw them, per call. Only calls with a row (those that took at least the
-- about: threshold) count; syscall_exact_sum adds the shorter ones.
-- needs: SYSCALL = syscall
-- default: 230
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls
-- column: Num Calls = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Name = system call
--
-- Only the first step sees every row: it sorts them once into a histogram (key, value, how many), from
-- which all figures follow exactly, the median included. That is cheaper than ranking all rows.
WITH hist AS MATERIALIZED (
	SELECT nameId, end - start AS dur, count(*) AS n
	FROM SYSCALL
	WHERE end IS NOT NULL
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT nameId, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY nameId
), ranked AS (
	SELECT nameId, dur, n, sum(n) OVER (PARTITION BY nameId ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.nameId, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.nameId = r.nameId
	GROUP BY t.nameId
)
SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Num Calls",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	coalesce(value, '[unknown ' || total.nameId || ']') AS "Name"
FROM total JOIN spread USING (nameId) LEFT JOIN StringIds ON StringIds.id = total.nameId
ORDER BY time DESC, "Name";
