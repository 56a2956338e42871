-- title: OpenGL KHR_debug GPU Range Summary
-- about: Time of closed debug groups (KHR_debug) on the GPU, per text.
-- needs: KHR_DEBUG_EVENTS = GPU KHR Extension (KHR_DEBUG)
-- default: 120 quiet
-- alias: khrdebuggpusum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the text
-- column: Instances = how many
-- include: stats_heads
-- column: Range = text of the range
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || textId || ']'), end - start)
		FROM KHR_DEBUG_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
		WHERE eventClass = 63 AND end IS NOT NULL
	))
	WHERE key IS NOT NULL
)
-- include: ranges_table
