-- title: CUDA Summary (API/Kernels/MemOps)
-- about: Time of CUDA calls, and of kernels, copies and sets of memory on the GPU. They overlap: the sum is
-- about: not the time that the program took.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME or SL_GPU_WORK.kind=kernel or SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = CUDA trace
-- alias: apigpusum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all of them
-- column: Instances = how many
-- include: stats_heads
-- column: Category = CUDA_API, CUDA_KERNEL or MEMORY_OPER
-- column: Operation = function, kernel, kind of copy, or set
-- include: nvtx_name
WITH hist AS (
	SELECT k0 AS category, k1 AS name, hist
	FROM sl_hist_rows((
		SELECT sl_hist(category, name, dur)
		FROM (
			SELECT 1 AS category,
				coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
					demangledName) AS name,
				end - start AS dur
			FROM CUPTI_ACTIVITY_KIND_KERNEL
			WHERE NOT coalesce(:nvtx_name, 0) AND end IS NOT NULL
			UNION ALL
			SELECT 1, coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || k.nameId || ']'), end - start
			FROM (SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
						demangledName) AS nameId FROM SL_GPU_KERNELS) AS k
				LEFT JOIN launch AS l ON l.process = k.process AND l.correlationId = k.correlationId
				LEFT JOIN StringIds AS s ON s.id = k.nameId
			WHERE :nvtx_name AND end IS NOT NULL
			UNION ALL
			SELECT 2, CASE kind WHEN 'memcpy' THEN copyKind ELSE -1 END, end - start
			FROM SL_GPU_WORK
			WHERE kind IN ('memcpy', 'memset') AND end IS NOT NULL
			UNION ALL
			SELECT 3, nameId, end - start
			FROM CUPTI_ACTIVITY_KIND_RUNTIME
			WHERE end IS NOT NULL
		)
	))
), stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(category || CASE
				WHEN category = 2 AND hist.name = -1 THEN '[CUDA memset]'
				WHEN category = 2 THEN '[CUDA memcpy ' || coalesce(label, hist.name) || ']'
				WHEN typeof(hist.name) = 'text' THEN hist.name
				WHEN category = 3 AND s.value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(s.value, 1, length(s.value) - 6)
				ELSE coalesce(s.value, '[unknown ' || hist.name || ']') END, hist)
		FROM hist
			LEFT JOIN StringIds AS s ON category <> 2 AND s.id = hist.name
			LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON category = 2 AND o.id = hist.name
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	CASE substr(key, 1, 1) WHEN '1' THEN 'CUDA_KERNEL' WHEN '2' THEN 'MEMORY_OPER' ELSE 'CUDA_API' END AS "Category",
	substr(key, 2) AS "Operation"
FROM stats
ORDER BY total DESC, key;
