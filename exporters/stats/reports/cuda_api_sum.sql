-- title: CUDA API Summary
-- about: Time in CUDA runtime and driver calls, per function. A version suffix of four digits
-- about: (_v7000) is left out of the name.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- default: 30
-- alias: cudaapisum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in these calls
-- column: Num Calls = calls that returned and were not lost; what they call themselves within CUDA is part of them
-- include: stats_heads
-- column: Name = function
WITH hist AS (
	SELECT k0 AS nameId, hist
	FROM sl_hist_rows((
		SELECT sl_hist(nameId, end - start)
		FROM CUPTI_ACTIVITY_KIND_RUNTIME
		WHERE end IS NOT NULL
	))
), stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
				ELSE coalesce(value, '[unknown ' || nameId || ']') END, hist)
		FROM hist LEFT JOIN StringIds ON StringIds.id = nameId
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
