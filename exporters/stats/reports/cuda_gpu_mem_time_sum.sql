-- title: CUDA GPU MemOps Summary (by Time)
-- about: Time of copies and sets of GPU memory, per kind.
-- needs: SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = GPU memory
-- default: 50
-- alias: gpumemtimesum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of these operations
-- column: Count = operations that CUPTI has reported; without those of CUDA graphs that were recorded as a whole (--cuda-graph-trace=graph)
-- include: stats_heads
-- column: Operation = kind of copy, or set
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(what, dur)
		FROM (
			SELECT CASE kind WHEN 'memcpy' THEN copyKind ELSE -1 END AS what, end - start AS dur
			FROM SL_GPU_WORK
			WHERE kind IN ('memcpy', 'memset') AND end IS NOT NULL
			LIMIT -1
		)
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Count",
	-- include: stats_columns
	CASE WHEN key = -1 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, key) || ']' END AS "Operation"
FROM stats LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = key
ORDER BY total DESC, "Operation";
