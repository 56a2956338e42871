-- title: NVTX Range Summary
-- about: Time of closed NVTX ranges, per style and name.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- default: 10
-- alias: nvtxsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of these ranges
-- column: Instances = ranges of the name of which both ends were recorded
-- include: stats_heads
-- column: Style = PushPop or StartEnd
-- column: Range = domain:text; the default domain has no name
WITH hist AS (
	SELECT k0 AS style, k1 AS process, k2 AS domain, k3 AS textId, k4 AS text, hist
	FROM sl_hist_rows((
		SELECT sl_hist(eventType, globalTid >> 24, domainId, textId, text, end - start)
		FROM NVTX_EVENTS
		WHERE eventType IN (59, 60) AND end IS NOT NULL
	))
), stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(json_array(style, coalesce(domain.name, '') || ':' || coalesce(text, value, '')), hist)
		FROM hist LEFT JOIN SL_NVTX_DOMAINS AS domain USING (process, domain) LEFT JOIN StringIds ON StringIds.id = textId
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	CASE json_extract(key, '$[0]') WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	json_extract(key, '$[1]') AS "Range"
FROM stats
ORDER BY total DESC, key;
