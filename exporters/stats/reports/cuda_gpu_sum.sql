-- title: CUDA GPU Summary (Kernels/MemOps)
-- about: Time of kernels and of copies and sets of memory on the GPU.
-- needs: SL_GPU_WORK.kind=kernel or SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = CUDA GPU
-- alias: gpusum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all of them
-- column: Instances = how many
-- include: stats_heads
-- column: Category = CUDA_KERNEL or MEMORY_OPER
-- column: Operation = kernel, kind of copy, or set
-- include: nvtx_name
-- key: a text with the range before it, or 4 * id + 1 for a kernel, 4 * kind + 2 for a copy (-1: set)
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(key, dur)
		FROM (
			SELECT 4 * coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
					demangledName) + 1 AS key,
				end - start AS dur
			FROM CUPTI_ACTIVITY_KIND_KERNEL
			WHERE NOT coalesce(:nvtx_name, 0) AND end IS NOT NULL
			UNION ALL
			SELECT coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || k.nameId || ']'), end - start
			FROM (SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
						demangledName) AS nameId FROM SL_GPU_KERNELS) AS k
				LEFT JOIN launch AS l ON l.process = k.process AND l.correlationId = k.correlationId
				LEFT JOIN StringIds AS s ON s.id = k.nameId
			WHERE :nvtx_name AND end IS NOT NULL
			UNION ALL
			SELECT CASE kind WHEN 'memcpy' THEN 4 * copyKind + 2 ELSE -2 END, end - start
			FROM SL_GPU_WORK
			WHERE kind IN ('memcpy', 'memset') AND end IS NOT NULL
		)
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	CASE WHEN typeof(key) = 'text' OR key & 3 = 1 THEN 'CUDA_KERNEL' ELSE 'MEMORY_OPER' END AS "Category",
	CASE WHEN typeof(key) = 'text' THEN key
		WHEN key & 3 = 1 THEN coalesce(value, '[unknown ' || (key >> 2) || ']')
		WHEN key < 0 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, key >> 2) || ']' END AS "Operation"
FROM stats
	LEFT JOIN StringIds AS s ON key & 3 = 1 AND s.id = key >> 2
	LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON key & 3 = 2 AND o.id = key >> 2
ORDER BY total DESC, "Category", "Operation";
