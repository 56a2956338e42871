-- title: CUDA GPU MemOps Summary (by Time)
-- about: Time of copies and sets of GPU memory, per kind.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = GPU memory
-- default: 50
-- alias: gpumemtimesum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of these operations
-- column: Count = operations that CUPTI has reported; without those of CUDA graphs that were recorded as a whole (--cuda-graph-trace=graph)
-- include: stats_heads
-- column: Operation = kind of copy, or set
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(kind, dur)
		FROM (
			SELECT copyKind AS kind, end - start AS dur
			FROM CUPTI_ACTIVITY_KIND_MEMCPY
			WHERE end IS NOT NULL
			UNION ALL
			SELECT -1, end - start
			FROM CUPTI_ACTIVITY_KIND_MEMSET
			WHERE end IS NOT NULL
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
