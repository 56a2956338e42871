-- title: Vulkan GPU Range Summary
-- about: Time of debug ranges (VK_EXT_debug_utils) on the GPU, per text.
-- needs: VULKAN_WORKLOAD.textId = GPU Vulkan Debug Extension (GPU Vulkan Debug markers)
-- default: 140 quiet
-- alias: vulkangpumarkersum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the text
-- column: Instances = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Range = text of the range
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
-- A row without text is a workload of its own, not a range of the program.
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || textId || ']'), end - start)
		FROM VULKAN_WORKLOAD LEFT JOIN StringIds ON StringIds.id = textId
		WHERE textId IS NOT NULL
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	key AS "Range"
FROM stats
ORDER BY total DESC, key;
