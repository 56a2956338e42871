-- title: CUDA GPU MemOps Summary (by Size)
-- about: Bytes of copies and sets of GPU memory, per kind. 1 MB is 1,000,000 bytes.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = GPU memory
-- default: 60
-- alias: gpumemsizesum
-- column: Total (MB) = bytes of all operations of the kind
-- column: Count = how many
-- column: Avg (MB) = mean size
-- column: Med (MB) = median size
-- column: Min (MB) = smallest
-- column: Max (MB) = largest
-- column: StdDev (MB) = sample standard deviation (n - 1); 0 for a single one
-- column: Operation = kind of copy, or set
--
-- Only the first step sees every row: it sorts them once into a histogram (key, value, how many), from
-- which all figures follow exactly, the median included. That is cheaper than ranking all rows.
WITH hist AS MATERIALIZED (
	SELECT copyKind AS kind, bytes AS size, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	GROUP BY 1, 2
	UNION ALL
	SELECT -1, bytes, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMSET
	GROUP BY 2
), total AS MATERIALIZED (
	SELECT kind, sum(n) AS calls, sum(n * size) AS sum, min(size) AS least, max(size) AS most,
		1.0 * sum(n * size) / sum(n) AS mean
	FROM hist
	GROUP BY kind
), ranked AS (
	SELECT kind, size, n, sum(n) OVER (PARTITION BY kind ORDER BY size) AS upto
	FROM hist
), spread AS (
	SELECT t.kind, sum(n * (size - mean) * (size - mean)) AS squares,
		(min(size) FILTER (WHERE 2 * upto >= calls) + min(size) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(size) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.kind = r.kind
	GROUP BY t.kind
)
SELECT
	round(sum / 1e6, 3) AS "Total (MB)",
	calls AS "Count",
	round(mean / 1e6, 3) AS "Avg (MB)",
	round(med / 1e6, 3) AS "Med (MB)",
	round(least / 1e6, 3) AS "Min (MB)",
	round(most / 1e6, 3) AS "Max (MB)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END / 1e6, 3) AS "StdDev (MB)",
	/* percentiles: round(p{i} / 1e6, 3) AS "P{p} (MB)", */
	CASE WHEN kind = -1 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, kind) || ']' END AS "Operation"
FROM total JOIN spread USING (kind) LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = kind
ORDER BY sum DESC, "Operation";
