-- title: CUDA GPU MemOps Summary (by Time)
-- about: Time of copies and sets of GPU memory, per kind.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = GPU memory
-- default: 50
-- alias: gpumemtimesum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all operations of the kind
-- column: Count = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Operation = kind of copy, or set
--
-- Only the first step sees every row: it sorts them once into a histogram (key, value, how many), from
-- which all figures follow exactly, the median included. That is cheaper than ranking all rows.
WITH hist AS MATERIALIZED (
	SELECT copyKind AS kind, end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE end IS NOT NULL
	GROUP BY 1, 2
	UNION ALL
	SELECT -1, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMSET
	WHERE end IS NOT NULL
	GROUP BY 2
), total AS MATERIALIZED (
	SELECT kind, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY kind
), ranked AS (
	SELECT kind, dur, n, sum(n) OVER (PARTITION BY kind ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.kind, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.kind = r.kind
	GROUP BY t.kind
)
SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Count",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	CASE WHEN kind = -1 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, kind) || ']' END AS "Operation"
FROM total JOIN spread USING (kind) LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = kind
ORDER BY time DESC, "Operation";
