-- title: Vulkan GPU Range Summary
-- about: Time of debug ranges (VK_EXT_debug_utils) on the GPU, per text.
-- needs: VULKAN_WORKLOAD.textId = GPU Vulkan Debug Extension (GPU Vulkan Debug markers)
-- default: 140 quiet
-- alias: vulkangpumarkersum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the text
-- column: Instances = how many
-- include: stats_heads
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
-- include: ranges_table
