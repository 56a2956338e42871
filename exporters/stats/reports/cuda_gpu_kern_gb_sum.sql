-- title: CUDA GPU Kernel/Grid/Block Summary
-- about: Time of CUDA kernels on the GPU, per kernel and size of its grid and blocks.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- alias: gpukerngbsum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all runs of the kernel with this grid and block
-- column: Instances = how many
-- include: stats_heads
-- column: GridXYZ = blocks in the grid
-- column: BlockXYZ = threads in a block
-- column: Name = kernel
-- include: nvtx_name
WITH hist AS (
	SELECT k0 AS name, k1 AS gridX, k2 AS gridY, k3 AS gridZ, k4 AS blockX, k5 AS blockY, k6 AS blockZ, hist
	FROM sl_hist_rows((
		SELECT sl_hist(name, gridX, gridY, gridZ, blockX, blockY, blockZ, dur)
		FROM (
			SELECT coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
					demangledName) AS name,
				gridX, gridY, gridZ, blockX, blockY, blockZ, end - start AS dur
			FROM CUPTI_ACTIVITY_KIND_KERNEL
			WHERE NOT coalesce(:nvtx_name, 0) AND end IS NOT NULL
			UNION ALL
			SELECT coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || k.nameId || ']'),
				gridX, gridY, gridZ, blockX, blockY, blockZ, end - start
			FROM (SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
						demangledName) AS nameId FROM SL_GPU_KERNELS) AS k
				LEFT JOIN launch AS l ON l.process = k.process AND l.correlationId = k.correlationId
				LEFT JOIN StringIds AS s ON s.id = k.nameId
			WHERE :nvtx_name AND end IS NOT NULL
		)
	))
), stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(printf('%4d %4d %4d|%4d %4d %4d|', gridX, gridY, gridZ, blockX, blockY, blockZ)
				|| CASE typeof(name) WHEN 'text' THEN name ELSE coalesce(value, '[unknown ' || name || ']') END, hist)
		FROM hist LEFT JOIN StringIds ON StringIds.id = name
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	substr(key, 1, instr(key, '|') - 1) AS "GridXYZ",
	substr(rest, 1, instr(rest, '|') - 1) AS "BlockXYZ",
	substr(rest, instr(rest, '|') + 1) AS "Name"
FROM (SELECT *, substr(key, instr(key, '|') + 1) AS rest FROM stats)
ORDER BY total DESC, "Name", "GridXYZ", "BlockXYZ";
