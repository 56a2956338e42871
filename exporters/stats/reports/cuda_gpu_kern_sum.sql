-- title: CUDA GPU Kernel Summary
-- about: Time of CUDA kernels on the GPU, per kernel.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- default: 40
-- alias: gpukernsum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of these runs
-- column: Instances = runs that CUPTI has reported; without those of CUDA graphs that were recorded as a whole (--cuda-graph-trace=graph)
-- include: stats_heads
-- column: Name = kernel
-- include: nvtx_name
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(name, dur)
		FROM (
			SELECT coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
					demangledName) AS name,
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
		)
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	CASE typeof(key) WHEN 'text' THEN key ELSE coalesce(value, '[unknown ' || key || ']') END AS "Name"
FROM stats LEFT JOIN StringIds ON StringIds.id = key
ORDER BY total DESC, "Name";
