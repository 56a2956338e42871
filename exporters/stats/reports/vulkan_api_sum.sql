-- title: Vulkan API Summary
-- about: Time in Vulkan calls, per function.
-- needs: VULKAN_API = Vulkan API
-- alias: vulkanapisum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all calls of the function
-- column: Num Calls = how many
-- include: stats_heads
-- column: Name = function
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || nameId || ']'), end - start)
		FROM VULKAN_API LEFT JOIN StringIds ON StringIds.id = nameId
		WHERE end IS NOT NULL
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Num Calls",
	-- include: stats_columns
	key AS "Name"
FROM stats
ORDER BY total DESC, key;
