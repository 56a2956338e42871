-- title: CUDA GPU MemOps Summary (by Size)
-- about: Bytes of copies and sets of GPU memory, per kind. 1 MB is 1,000,000 bytes.
-- needs: SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = GPU memory
-- default: 60
-- alias: gpumemsizesum
-- column: Total (MB) = bytes of these operations
-- column: Count = operations that CUPTI has reported; without those of CUDA graphs that were recorded as a whole (--cuda-graph-trace=graph)
-- column: Avg (MB) = mean size
-- column: Med (MB) = median size
-- column: Min (MB) = smallest
-- column: Max (MB) = largest
-- column: StdDev (MB) = sample standard deviation (n - 1); 0 for a single one
-- column: Operation = kind of copy, or set
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(what, bytes)
		FROM (
			SELECT CASE kind WHEN 'memcpy' THEN copyKind ELSE -1 END AS what, bytes
			FROM SL_GPU_WORK
			WHERE kind IN ('memcpy', 'memset')
			LIMIT -1
		)
	))
	WHERE key IS NOT NULL
)
SELECT
	round(total / 1e6, 3) AS "Total (MB)",
	n AS "Count",
	round(mean / 1e6, 3) AS "Avg (MB)",
	round(median / 1e6, 3) AS "Med (MB)",
	round(min / 1e6, 3) AS "Min (MB)",
	round(max / 1e6, 3) AS "Max (MB)",
	round(stddev / 1e6, 3) AS "StdDev (MB)",
	/* percentiles: round(p{i} / 1e6, 3) AS "P{p} (MB)", */
	CASE WHEN key = -1 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, key) || ']' END AS "Operation"
FROM stats LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = key
ORDER BY total DESC, "Operation";
